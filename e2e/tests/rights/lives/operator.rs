//! The operator's life: one Provider that comes before its class, is minted, edited, moved and deleted.
use super::scene::{NAME, Scene, pods};
use crate::stage::{SOON, Stage, installed};
use crate::until::until;
use anyhow::Result;
use banlieue::fsm::{Part, Reason};
use banlieue::k8s::crd::{Backend, Provider};
use banlieue::k8s::kinds;
use banlieue::k8s::manifests::names;
use banlieue_e2e::watch;
use banlieue_suite::objects::namespace;
use k8s_openapi::api::apps::v1::Deployment;
use kube::Api;
use kube::api::{DeleteParams, ListParams};
use serde_json::json;

/// Whether the operator says this.
fn says(provider: &Provider, reason: Reason) -> bool {
    provider.status.as_ref().and_then(|s| s.workload.as_ref()).and_then(|w| w.reason) == Some(reason)
}

/// All of it.
pub(crate) async fn life(stage: &Stage, scene: &Scene) -> Result<()> {
    let (client, first, second) = (&stage.client, scene.name.as_str(), format!("{}-next", scene.name));
    stage.no_lease(names::DEFAULT_NAMESPACE, names::OPERATOR).await?;
    let operator = stage.role(&installed(names::OPERATOR), &["operator"]).await?;
    operator.leads().await?;
    operator.ready().await?;

    scene.register(first).await?;
    scene.see("it has no class", |p| says(p, Reason::ClassNotFound)).await?;
    scene.class(first, Backend::Vsphere, json!({ "workloadNamespace": pods(first) })).await?;
    scene.see("it has no namespace", |p| says(p, Reason::NamespaceNotFound)).await?;
    namespace(client, &pods(first)).await?;
    let deployments: Api<Deployment> = Api::namespaced(client.clone(), &pods(first));
    let at = names::hashed(Backend::Vsphere, first, NAME);
    watch::see(&deployments, &at, "it is minted", SOON, |_| true).await?;

    scene.edit_class(first, json!({ "image": { "tag": "2" } })).await?;
    let image = |d: &Deployment| format!("{:?}", d.spec.template).contains("registry.invalid/banlieue:2");
    watch::see(&deployments, &at, "it has the new image", SOON, image).await?;

    scene.class(&second, Backend::Proxmox, json!({ "workloadNamespace": pods(first) })).await?;
    scene.edit(json!({ "providerClassRef": { "name": second } })).await?;
    let moved = names::hashed(Backend::Proxmox, first, NAME);
    watch::see(&deployments, &moved, "it has moved", SOON, |_| true).await?;
    until("what was only old is gone", SOON, async || {
        let mut left = 0;
        for part in Part::ALL {
            let stamped = ListParams::default().labels(names::PROVIDER_UID);
            left += kinds::everywhere(client, part).list(&stamped).await?.items.len();
        }
        Ok(if left == Part::ALL.len() { Ok(()) } else { Err(format!("{left} objects")) })
    })
    .await?;

    scene.providers.delete(NAME, &DeleteParams::default()).await?;
    watch::gone(&scene.providers, NAME, SOON).await?;
    operator.stop().await
}
