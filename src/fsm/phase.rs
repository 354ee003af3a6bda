//! [`Phase`]: the CRD's enum and the chart's state in one type.
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Where the workload of a Provider stands. A reading of what is observed, never a memory (design, sentence 1).
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, Hash, JsonSchema, Ord, PartialEq, PartialOrd, Serialize)]
pub enum Phase {
    /// It cannot be provisioned yet; whatever already runs is left alone.
    #[default]
    Pending,
    /// The workload is being made true, or its rollout is not complete.
    Provisioning,
    /// The five objects match and at least one pod is available.
    Ready,
    /// Suspended by the Provider or by its class: nothing of the workload is written.
    Paused,
    /// Deletion was asked: what garbage collection cannot reach is removed, then the finalizer is released.
    Terminating,
}

impl Phase {
    /// Every phase, in the order of a life.
    pub const ALL: [Phase; 5] = [Phase::Pending, Phase::Provisioning, Phase::Ready, Phase::Paused, Phase::Terminating];

    /// The word of the API.
    pub const fn as_str(self) -> &'static str {
        match self {
            Phase::Pending => "Pending",
            Phase::Provisioning => "Provisioning",
            Phase::Ready => "Ready",
            Phase::Paused => "Paused",
            Phase::Terminating => "Terminating",
        }
    }
}

impl std::fmt::Display for Phase {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}
