//! What is read from a Deployment and its pods, a line a case.
use super::{gone, read, told_once};
use crate::fsm::{Failure, Reason, Rollout, WorkloadStatus};
use crate::k8s::manifests::names;
use chrono::{DateTime, TimeDelta, Utc};
use k8s_openapi::api::core::v1::Pod;
use kube::api::DynamicObject;
use rstest::rstest;
use serde_json::{Value, json};
use std::sync::Arc;

fn now() -> DateTime<Utc> {
    DateTime::from_timestamp(1_800_000_000, 0).expect("in range")
}

fn ago(seconds: i64) -> String {
    (now() - TimeDelta::seconds(seconds)).to_rfc3339_opts(chrono::SecondsFormat::Secs, true)
}

/// A Deployment of generation 2 whose controller has seen it, with these counts and conditions.
fn deployment(status: Value) -> DynamicObject {
    let mut status = status;
    if status.get("observedGeneration").is_none() {
        status["observedGeneration"] = 2.into();
    }
    serde_json::from_value(json!({
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": { "name": "d", "generation": 2 },
        "spec": { "replicas": 1, "template": { "metadata": { "annotations": { names::DESIRED_HASH: "now" } } } },
        "status": status,
    }))
    .expect("a Deployment")
}

/// A pod of the current template whose one container is so.
fn pod(container: Value) -> Value {
    let mut container = container;
    for (key, value) in
        [("name", json!("provider")), ("ready", json!(false)), ("image", json!("r:t")), ("imageID", json!(""))]
    {
        container.as_object_mut().expect("an object").entry(key).or_insert(value);
    }
    container.as_object_mut().expect("an object").entry("restartCount").or_insert(json!(0));
    json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": { "name": "p", "annotations": { names::DESIRED_HASH: "now" } },
        "status": { "phase": "Running", "containerStatuses": [container] },
    })
}

fn waits(reason: &str) -> Value {
    pod(json!({ "state": { "waiting": { "reason": reason, "message": "words" } } }))
}

fn runs(seconds: i64, restarts: i32) -> Value {
    pod(json!({
        "restartCount": restarts,
        "state": { "running": { "startedAt": ago(seconds) } },
        "lastState": { "terminated": { "exitCode": 3, "message": "last words\n" } },
    }))
}

fn with(mut pod: Value, path: &str, value: Value) -> Value {
    *pod.pointer_mut(path).expect("there") = value;
    pod
}

fn condition(type_: &str, status: &str, reason: &str) -> Value {
    json!({ "conditions": [{ "type": type_, "status": status, "reason": reason, "message": "words" }] })
}

fn unschedulable() -> Value {
    let mut pod = pod(json!({}));
    pod["status"] = json!({
        "phase": "Pending",
        "conditions": [{ "type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "no node" }],
    });
    pod
}

fn late() -> Value {
    condition("Progressing", "False", "ProgressDeadlineExceeded")
}

fn fails(failure: Failure, words: &str) -> Rollout {
    Rollout::Failed(failure, words.into())
}

#[rstest]
#[case::behind(json!({ "observedGeneration": 1, "replicas": 1, "updatedReplicas": 1, "availableReplicas": 1 }), vec![], Rollout::Progressing)]
#[case::complete(json!({ "replicas": 1, "updatedReplicas": 1, "availableReplicas": 1 }), vec![], Rollout::Available)]
#[case::old_pods_left(json!({ "replicas": 2, "updatedReplicas": 1, "availableReplicas": 1 }), vec![], Rollout::Progressing)]
#[case::none_available(json!({ "replicas": 1, "updatedReplicas": 1 }), vec![], Rollout::Progressing)]
#[case::complete_beats_a_crash(json!({ "replicas": 1, "updatedReplicas": 1, "availableReplicas": 1 }), vec![runs(1, 9)], Rollout::Available)]
#[case::image(json!({}), vec![waits("ImagePullBackOff")], fails(Failure::ImagePull, "image r:t cannot be pulled: words"))]
#[case::image_name(json!({}), vec![waits("InvalidImageName")], fails(Failure::ImagePull, "image r:t cannot be pulled: words"))]
#[case::image_of_an_old_template(json!({}), vec![with(waits("ErrImagePull"), "/metadata/annotations", json!({ names::DESIRED_HASH: "old" }))], Rollout::Progressing)]
#[case::image_of_a_going_pod(json!({}), vec![with(waits("ErrImagePull"), "/metadata", json!({ "name": "p", "annotations": { names::DESIRED_HASH: "now" }, "deletionTimestamp": ago(1) }))], Rollout::Progressing)]
#[case::crash(json!({}), vec![runs(1, 2)], fails(Failure::CrashLoop, "the container ended with exit code 3; its last words: last words"))]
#[case::crash_once(json!({}), vec![runs(1, 1)], Rollout::Progressing)]
#[case::crash_long_ago(json!({}), vec![runs(601, 9)], Rollout::Waiting("pod p runs but has not reached its backend: see the conditions".into()))]
#[case::config(json!({}), vec![waits("CreateContainerConfigError")], fails(Failure::CrashLoop, "the container cannot start: CreateContainerConfigError: words"))]
#[case::starting(json!({}), vec![waits("ContainerCreating")], Rollout::Progressing)]
#[case::no_node(json!({}), vec![unschedulable()], fails(Failure::Unschedulable, "no node"))]
#[case::refused(condition("ReplicaFailure", "True", "FailedCreate"), vec![], fails(Failure::PodsRefused, "words"))]
#[case::young(json!({}), vec![runs(9, 0)], Rollout::Progressing)]
#[case::waiting(json!({}), vec![runs(10, 0)], Rollout::Waiting("pod p runs but has not reached its backend: see the conditions".into()))]
#[case::waiting_beats_the_deadline(late(), vec![runs(700, 0)], Rollout::Waiting("pod p runs but has not reached its backend: see the conditions".into()))]
#[case::deadline(late(), vec![], fails(Failure::Deadline, "words"))]
#[case::image_beats_the_deadline(late(), vec![waits("ErrImagePull")], fails(Failure::ImagePull, "image r:t cannot be pulled: words"))]
fn a_rollout_reads_as(#[case] status: Value, #[case] pods: Vec<Value>, #[case] rollout: Rollout) {
    let pods: Vec<Arc<Pod>> = pods.into_iter().map(|p| Arc::new(serde_json::from_value(p).expect("a pod"))).collect();
    assert_eq!(read(&deployment(status), &pods, now()), rollout);
}

#[rstest]
#[case::entry(None, "r:t", "second words")]
#[case::again(Some((Reason::ImagePullFailed, "r:t")), "r:t", "first words")]
#[case::another_image(Some((Reason::ImagePullFailed, "r:t")), "r:u", "second words")]
#[case::another_reason(Some((Reason::CrashLooping, "r:t")), "r:t", "second words")]
fn an_image_that_cannot_be_pulled_is_told_once(
    #[case] recorded: Option<(Reason, &str)>,
    #[case] image: &str,
    #[case] told: &str,
) {
    let words = |image: &str, words: &str| format!("image {image} cannot be pulled: {words}");
    let recorded = recorded.map(|(reason, image)| WorkloadStatus {
        reason: Some(reason),
        message: Some(words(image, "first words")),
        ..Default::default()
    });
    let read = fails(Failure::ImagePull, &words(image, "second words"));
    assert_eq!(told_once(read, recorded.as_ref()), fails(Failure::ImagePull, &words(image, told)));
}

#[test]
fn no_pods_wanted() {
    let mut deployment = deployment(json!({}));
    deployment.data["spec"]["replicas"] = 0.into();
    assert_eq!(read(&deployment, &[], now()), Rollout::ScaledToZero);
}

#[rstest]
#[case::running(json!({ "name": "p" }), "Running", false)]
#[case::going(json!({ "name": "p", "deletionTimestamp": ago(60) }), "Running", false)]
#[case::lost(json!({ "name": "p", "deletionTimestamp": ago(61) }), "Running", true)]
#[case::ended(json!({ "name": "p" }), "Succeeded", true)]
fn a_pod_counts_as_gone(#[case] metadata: Value, #[case] phase: &str, #[case] is: bool) {
    let pod: Pod =
        serde_json::from_value(json!({ "metadata": metadata, "status": { "phase": phase } })).expect("a pod");
    assert_eq!(gone(&pod, now()), is);
}
