//! The life of a pod: it reads what it needs, logs in, says so, and follows an edit.
use super::scene::{NAME, Scene};
use crate::operator::Operator;
use crate::stage::{SOON, Stage, installed};
use crate::until::until;
use anyhow::{Context, Result, ensure};
use banlieue::k8s::crd::{Backend, Condition, ConditionStatus, Provider, ProviderClass};
use banlieue::k8s::manifests::names;
use banlieue_e2e::watch;
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::ServiceAccount;
use k8s_openapi::api::events::v1::Event;
use kube::Api;
use kube::api::{DeleteParams, ListParams, Patch, PatchParams};
use serde_json::json;

/// A Provider that was minted for, with no operator left that would put anything back.
pub(crate) struct Minted {
    /// What it is about.
    pub(crate) scene: Scene,
    /// The Provider.
    pub(crate) provider: Provider,
    /// Its class.
    pub(crate) class: ProviderClass,
    /// The name of account, Role and bindings.
    pub(crate) name: String,
}

impl Minted {
    /// Has a Provider minted for.
    pub(crate) async fn new(stage: &Stage) -> Result<Self> {
        let scene = Scene::new(stage, &format!("minted-{}", stage.fresh())).await?;
        let operator = stage.role(&installed(names::OPERATOR), &["operator"]).await?;
        operator.leads().await?;
        let class = scene.class(&scene.name, Backend::Vsphere, json!({})).await?;
        scene.register(&scene.name).await?;
        let name = names::own(Backend::Vsphere, &scene.name, NAME);
        let deployments: Api<Deployment> = Api::namespaced(stage.client.clone(), &scene.name);
        watch::see(&deployments, &name, "it is minted", SOON, |_| true).await?;
        operator.stop().await?;
        let provider = scene.providers.get(NAME).await?;
        Ok(Self { scene, provider, class, name })
    }

    /// Its account.
    pub(crate) fn account(&self) -> String {
        format!("{}/{}", self.scene.name, self.name)
    }

    /// The life of its pod.
    pub(crate) async fn life(&self, stage: &Stage) -> Result<()> {
        let (home, uid) = (self.scene.name.as_str(), self.provider.metadata.uid.as_deref().context("no uid")?);
        let args = ["provider", "vsphere", "--namespace", home, "--provider-name", NAME, "--provider-uid", uid];
        life(stage, &self.scene, &self.account(), &args).await
    }
}

/// A namespace with a provider of its own, that no operator serves.
pub(crate) struct Alone {
    /// What it is about.
    pub(crate) scene: Scene,
}

impl Alone {
    /// Installs a provider, and registers what it is to serve.
    pub(crate) async fn new(stage: &Stage) -> Result<Self> {
        let scene = Scene::new(stage, &format!("alone-{}", stage.fresh())).await?;
        stage.done(&["bootstrap", "provider", "vsphere", "--namespace", &scene.name, "--no-wait", "--force"])?;
        scene.class(&scene.name, Backend::Vsphere, json!({})).await?;
        scene.register(&scene.name).await?;
        Ok(Self { scene })
    }

    /// Its account.
    pub(crate) fn account(&self) -> String {
        format!("{}/{}", self.scene.name, names::shared(Backend::Vsphere))
    }

    /// The life of its pod.
    pub(crate) async fn life(&self, stage: &Stage) -> Result<()> {
        let args = ["provider", "vsphere", "--namespace", &self.scene.name];
        life(stage, &self.scene, &self.account(), &args).await
    }

    /// Takes the installation away.
    pub(crate) async fn clear(&self, stage: &Stage) -> Result<()> {
        stage.done(&["uninstall", "--provider", "vsphere", "--namespace", &self.scene.name, "--yes"])?;
        self.scene.clear().await
    }
}

/// Whether a pod has said that the backend let it in, of the Provider as it is now.
fn ready(provider: &Provider) -> bool {
    let Some(status) = provider.status.as_ref() else { return false };
    let ready = Condition::find(&status.conditions, "Ready").is_some_and(|c| c.status == ConditionStatus::True);
    ready && status.observed_generation == provider.metadata.generation
}

async fn life(stage: &Stage, scene: &Scene, account: &str, args: &[&str]) -> Result<()> {
    let home = scene.name.as_str();
    let events: Api<Event> = Api::namespaced(stage.client.clone(), home);
    let of_pods = ListParams::default().fields(&format!("reportingController={}", names::MANAGER_PROVIDER));
    // as if no pod had ever been there
    stage.no_lease(home, &names::lease(home, NAME)).await?;
    let silent = Patch::Merge(json!({ "status": { "conditions": null, "observedGeneration": null } }));
    scene.providers.patch_status(NAME, &PatchParams::default(), &silent).await?;
    events.delete_collection(&DeleteParams::default(), &of_pods).await?;
    let account_of: Api<ServiceAccount> = Api::namespaced(stage.client.clone(), home);
    ensure!(account_of.get_opt(account.rsplit('/').next().unwrap_or_default()).await?.is_some(), "no {account}");

    let pod: Operator = stage.role(account, args).await?;
    scene.see("the backend lets it in", ready).await?;
    until("an Event tells so", SOON, async || {
        let told = events.list(&of_pods).await?.items.len();
        Ok(if told > 0 { Ok(()) } else { Err("none".into()) })
    })
    .await?;
    let insecure = scene.providers.get(NAME).await?.spec.connection.insecure_skip_tls_verify;
    scene.edit(json!({ "connection": { "insecureSkipTLSVerify": !insecure } })).await?;
    scene.see("it has seen the edit", ready).await?;
    pod.stop().await
}
