//! The Event of a change of Ready's reason.
use super::Options;
use crate::effects::Refusal;
use crate::fsm::Fault;
use crate::k8s::crd::{Condition, ConditionStatus, Provider};
use crate::k8s::manifests::names;
use crate::k8s::refusal::bounded;
use crate::k8s::time;
use chrono::Utc;
use k8s_openapi::api::events::v1::Event;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{MicroTime, ObjectMeta};
use kube::api::PostParams;
use kube::{Api, Client, Resource};

/// The longest note that the API takes, in bytes.
const NOTE_MAX: usize = 1024;

/// Publishes it once: its name has the version that the status was written as.
pub(super) async fn publish(
    client: &Client,
    options: &Options,
    provider: &Provider,
    ready: &Condition,
) -> Result<(), Refusal> {
    let api: Api<Event> = Api::namespaced(client.clone(), &options.namespace);
    let params = PostParams { field_manager: Some(names::MANAGER_PROVIDER.into()), ..Default::default() };
    match bounded("publish the Event", api.create(&params, &build(options, provider, ready))).await {
        Err(refusal) if refusal.fault == Fault::Conflict => Ok(()),
        result => result.map(drop),
    }
}

fn build(options: &Options, provider: &Provider, ready: &Condition) -> Event {
    let good = ready.status == ConditionStatus::True;
    let version = provider.metadata.resource_version.as_deref().unwrap_or_default();
    let hash = names::hash_of(&serde_json::json!([provider.metadata.uid, ready.reason, version]));
    let name: String = options.provider.chars().take(200).collect();
    let mut note = format!("Provider {}: {}", options.provider, ready.message);
    note.truncate(note.floor_char_boundary(NOTE_MAX));
    Event {
        metadata: ObjectMeta {
            name: Some(format!("{}.{hash}", name.trim_end_matches(['.', '-']))),
            namespace: Some(options.namespace.clone()),
            ..Default::default()
        },
        event_time: Some(MicroTime(time::to_api(Utc::now()))),
        type_: Some(if good { "Normal" } else { "Warning" }.into()),
        reason: Some(ready.reason.clone()),
        action: Some("Probe".into()),
        note: Some(note),
        regarding: Some(provider.object_ref(&())),
        reporting_controller: Some(names::MANAGER_PROVIDER.into()),
        reporting_instance: Some(options.pod_name.clone()),
        ..Default::default()
    }
}
