//! How a Deployment's rollout stands, read from its status and its *current* pods. Pure.
use super::manifests::names;
use super::time;
use crate::fsm::{Failure, Reason, Rollout, WorkloadStatus};
use chrono::{DateTime, TimeDelta, Utc};
use k8s_openapi::api::core::v1::{ContainerState, ContainerStatus, Pod};
use kube::ResourceExt;
use kube::api::DynamicObject;
use serde_json::Value;
use std::sync::Arc;

/// A pod that has run this long unready waits for its backend.
const SETTLED: TimeDelta = TimeDelta::seconds(10);
/// A pod counts as gone this long after its deletion timestamp: its node is lost.
const LOST: TimeDelta = TimeDelta::seconds(60);
/// The kubelet forgets its restart delay after ten minutes of running; so do we.
const FORGIVEN: TimeDelta = TimeDelta::minutes(10);

/// What is said of an image, between its name and the kubelet's words.
const CANNOT_BE_PULLED: &str = " cannot be pulled";

/// How many pods the Deployment asks for.
pub fn wanted_replicas(deployment: &DynamicObject) -> Option<i32> {
    number(&deployment.data["spec"]["replicas"])
}

/// How many pods are ready.
pub fn ready_replicas(deployment: &DynamicObject) -> i32 {
    number(&deployment.data["status"]["readyReplicas"]).unwrap_or(0)
}

fn number(value: &Value) -> Option<i32> {
    value.as_i64().and_then(|n| i32::try_from(n).ok())
}

/// Whether a pod has ended, or its node is lost.
pub fn gone(pod: &Pod, now: DateTime<Utc>) -> bool {
    let ended =
        pod.status.as_ref().and_then(|s| s.phase.as_deref()).is_some_and(|p| matches!(p, "Succeeded" | "Failed"));
    ended || pod.metadata.deletion_timestamp.as_ref().is_some_and(|t| time::from_api(t) + LOST < now)
}

/// How the rollout stands.
pub fn read(deployment: &DynamicObject, pods: &[Arc<Pod>], now: DateTime<Utc>) -> Rollout {
    let (spec, status) = (&deployment.data["spec"], &deployment.data["status"]);
    let count = |field: &str| number(&status[field]).unwrap_or(0);
    if wanted_replicas(deployment) == Some(0) {
        return Rollout::ScaledToZero;
    }
    if status["observedGeneration"].as_i64() < deployment.metadata.generation {
        return Rollout::Progressing;
    }
    if count("replicas") == count("updatedReplicas") && count("availableReplicas") >= 1 {
        return Rollout::Available;
    }
    let hash = spec["template"]["metadata"]["annotations"][names::DESIRED_HASH].as_str();
    let current: Vec<&Pod> = pods
        .iter()
        .map(|pod| &**pod)
        .filter(|pod| pod.annotations().get(names::DESIRED_HASH).map(String::as_str) == hash)
        .filter(|pod| pod.metadata.deletion_timestamp.is_none())
        .collect();
    let first = |read: &dyn Fn(&Pod) -> Option<Rollout>| current.iter().find_map(|pod| read(pod));
    let condition = |type_: &str| status["conditions"].as_array()?.iter().find(|c| c["type"] == type_);
    let words = |c: &Value| c["message"].as_str().unwrap_or_default().to_owned();
    first(&|pod| container(pod).and_then(image))
        .or_else(|| first(&|pod| container(pod).and_then(|c| crashing(c, now))))
        .or_else(|| first(&unschedulable))
        .or_else(|| {
            let refused = condition("ReplicaFailure").filter(|c| c["status"] == "True")?;
            Some(Rollout::Failed(Failure::PodsRefused, words(refused)))
        })
        .or_else(|| first(&|pod| waiting(pod, now)))
        .or_else(|| {
            let late = condition("Progressing").filter(|c| c["reason"] == "ProgressDeadlineExceeded")?;
            Some(Rollout::Failed(Failure::Deadline, words(late)))
        })
        .unwrap_or_default()
}

fn container(pod: &Pod) -> Option<&ContainerStatus> {
    pod.status.as_ref()?.container_statuses.as_ref()?.iter().find(|c| !c.ready)
}

fn waiting_reason(container: &ContainerStatus) -> Option<(&str, &str)> {
    let waiting = container.state.as_ref()?.waiting.as_ref()?;
    Some((waiting.reason.as_deref()?, waiting.message.as_deref().unwrap_or_default()))
}

/// The words change between two tries; that the image cannot be pulled does not: see [`told_once`].
fn image(container: &ContainerStatus) -> Option<Rollout> {
    const REASONS: [&str; 7] = [
        "ErrImagePull",
        "ImagePullBackOff",
        "RegistryUnavailable",
        "InvalidImageName",
        "ErrImageNeverPull",
        "ImageInspectError",
        "SignatureValidationFailed",
    ];
    let (_, words) = waiting_reason(container).filter(|(reason, _)| REASONS.contains(reason))?;
    let words = if words.is_empty() { String::new() } else { format!(": {words}") };
    Some(Rollout::Failed(Failure::ImagePull, format!("image {}{CANNOT_BE_PULLED}{words}", container.image)))
}

/// What is read, with the words that the status tells already where it is the same failure: the kubelet says another thing
/// at each try to pull an image, and each would be a write.
pub fn told_once(read: Rollout, recorded: Option<&WorkloadStatus>) -> Rollout {
    let about = |words: &str| words.split_once(CANNOT_BE_PULLED).map(|(image, _)| image.to_owned());
    match (read, recorded) {
        (Rollout::Failed(Failure::ImagePull, words), Some(WorkloadStatus { reason, message: Some(told), .. }))
            if *reason == Some(Reason::ImagePullFailed) && about(&words) == about(told) =>
        {
            Rollout::Failed(Failure::ImagePull, told.clone())
        }
        (read, _) => read,
    }
}

fn crashing(container: &ContainerStatus, now: DateTime<Utc>) -> Option<Rollout> {
    let started = |s: &ContainerState| s.running.as_ref()?.started_at.as_ref().map(time::from_api);
    let steady = container.state.as_ref().and_then(started).is_some_and(|at| now - at > FORGIVEN);
    let ended = |s: &ContainerState| s.terminated.clone();
    let last = container.state.as_ref().and_then(ended).or_else(|| container.last_state.as_ref().and_then(ended));
    let words = match waiting_reason(container) {
        Some((reason @ ("CreateContainerConfigError" | "CreateContainerError" | "RunContainerError"), words)) => {
            format!("the container cannot start: {reason}: {words}")
        }
        waits => {
            let looping = matches!(waits, Some(("CrashLoopBackOff", _)));
            // read from restart counts, so that it does not flap while the container runs for a moment
            if !looping && (container.restart_count < 2 || steady) {
                return None;
            }
            let last = last?;
            let message = last.message.as_deref().or(last.reason.as_deref()).unwrap_or_default();
            let message = message.trim();
            format!("the container ended with exit code {}; its last words: {message}", last.exit_code)
        }
    };
    Some(Rollout::Failed(Failure::CrashLoop, words))
}

fn unschedulable(pod: &Pod) -> Option<Rollout> {
    let conditions = pod.status.as_ref()?.conditions.as_ref()?;
    let refused =
        conditions.iter().find(|c| c.type_ == "PodScheduled" && c.reason.as_deref() == Some("Unschedulable"))?;
    Some(Rollout::Failed(Failure::Unschedulable, refused.message.clone().unwrap_or_default()))
}

fn waiting(pod: &Pod, now: DateTime<Utc>) -> Option<Rollout> {
    let since = time::from_api(container(pod)?.state.as_ref()?.running.as_ref()?.started_at.as_ref()?);
    (now - since >= SETTLED).then(|| {
        Rollout::Waiting(format!("pod {} runs but has not reached its backend: see the conditions", pod.name_any()))
    })
}

#[cfg(test)]
mod tests;
