//! The controller's life: a class, a Provider that comes to it, and an edit.
use super::scene::Scene;
use crate::stage::{SOON, Stage, installed};
use anyhow::Result;
use banlieue::k8s::crd::{Backend, ProviderClass};
use banlieue::k8s::manifests::names;
use banlieue_e2e::watch;
use serde_json::json;

/// All of it.
pub(crate) async fn life(stage: &Stage, scene: &Scene) -> Result<()> {
    let name = scene.name.as_str();
    stage.no_lease(names::DEFAULT_NAMESPACE, names::CONTROLLER).await?;
    let controller = stage.role(&installed(names::CONTROLLER), &["controller"]).await?;
    controller.leads().await?;

    let class = scene.class(name, Backend::Vsphere, json!({})).await?;
    let counts = |providers: i32, generation: Option<i64>| {
        move |class: &ProviderClass| {
            let of = |s: &banlieue::k8s::crd::ProviderClassStatus| (s.providers, s.observed_generation);
            class.status.as_ref().map(of) == Some((Some(providers), generation))
        }
    };
    watch::see(&scene.classes, name, "none of it", SOON, counts(0, class.metadata.generation)).await?;
    scene.register(name).await?;
    watch::see(&scene.classes, name, "one of it", SOON, counts(1, class.metadata.generation)).await?;
    let class = scene.edit_class(name, json!({ "replicas": 2 })).await?;
    watch::see(&scene.classes, name, "the edit is seen", SOON, counts(1, class.metadata.generation)).await?;
    controller.stop().await
}
