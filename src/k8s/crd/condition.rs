//! [`Condition`]: one entry of `status.conditions`.
use super::schema;
use chrono::{DateTime, SubsecRound, Utc};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One aspect of the state, as its writer last saw it.
///
/// A type of our own, because the imported one has neither an enum on `status` nor any length. A writer must send every
/// condition it owns each time: one that is no longer sent vanishes.
#[derive(Clone, Debug, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
#[schemars(description = "One aspect of the state, as its writer last saw it.")]
pub struct Condition {
    /// What it speaks of, such as Ready.
    #[serde(rename = "type")]
    #[schemars(length(min = 1, max = 316), regex(pattern = schema::CONDITION_TYPE))]
    pub type_: String,
    /// Whether it holds: True, False, or Unknown.
    pub status: ConditionStatus,
    /// Why, in one word.
    #[schemars(length(min = 1, max = 1024), regex(pattern = schema::CONDITION_REASON))]
    pub reason: String,
    /// Why, in a sentence for people; empty where the reason says it all.
    #[schemars(length(max = 4096))]
    pub message: String,
    /// When `status` last changed, in whole seconds.
    pub last_transition_time: DateTime<Utc>,
    /// The `metadata.generation` that it speaks of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0))]
    pub observed_generation: Option<i64>,
}

/// Whether a condition holds.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, Hash, JsonSchema, PartialEq, Serialize)]
pub enum ConditionStatus {
    /// It holds.
    True,
    /// It does not hold.
    False,
    /// Nobody knows yet, or any more.
    #[default]
    Unknown,
}

impl ConditionStatus {
    /// The word of the API.
    pub const fn as_str(self) -> &'static str {
        match self {
            ConditionStatus::True => "True",
            ConditionStatus::False => "False",
            ConditionStatus::Unknown => "Unknown",
        }
    }
}

/// The longest message, in characters.
const MESSAGE_MAX: usize = 4096;

impl Condition {
    /// A condition first seen at `now`. Time is cut to whole seconds and the message to what the schema takes.
    pub fn new(type_: &str, status: ConditionStatus, reason: &str, message: &str, now: DateTime<Utc>) -> Self {
        Condition {
            type_: type_.into(),
            status,
            reason: reason.into(),
            message: message.chars().take(MESSAGE_MAX).collect(),
            last_transition_time: now.trunc_subsecs(0),
            observed_generation: None,
        }
    }

    /// The same, said of this `metadata.generation`.
    pub fn of_generation(mut self, generation: Option<i64>) -> Self {
        self.observed_generation = generation;
        self
    }

    /// Keeps the time of `prior` where the status has not changed since.
    pub fn since(mut self, prior: Option<&Condition>) -> Self {
        if let Some(prior) = prior.filter(|p| p.type_ == self.type_ && p.status == self.status) {
            self.last_transition_time = prior.last_transition_time;
        }
        self
    }

    /// The condition of this type, if it is there.
    pub fn find<'a>(conditions: &'a [Condition], type_: &str) -> Option<&'a Condition> {
        conditions.iter().find(|c| c.type_ == type_)
    }
}

/// What a reader sees before the first write: Ready is Unknown, so that nothing takes an untouched object for done.
pub(super) fn awaiting() -> serde_json::Value {
    serde_json::json!([{
        "type": "Ready",
        "status": "Unknown",
        "reason": "NotYetReported",
        "message": "Nothing has been reported yet.",
        "lastTransitionTime": "1970-01-01T00:00:00Z",
    }])
}
