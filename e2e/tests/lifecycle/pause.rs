//! Pause on both levels: hands off the workload while it lasts, and to work at once when it ends.
use crate::five::SOON;
use crate::place::Place;
use crate::stage::Stage;
use crate::until::until;
use anyhow::{Result, ensure};
use banlieue::fsm::{Part, Phase, Reason, WorkloadStatus};
use banlieue_e2e::watch;
use kube::ResourceExt;
use serde_json::{Value, json};

/// What the class runs once its tag is edited.
const NEW_IMAGE: &str = "registry.invalid/banlieue:2";

/// It alone: another one of its class follows the class.
pub(crate) async fn a_paused_provider_is_left_alone(stage: &Stage) -> Result<()> {
    let place = Place::new(stage, "pause-provider").await?;
    let next = Place::bare(stage, "pause-neighbour").await?;
    let mut neighbour = next.draft("neighbour");
    neighbour.spec.provider_class_ref.name.clone_from(&place.name);
    next.create(&neighbour).await?;
    next.ready("neighbour").await?;
    let set = async |paused: Value| place.edit("p", json!({ "spec": { "paused": paused } })).await.map(drop);
    left_alone(&place, Reason::ProviderPaused, set, Some(&next)).await
}

pub(crate) async fn a_paused_class_is_left_alone(stage: &Stage) -> Result<()> {
    let place = Place::new(stage, "pause-class").await?;
    let set = async |paused: Value| place.edit_class(&place.name, json!({ "paused": paused })).await.map(drop);
    left_alone(&place, Reason::ClassPaused, set, None).await
}

async fn left_alone(
    place: &Place<'_>,
    reason: Reason,
    set: impl AsyncFn(Value) -> Result<()>,
    next: Option<&Place<'_>>,
) -> Result<()> {
    let provider = place.registered("p").await?;
    let (five, uid) = (place.five("p"), provider.uid().unwrap_or_default());
    set(json!(true)).await?;
    place.reason("p", reason).await?;
    let writes = place.writes(&["p"])?;
    five.delete(Part::Role).await?;
    five.edit(Part::ClusterRoleBinding, json!({ "subjects": [] })).await?;
    place.edit_class(&place.name, json!({ "image": { "tag": "2" } })).await?;
    // the Deployment is scaled last: once that shows in the status, the operator has seen all of it
    five.edit(Part::Deployment, json!({ "spec": { "replicas": 2 } })).await?;
    let seen = place.says("p", "2 ready", |w| w.ready_replicas == Some(2)).await?;
    ensure!(crate::place::workload(&seen).is_some_and(|w| w.reason == Some(reason)), "{}", watch::show(&Some(seen)));
    if let Some(next) = next {
        let follows = |w: &WorkloadStatus| w.phase == Phase::Ready && w.image.as_deref() == Some(NEW_IMAGE);
        next.says("neighbour", "the new image, Ready", follows).await?;
    }
    writes.no_work()?;
    ensure!(five.find(Part::Role).await?.is_none(), "the Role is back");

    set(Value::Null).await?;
    until("the drift is repaired", SOON, async || {
        let role = five.stands(Part::Role, &uid).await?.is_some();
        let subjects = five.get(Part::ClusterRoleBinding).await?.data["subjects"].as_array().map_or(0, Vec::len);
        let image = five.deployment("/spec/template/spec/containers/0/image").await?;
        let done = role && subjects == 1 && image == Some(json!(NEW_IMAGE));
        Ok(if done { Ok(()) } else { Err(format!("Role {role}, {subjects} subjects, image {image:?}")) })
    })
    .await?;
    place.ready("p").await?;
    Ok(())
}

/// A Provider that is paused from the start gets neither a finalizer nor objects, and can be deleted.
pub(crate) async fn paused_from_the_start(stage: &Stage) -> Result<()> {
    let place = Place::new(stage, "pause-start").await?;
    let writes = place.writes(&["p", "q"])?;
    for name in ["p", "q"] {
        let mut draft = place.draft(name);
        draft.spec.paused = true;
        place.create(&draft).await?;
        let paused = place.reason(name, Reason::ProviderPaused).await?;
        ensure!(paused.finalizers().is_empty(), "{:?}", paused.finalizers());
    }
    place.remove("p").await?;
    writes.no_work()?;
    place.edit("q", json!({ "spec": { "paused": null } })).await?;
    place.ready("q").await?;
    Ok(())
}
