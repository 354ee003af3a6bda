//! `status.workload`: the only status type that exists on the operator's write path (invariant I5).
use super::{Made, Observation, Phase, Reason, Signal, Transition};
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

/// How many edges the status keeps.
pub const KEPT_TRANSITIONS: usize = 10;

impl WorkloadStatus {
    /// The edge from what is recorded to what is read: a change of phase, or the entry into a failure reason.
    pub(super) fn edge(recorded: Option<&Self>, signal: &Signal, now: DateTime<Utc>) -> Option<Transition> {
        let (from, to) = (recorded.map(|r| r.phase), signal.reason.phase());
        let entered = recorded.and_then(|r| r.reason) != Some(signal.reason) && signal.reason.is_failure();
        (from != Some(to) || entered).then(|| Transition {
            entry: TransitionEntry { from, to, reason: signal.reason, time: now },
            message: signal.message.clone(),
            previous: recorded.map(|r| r.transitions.clone()).unwrap_or_default(),
        })
    }

    /// The status to write, or nothing where it would say what is recorded already.
    pub(super) fn due(
        recorded: Option<&Self>,
        signal: &Signal,
        seen: &Observation,
        edge: Option<&Transition>,
        now: DateTime<Utc>,
    ) -> Option<Self> {
        let phase = signal.reason.phase();
        let moved = recorded.is_none_or(|r| r.phase != phase);
        let mut transitions = recorded.map(|r| r.transitions.clone()).unwrap_or_default();
        transitions.extend(edge.map(|e| e.entry.clone()));
        transitions.drain(..transitions.len().saturating_sub(KEPT_TRANSITIONS));
        let made = match phase {
            Phase::Provisioning | Phase::Ready => seen.made.clone(),
            // what was made stays as it is, so that is what the status goes on to tell
            Phase::Pending | Phase::Paused | Phase::Terminating => {
                recorded.map_or_else(|| seen.made.clone(), Self::made)
            }
        };
        let next = WorkloadStatus {
            phase,
            reason: Some(signal.reason),
            message: Some(signal.message.clone()),
            last_transition_time: if moved { Some(now) } else { recorded.and_then(|r| r.last_transition_time) },
            observed_generation: Some(seen.generation),
            provider_class: Some(made.class),
            image: made.image,
            namespace: made.namespace,
            deployment_name: made.deployment,
            replicas: seen.replicas,
            ready_replicas: seen.ready_replicas,
            transitions,
        };
        (recorded != Some(&next)).then_some(next)
    }

    /// Whether nothing but numbers of pods differ: no news for who waits for a phase or a reason.
    pub fn differs_in_numbers_alone(&self, next: &Self) -> bool {
        let Self { replicas, ready_replicas, .. } = *next;
        self != next && Self { replicas, ready_replicas, ..self.clone() } == *next
    }

    fn made(&self) -> Made {
        Made {
            class: self.provider_class.clone().unwrap_or_default(),
            image: self.image.clone(),
            namespace: self.namespace.clone(),
            deployment: self.deployment_name.clone(),
        }
    }
}
