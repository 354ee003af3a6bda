//! What lives are about: a namespace, a class and a Provider, made and unmade by an administrator.
use crate::stage::{SOON, Stage};
use anyhow::{Context, Result};
use banlieue::fsm::Part;
use banlieue::k8s::crd::{Backend, Provider, ProviderClass};
use banlieue::k8s::kinds;
use banlieue::k8s::manifests::names;
use banlieue_e2e::watch;
use banlieue_suite::objects;
use k8s_openapi::api::core::v1::{ConfigMap, Namespace, Secret};
use kube::api::{Api, DeleteParams, ListParams, Patch, PatchParams, PostParams};
use kube::{Client, ResourceExt};
use serde_json::{Value, json};

/// The Provider of every scene.
pub(crate) const NAME: &str = "vc";

/// A namespace, with a Secret and the authority of the simulator in a ConfigMap.
pub(crate) struct Scene {
    /// The namespace, and the name of its first class.
    pub(crate) name: String,
    /// The Providers in it.
    pub(crate) providers: Api<Provider>,
    /// All classes.
    pub(crate) classes: Api<ProviderClass>,
    client: Client,
    endpoint: String,
}

impl Scene {
    /// A new one.
    pub(crate) async fn new(stage: &Stage, name: &str) -> Result<Self> {
        let (client, sim) = (stage.client.clone(), stage.cluster.vcsim()?);
        objects::namespace(&client, name).await?;
        let secret = json!({ "metadata": { "name": "creds" }, "stringData": { "username": sim.username, "password": sim.password } });
        let secrets: Api<Secret> = Api::namespaced(client.clone(), name);
        secrets.create(&PostParams::default(), &serde_json::from_value(secret)?).await?;
        let ca = json!({ "metadata": { "name": "ca" }, "data": { "ca.crt": sim.ca_pem } });
        let maps: Api<ConfigMap> = Api::namespaced(client.clone(), name);
        maps.create(&PostParams::default(), &serde_json::from_value(ca)?).await?;
        let (providers, classes) = (Api::namespaced(client.clone(), name), Api::all(client.clone()));
        Ok(Self { name: name.into(), providers, classes, client, endpoint: sim.host_endpoint })
    }

    /// The Provider, of a class that may not be there.
    pub(crate) async fn register(&self, class: &str) -> Result<Provider> {
        let connection = json!({ "endpoint": self.endpoint, "credentialsRef": { "name": "creds" }, "caBundle": { "configMapRef": { "name": "ca" } } });
        let spec = json!({ "providerClassRef": { "name": class }, "connection": connection });
        let provider = json!({ "apiVersion": "banlieue.io/v1alpha1", "kind": "Provider", "metadata": { "name": NAME }, "spec": spec });
        Ok(self.providers.create(&PostParams::default(), &serde_json::from_value(provider)?).await?)
    }

    /// A class; `more` is merged into its spec.
    pub(crate) async fn class(&self, name: &str, backend: Backend, more: Value) -> Result<ProviderClass> {
        objects::class(&self.client, name, backend, more).await
    }

    /// Changes the Provider's spec.
    pub(crate) async fn edit(&self, spec: Value) -> Result<Provider> {
        let patch = Patch::Merge(json!({ "spec": spec }));
        Ok(self.providers.patch(NAME, &PatchParams::default(), &patch).await?)
    }

    /// Changes a class's spec.
    pub(crate) async fn edit_class(&self, name: &str, spec: Value) -> Result<ProviderClass> {
        let patch = Patch::Merge(json!({ "spec": spec }));
        Ok(self.classes.patch(name, &PatchParams::default(), &patch).await?)
    }

    /// Waits until this holds of the Provider.
    pub(crate) async fn see(&self, what: &str, check: impl Fn(&Provider) -> bool) -> Result<Provider> {
        watch::see(&self.providers, NAME, what, SOON, check).await
    }

    /// Takes everything away that a life has left, however it ended. No role runs any more.
    pub(crate) async fn clear(&self) -> Result<()> {
        let (now, all) = (DeleteParams::background(), ListParams::default());
        if let Some(provider) = self.providers.get_opt(NAME).await? {
            let free = Patch::Merge(json!({ "metadata": { "finalizers": null } }));
            self.providers.patch(NAME, &PatchParams::default(), &free).await?;
            let deleted = self.providers.delete(NAME, &now).await;
            let stamped =
                all.clone().labels(&format!("{}={}", names::PROVIDER_UID, provider.uid().unwrap_or_default()));
            let bindings = kinds::everywhere(&self.client, Part::ClusterRoleBinding);
            for binding in bindings.list(&stamped).await?.items {
                bindings.delete(&binding.name_any(), &now).await?;
            }
            gone_already(deleted.map(drop))?;
        }
        for class in self.classes.list(&all).await?.items.iter().map(ResourceExt::name_any) {
            if class.starts_with(&self.name) {
                self.classes.delete(&class, &now).await?;
            }
        }
        let namespaces: Api<Namespace> = Api::all(self.client.clone());
        for name in [self.name.clone(), pods(&self.name)] {
            gone_already(namespaces.delete(&name, &now).await.map(drop))?;
        }
        Ok(())
    }
}

/// The workload namespace of a scene.
pub(crate) fn pods(scene: &str) -> String {
    format!("{scene}-pods")
}

fn gone_already(answer: kube::Result<()>) -> Result<()> {
    match answer {
        Err(kube::Error::Api(status)) if status.code == 404 => Ok(()),
        other => other.context("it cannot be deleted"),
    }
}
