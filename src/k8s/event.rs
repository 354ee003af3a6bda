//! The Kubernetes Event of an edge. Own code: the Recorder of kube folds two notes of one reason into the first.
use super::crd::Provider;
use super::manifests::names;
use super::operator::Operator;
use super::time;
use crate::effects::Refusal;
use crate::fsm::{Fault, Phase, Transition};
use k8s_openapi::api::events::v1::Event;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::MicroTime;
use kube::api::{Api, ObjectMeta, PostParams};
use kube::{Resource, ResourceExt};

/// The longest note that the API takes, in bytes.
const NOTE_MAX: usize = 1024;

/// Publishes the Event of `edge` once: its name is a hash of the edge, so a repeat after a crash finds it there.
pub async fn publish(operator: &Operator, provider: &Provider, edge: &Transition) -> Result<(), Refusal> {
    let event = build(&operator.identity.instance, provider, edge);
    let api: Api<Event> = Api::namespaced(operator.client.clone(), &provider.namespace().unwrap_or_default());
    let params = PostParams { field_manager: Some(names::MANAGER_OPERATOR.into()), ..Default::default() };
    match operator.write("publish the event", api.create(&params, &event)).await {
        Err(refusal) if refusal.fault == Fault::Conflict => Ok(()),
        result => result.map(drop),
    }
}

fn build(instance: &str, provider: &Provider, edge: &Transition) -> Event {
    let entry = &edge.entry;
    let key = serde_json::json!([provider.metadata.uid, edge.previous, entry.from, entry.to, entry.reason]);
    let name: String = provider.name_any().chars().take(200).collect();
    let mut note = format!("Provider {}: {}", provider.name_any(), edge.message);
    note.truncate(note.floor_char_boundary(NOTE_MAX));
    Event {
        metadata: ObjectMeta {
            name: Some(format!("{}.{}", name.trim_end_matches(['.', '-']), names::hash_of(&key))),
            namespace: provider.namespace(),
            ..Default::default()
        },
        event_time: Some(MicroTime(time::to_api(entry.time))),
        type_: Some(if entry.reason.is_failure() { "Warning" } else { "Normal" }.into()),
        reason: Some(entry.reason.to_string()),
        action: Some(action(entry.to).into()),
        note: Some(note),
        regarding: Some(provider.object_ref(&())),
        reporting_controller: Some(names::MANAGER_OPERATOR.into()),
        reporting_instance: Some(instance.into()),
        ..Default::default()
    }
}

/// What the operator was doing, as an Event says it.
const fn action(to: Phase) -> &'static str {
    match to {
        Phase::Pending => "Hold",
        Phase::Provisioning => "Provision",
        Phase::Ready => "Complete",
        Phase::Paused => "Pause",
        Phase::Terminating => "CleanUp",
    }
}
