//! [`Place`]: a namespace of a test's own, with what it takes to register backends in it.
use crate::objects;
use crate::stage::Stage;
use crate::until::SOON;
use crate::workload::Workload;
use anyhow::{Context, Result};
use banlieue::k8s::crd::{
    Backend, CaBundle, Condition, ConditionStatus, Connection, CredentialsRef, Provider, ProviderClass,
};
use banlieue::k8s::crd::{ProviderClassRef, ProviderSpec};
use banlieue::k8s::manifests::names;
use banlieue::{fsm::Phase, fsm::Reason, fsm::WorkloadStatus};
use banlieue_e2e::Vcsim;
use banlieue_e2e::watch::{self, Object};
use k8s_openapi::NamespaceResourceScope;
use k8s_openapi::api::core::v1::{Namespace, Pod, Secret};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::api::{DeleteParams, ListParams, PostParams};
use kube::{Api, Client};
use std::collections::BTreeMap;

/// The endpoint that never is: RFC 2606 keeps it so.
pub const NOWHERE: &str = "https://vcenter.invalid/sdk";
/// The ProviderClass that the installer makes for vSphere.
pub const CLASS: &str = "vsphere";

/// A namespace, and a client for it.
pub struct Place {
    /// The namespace.
    pub namespace: String,
    client: Client,
    sim: Vcsim,
}

impl Place {
    /// A new namespace.
    pub async fn new(stage: &Stage, namespace: &str) -> Result<Self> {
        objects::namespace(&stage.client, namespace).await?;
        Self::existing(stage, namespace)
    }

    /// The namespace that banlieue is installed in.
    pub fn install(stage: &Stage) -> Result<Self> {
        Self::existing(stage, names::DEFAULT_NAMESPACE)
    }

    fn existing(stage: &Stage, namespace: &str) -> Result<Self> {
        let sim = if stage.cluster.kind { Vcsim::nowhere() } else { stage.cluster.vcsim()? };
        Ok(Place { namespace: namespace.into(), client: stage.client.clone(), sim })
    }

    /// The objects of a kind in it.
    pub fn api<K: Object + Resource>(&self) -> Api<K> {
        Api::namespaced(self.client.clone(), &self.namespace)
    }

    /// A Secret with user and password.
    pub async fn secret(&self, name: &str, password: &str) -> Result<()> {
        let data =
            BTreeMap::from([("username".into(), self.sim.username.clone()), ("password".into(), password.into())]);
        let metadata = ObjectMeta { name: Some(name.into()), ..Default::default() };
        let secret = Secret { metadata, string_data: Some(data), ..Default::default() };
        self.api::<Secret>().create(&PostParams::default(), &secret).await?;
        Ok(())
    }

    /// What a Provider at the simulator of every cluster looks like; its Secret is called as it is.
    pub fn draft(&self, name: &str) -> Provider {
        let ca = Some(self.sim.ca_pem.clone()).filter(|pem| !pem.is_empty());
        let spec = ProviderSpec {
            provider_class_ref: ProviderClassRef { name: CLASS.into() },
            connection: Connection {
                endpoint: self.sim.endpoint.clone(),
                credentials_ref: CredentialsRef { name: name.into() },
                ca_bundle: ca.map(|pem| CaBundle { inline: Some(pem), ..Default::default() }),
                insecure_skip_tls_verify: false,
            },
            paused: false,
        };
        Provider::new(name, spec)
    }

    /// Creates a Provider.
    pub async fn create(&self, provider: &Provider) -> Result<Provider> {
        self.api().create(&PostParams::default(), provider).await.context("the Provider was not taken")
    }

    /// A Provider at the simulator, with its Secret.
    pub async fn register(&self, name: &str) -> Result<Provider> {
        self.secret(name, &self.sim.password).await?;
        self.create(&self.draft(name)).await
    }

    /// Waits until the workload is in `phase` for `reason`.
    pub async fn phase(&self, name: &str, phase: Phase, reason: Reason) -> Result<Provider> {
        let what = format!("{phase}/{reason}");
        let check = |p: &Provider| workload(p).is_some_and(|w| w.phase == phase && w.reason == Some(reason));
        watch::see(&self.api(), name, &what, SOON, check).await
    }

    /// Waits until the workload is Ready.
    pub async fn ready(&self, name: &str) -> Result<Provider> {
        self.phase(name, Phase::Ready, Reason::WorkloadAvailable).await
    }

    /// Waits until the pod has said this of its backend.
    pub async fn condition(&self, name: &str, type_: &str, status: ConditionStatus) -> Result<Provider> {
        let what = format!("{type_}={status:?}");
        watch::see(&self.api(), name, &what, SOON, |p: &Provider| {
            condition(p, type_).is_some_and(|c| c.status == status)
        })
        .await
    }

    /// Asks for the Provider's deletion, and waits until it and its workload are gone.
    pub async fn remove(&self, name: &str, workload: &Workload) -> Result<()> {
        self.api::<Provider>().delete(name, &DeleteParams::default()).await?;
        watch::gone(&self.api::<Provider>(), name, SOON).await?;
        workload.gone().await
    }

    /// The pods of a Provider.
    pub async fn pods(&self, provider: &Provider) -> Result<Vec<Pod>> {
        let uid = provider.metadata.uid.as_deref().context("a Provider without a uid")?;
        let params = ListParams::default().labels(&format!("{}={uid}", names::PROVIDER_UID));
        Ok(self.api::<Pod>().list(&params).await?.items)
    }

    /// A further ProviderClass: the installer's one for vSphere, changed.
    pub async fn class(&self, name: &str, change: impl FnOnce(&mut ProviderClass)) -> Result<ProviderClass> {
        let api: Api<ProviderClass> = Api::all(self.client.clone());
        let mut class = ProviderClass::new(name, api.get(CLASS).await?.spec);
        change(&mut class);
        Ok(api.create(&PostParams::default(), &class).await?)
    }

    /// The five objects of a Provider of this place whose class names no other place.
    pub fn workload(&self, provider: &str) -> Workload {
        let own = names::own(Backend::Vsphere, &self.namespace, provider);
        let binding = match self.namespace.as_str() {
            names::DEFAULT_NAMESPACE => own.clone(),
            _ => names::hashed(Backend::Vsphere, &self.namespace, provider),
        };
        Workload::new(&self.client, (&self.namespace, &own), (&self.namespace, &own), &binding)
    }

    /// The five objects where Deployment and ServiceAccount are elsewhere.
    pub fn workload_in(&self, elsewhere: &str, provider: &str) -> Workload {
        let own = names::own(Backend::Vsphere, &self.namespace, provider);
        let hashed = names::hashed(Backend::Vsphere, &self.namespace, provider);
        let binding = if self.namespace == names::DEFAULT_NAMESPACE { &own } else { &hashed };
        Workload::new(&self.client, (elsewhere, &hashed), (&self.namespace, &own), binding)
    }

    /// Ends the place after a test that passed; one that failed leaves it for the logs.
    pub async fn clear(self) -> Result<()> {
        let api: Api<Namespace> = Api::all(self.client.clone());
        api.delete(&self.namespace, &DeleteParams::default()).await?;
        Ok(())
    }
}

/// Objects that live in a namespace.
pub trait Resource: kube::Resource<Scope = NamespaceResourceScope> {}
impl<K: kube::Resource<Scope = NamespaceResourceScope>> Resource for K {}

/// What the operator says.
pub fn workload(provider: &Provider) -> Option<&WorkloadStatus> {
    provider.status.as_ref()?.workload.as_ref()
}

/// What the pod says of one aspect.
pub fn condition<'a>(provider: &'a Provider, type_: &str) -> Option<&'a Condition> {
    Condition::find(&provider.status.as_ref()?.conditions, type_)
}

/// How often containers of these pods were started again.
pub fn restarts(pods: &[Pod]) -> i32 {
    let statuses = pods.iter().filter_map(|p| p.status.as_ref()?.container_statuses.as_ref());
    statuses.flatten().map(|c| c.restart_count).sum()
}
