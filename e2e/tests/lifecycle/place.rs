//! [`Place`]: a namespace and a class of a test's own, both of one name.
use crate::five::{Five, SOON};
use crate::stage::Stage;
use crate::until::until;
use crate::writes::Writes;
use anyhow::{Context, Result};
use banlieue::fsm::{Phase, Reason, WorkloadStatus};
use banlieue::k8s::crd::{
    Backend, Connection, CredentialsRef, Provider, ProviderClass, ProviderClassRef, ProviderSpec,
};
use banlieue_e2e::watch;
use banlieue_suite::objects;
pub(crate) use banlieue_suite::place::workload;
use k8s_openapi::api::events::v1::Event;
use kube::ResourceExt;
use kube::api::{Api, DeleteParams, ListParams, Patch, PatchParams, PostParams};
use serde_json::{Value, json};

/// A namespace, and a class of the same name.
pub(crate) struct Place<'s> {
    /// Where it is.
    pub(crate) stage: &'s Stage,
    /// The name of both.
    pub(crate) name: String,
    /// The Providers in it.
    pub(crate) providers: Api<Provider>,
    /// All classes.
    pub(crate) classes: Api<ProviderClass>,
}

impl<'s> Place<'s> {
    /// A new namespace, and a class for vSphere.
    pub(crate) async fn new(stage: &'s Stage, name: &str) -> Result<Self> {
        let place = Self::bare(stage, name).await?;
        place.class(name, Backend::Vsphere, json!({})).await?;
        Ok(place)
    }

    /// A new namespace alone.
    pub(crate) async fn bare(stage: &'s Stage, name: &str) -> Result<Self> {
        namespace(stage, name).await?;
        let providers = Api::namespaced(stage.client.clone(), name);
        Ok(Self { stage, name: name.into(), providers, classes: Api::all(stage.client.clone()) })
    }

    /// A further class; `more` is merged into its spec.
    pub(crate) async fn class(&self, name: &str, backend: Backend, more: Value) -> Result<ProviderClass> {
        objects::class(&self.stage.client, name, backend, more).await
    }

    /// Edits a class.
    pub(crate) async fn edit_class(&self, name: &str, spec: Value) -> Result<ProviderClass> {
        let patch = Patch::Merge(json!({ "spec": spec }));
        Ok(self.classes.patch(name, &PatchParams::default(), &patch).await?)
    }

    /// Deletes a class.
    pub(crate) async fn drop_class(&self, name: &str) -> Result<()> {
        self.classes.delete(name, &DeleteParams::default()).await?;
        watch::gone(&self.classes, name, SOON).await
    }

    /// What a Provider of the place's class looks like.
    pub(crate) fn draft(&self, name: &str) -> Provider {
        let connection = Connection {
            endpoint: "https://vcenter.invalid/sdk".into(),
            credentials_ref: CredentialsRef { name: "creds".into() },
            ca_bundle: None,
            insecure_skip_tls_verify: false,
        };
        let class = ProviderClassRef { name: self.name.clone() };
        Provider::new(name, ProviderSpec { provider_class_ref: class, connection, paused: false })
    }

    /// Creates a Provider.
    pub(crate) async fn create(&self, provider: &Provider) -> Result<Provider> {
        self.providers.create(&PostParams::default(), provider).await.context("the Provider was not taken")
    }

    /// A Provider of the place's class.
    pub(crate) async fn register(&self, name: &str) -> Result<Provider> {
        self.create(&self.draft(name)).await
    }

    /// A Provider of the place's class, once it is Ready and that was announced.
    pub(crate) async fn registered(&self, name: &str) -> Result<Provider> {
        self.register(name).await?;
        let ready = self.ready(name).await?;
        self.announced(std::slice::from_ref(&ready)).await?;
        Ok(ready)
    }

    /// Providers of these names, once all of them are Ready.
    pub(crate) async fn fleet(&self, names: &[impl AsRef<str>]) -> Result<()> {
        for name in names {
            self.register(name.as_ref()).await?;
        }
        let mut ready = Vec::new();
        for name in names {
            ready.push(self.ready(name.as_ref()).await?);
        }
        self.announced(&ready).await
    }

    /// Waits until each has an Event with its reason. That goes beside the status, and may be asked for after the status is seen:
    /// what is counted from here on is of what comes next.
    pub(crate) async fn announced(&self, providers: &[Provider]) -> Result<()> {
        until("each has its Event", SOON, async || {
            let events = self.events().await?;
            let silent = |p: &&Provider| {
                let reason = workload(p).and_then(|w| w.reason).map(|r| r.as_str());
                let tells = |e: &Event| e.regarding.as_ref().and_then(|r| r.uid.as_ref()) == p.metadata.uid.as_ref();
                !events.iter().any(|e| tells(e) && e.reason.as_deref() == reason)
            };
            let silent: Vec<_> = providers.iter().filter(silent).map(|p| p.name_any()).collect();
            Ok(if silent.is_empty() { Ok(()) } else { Err(silent.join(", ")) })
        })
        .await
    }

    /// The Events of the namespace.
    pub(crate) async fn events(&self) -> Result<Vec<Event>> {
        let api: Api<Event> = Api::namespaced(self.stage.client.clone(), &self.name);
        Ok(api.list(&ListParams::default()).await?.items)
    }

    /// Edits a Provider.
    pub(crate) async fn edit(&self, name: &str, change: Value) -> Result<Provider> {
        Ok(self.providers.patch(name, &PatchParams::default(), &Patch::Merge(change)).await?)
    }

    /// Asks for a Provider's deletion.
    pub(crate) async fn delete(&self, name: &str, how: &DeleteParams) -> Result<()> {
        self.providers.delete(name, how).await?;
        Ok(())
    }

    /// Asks for a Provider's deletion, and waits for its end.
    pub(crate) async fn remove(&self, name: &str) -> Result<()> {
        self.delete(name, &DeleteParams::default()).await?;
        watch::gone(&self.providers, name, SOON).await
    }

    /// Asks for a Provider's deletion, and waits until the operator has seen that.
    pub(crate) async fn leaves(&self, name: &str) -> Result<()> {
        self.delete(name, &DeleteParams::default()).await?;
        until("the operator has seen the deletion", SOON, async || {
            let left = self.providers.get_opt(name).await?;
            let phase = left.as_ref().and_then(workload).map(|w| w.phase);
            Ok(if left.is_none() || phase == Some(Phase::Terminating) { Ok(()) } else { Err(format!("{phase:?}")) })
        })
        .await
    }

    /// Waits until the operator says this of a Provider.
    pub(crate) async fn says(
        &self,
        name: &str,
        what: &str,
        check: impl Fn(&WorkloadStatus) -> bool,
    ) -> Result<Provider> {
        watch::see(&self.providers, name, what, SOON, |p| workload(p).is_some_and(&check)).await
    }

    /// Waits until a Provider is in the phase of `reason` for it.
    pub(crate) async fn reason(&self, name: &str, reason: Reason) -> Result<Provider> {
        self.says(name, reason.as_str(), |w| w.reason == Some(reason)).await
    }

    /// Waits until a Provider is Ready, and its status speaks of it as it is now.
    pub(crate) async fn ready(&self, name: &str) -> Result<Provider> {
        watch::see(&self.providers, name, "Ready", SOON, |p| {
            workload(p).is_some_and(|w| w.phase == Phase::Ready && w.observed_generation == p.metadata.generation)
        })
        .await
    }

    /// The five of a Provider for vSphere, beside it.
    pub(crate) fn five(&self, provider: &str) -> Five {
        Five::new(&self.stage.client, Backend::Vsphere, &self.name, provider, None)
    }

    /// The five of a Provider for vSphere, its pods elsewhere.
    pub(crate) fn five_in(&self, away: &str, provider: &str) -> Five {
        Five::new(&self.stage.client, Backend::Vsphere, &self.name, provider, Some(away))
    }

    /// What the operator writes from now on for these Providers.
    pub(crate) fn writes(&self, providers: &[&str]) -> Result<Writes> {
        Writes::from_now(self, providers)
    }
}

/// A new namespace.
pub(crate) async fn namespace(stage: &Stage, name: &str) -> Result<()> {
    objects::namespace(&stage.client, name).await
}

/// The sentence it says.
pub(crate) fn message(provider: &Provider) -> &str {
    workload(provider).and_then(|w| w.message.as_deref()).unwrap_or_default()
}
