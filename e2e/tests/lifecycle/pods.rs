//! Pods that do not become ready: why is told in a reason of its own, and ends by itself when the cause does.
use crate::five::SOON;
use crate::place::{Place, message, workload};
use crate::stage::Stage;
use crate::until::until;
use anyhow::{Context, Result, ensure};
use banlieue::fsm::{Part, Phase, Reason};
use k8s_openapi::api::core::v1::Pod;
use kube::api::{Api, Patch, PatchParams};
use kube::{Resource, ResourceExt};
use serde_json::{Value, json};

/// An image that does not exist, then one that does: nothing is restarted by hand.
pub(crate) async fn an_image_that_cannot_be_pulled(stage: &Stage) -> Result<()> {
    let place = Place::new(stage, "pods-image").await?;
    stage.kubelet.hold(&place.name);
    place.register("p").await?;
    for reason in ["ErrImagePull", "ImagePullBackOff"] {
        let waiting = json!({ "waiting": { "reason": reason, "message": "not found" } });
        suffers(&place, "registry.invalid/banlieue:1", &container(waiting, 0, Value::Null)).await?;
        let seen = place.reason("p", Reason::ImagePullFailed).await?;
        ensure!(message(&seen).contains("registry.invalid/banlieue:1"), "it says {:?}", message(&seen));
    }
    entered_once(&place, Reason::ImagePullFailed).await?;
    mended(&place).await
}

/// A container that ends again and again; that it runs for a moment in between is no news.
pub(crate) async fn a_container_that_crashes(stage: &Stage) -> Result<()> {
    let place = Place::new(stage, "pods-crash").await?;
    stage.kubelet.hold(&place.name);
    place.register("p").await?;
    let ended = json!({ "terminated": { "exitCode": 3, "reason": "Error", "message": "no such flag" } });
    let waiting = json!({ "waiting": { "reason": "CrashLoopBackOff", "message": "back-off" } });
    let running = json!({ "running": { "startedAt": chrono::Utc::now().to_rfc3339() } });
    for (state, restarts) in [(&waiting, 2), (&running, 3), (&waiting, 3)] {
        suffers(&place, "registry.invalid/banlieue:1", &container(state.clone(), restarts, ended.clone())).await?;
        let seen = place.reason("p", Reason::CrashLooping).await?;
        let words = message(&seen);
        ensure!(words.contains("exit code 3") && words.contains("no such flag"), "it says {words:?}");
    }
    entered_once(&place, Reason::CrashLooping).await?;
    mended(&place).await
}

/// No node takes the pod.
pub(crate) async fn a_pod_that_no_node_takes(stage: &Stage) -> Result<()> {
    let place = Place::new(stage, "pods-nodes").await?;
    stage.kubelet.hold(&place.name);
    place.register("p").await?;
    let condition =
        json!({ "type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "0/1 nodes" });
    suffers(&place, "registry.invalid/banlieue:1", &json!({ "conditions": [condition] })).await?;
    let seen = place.reason("p", Reason::Unschedulable).await?;
    ensure!(message(&seen).contains("0/1 nodes"), "it says {:?}", message(&seen));
    stage.kubelet.release(&place.name).await?;
    place.ready("p").await?;
    Ok(())
}

/// A pod of which nothing is heard: the Deployment's own deadline passes.
pub(crate) async fn no_progress_within_the_deadline(stage: &Stage) -> Result<()> {
    let place = Place::new(stage, "pods-deadline").await?;
    place.edit_class(&place.name, json!({ "progressDeadlineSeconds": 1 })).await?;
    stage.kubelet.hold(&place.name);
    place.register("p").await?;
    let seen = place.reason("p", Reason::ProgressDeadlineExceeded).await?;
    ensure!(workload(&seen).is_some_and(|w| w.phase == Phase::Provisioning));
    stage.kubelet.release(&place.name).await?;
    place.ready("p").await?;
    Ok(())
}

/// What a kubelet says of the one container.
fn container(state: Value, restarts: u32, last: Value) -> Value {
    let last = if last.is_null() { json!({}) } else { last };
    json!({ "state": state, "lastState": last, "restartCount": restarts })
}

/// Waits for a pod of this image, and says of it what its kubelet or the scheduler would say.
async fn suffers(place: &Place<'_>, image: &str, what: &Value) -> Result<()> {
    let api: Api<Pod> = Api::namespaced(place.stage.client.clone(), &place.name);
    let of = |pod: &Pod| pod.spec.iter().flat_map(|s| &s.containers).any(|c| c.image.as_deref() == Some(image));
    let pod = until(&format!("a pod of {image}"), SOON, async || {
        let pods = api.list(&Default::default()).await?.items;
        Ok(pods
            .into_iter()
            .find(|p| of(p) && p.meta().deletion_timestamp.is_none())
            .context("none")
            .map_err(|e| e.to_string()))
    })
    .await?;
    let status = match what.get("conditions") {
        Some(_) => what.clone(),
        None => {
            let mut container = what.clone();
            let names = json!({ "name": pod.spec.iter().flat_map(|s| &s.containers).next().map(|c| &c.name), "image": image, "imageID": "", "ready": false });
            container.as_object_mut().context("no object")?.extend(names.as_object().cloned().unwrap_or_default());
            json!({ "containerStatuses": [container] })
        }
    };
    let patch = Patch::Merge(json!({ "status": status }));
    api.patch_status(&pod.name_any(), &PatchParams::default(), &patch).await?;
    Ok(())
}

/// The class gets an image that works: the new pods run, and all is well.
async fn mended(place: &Place<'_>) -> Result<()> {
    let before = place.five("p").get(Part::Deployment).await?.uid();
    place.edit_class(&place.name, json!({ "image": { "tag": "2" } })).await?;
    place.stage.kubelet.release(&place.name).await?;
    let mended = |w: &banlieue::fsm::WorkloadStatus| {
        w.phase == Phase::Ready && w.image.as_deref() == Some("registry.invalid/banlieue:2")
    };
    place.says("p", "Ready of the right image", mended).await?;
    ensure!(place.five("p").get(Part::Deployment).await?.uid() == before, "the Deployment was made anew");
    Ok(())
}

/// One edge into this reason, though its cause was told of several times.
async fn entered_once(place: &Place<'_>, reason: Reason) -> Result<()> {
    let provider = place.providers.get("p").await?;
    let edges: Vec<_> = workload(&provider).context("no status")?.transitions.iter().map(|t| t.reason).collect();
    ensure!(edges.iter().filter(|r| **r == reason).count() == 1, "the edges are {edges:?}");
    Ok(())
}
