//! `status.workload`: the only status type that exists on the operator's write path (invariant I5).
use super::{Phase, Reason};
use chrono::{DateTime, Utc};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What the operator runs for a Provider. Written by the operator alone.
#[derive(Clone, Debug, Default, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct WorkloadStatus {
    /// Where the workload stands: Pending, Provisioning, Ready, Paused or Terminating.
    pub phase: Phase,
    /// Why, in one word of the documented list.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<Reason>,
    /// Why, in a sentence for people; the API's own words where it refused something.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 2048))]
    pub message: Option<String>,
    /// When the phase last changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_transition_time: Option<DateTime<Utc>>,
    /// The `metadata.generation` of the Provider that this status speaks of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// The class that the workload was made from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider_class: Option<ClassRef>,
    /// The image that the Deployment runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 1024))]
    pub image: Option<String>,
    /// The namespace of the Deployment and its ServiceAccount.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 63))]
    pub namespace: Option<String>,
    /// The name of the Deployment.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 253))]
    pub deployment_name: Option<String>,
    /// How many pods are wanted: the class's `spec.replicas`, else the Deployment's, 1 before it is seen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0))]
    pub replicas: Option<i32>,
    /// How many pods are ready.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0))]
    pub ready_replicas: Option<i32>,
    /// The last ten edges, newest last.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 10), extend("x-kubernetes-list-type" = "atomic"))]
    pub transitions: Vec<TransitionEntry>,
}

/// The ProviderClass a workload was made from.
#[derive(Clone, Debug, Default, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
pub struct ClassRef {
    /// Its name.
    #[schemars(length(max = 253))]
    pub name: String,
    /// Its `metadata.generation`; absent while the class does not exist.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub generation: Option<i64>,
}

/// One edge: a change of phase, or the entry into a failure reason.
#[derive(Clone, Debug, Deserialize, Eq, Hash, JsonSchema, PartialEq, Serialize)]
pub struct TransitionEntry {
    /// The phase that was left.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<Phase>,
    /// The phase that was entered.
    pub to: Phase,
    /// Why.
    pub reason: Reason,
    /// When, in whole seconds.
    pub time: DateTime<Utc>,
}
