//! Observations to start from, and small changes to them.
use crate::fsm::*;
use chrono::{DateTime, Utc};
use std::time::Duration;

/// The clock of every test.
pub(super) fn noon() -> DateTime<Utc> {
    DateTime::from_timestamp(1_800_000_000, 0).expect("in range")
}

pub(super) fn object(part: Part) -> ObjectRef {
    let namespace = (part != Part::ClusterRoleBinding).then(|| "prod".into());
    ObjectRef { part, namespace, name: "banlieue-provider-vsphere-vc".into() }
}

/// A living Provider with a usable class and the five objects as `sight` says.
pub(super) fn alive(sight: impl Fn(Part) -> Sight) -> Observation {
    Observation {
        generation: 1,
        finalizer: true,
        wanted: Part::ALL.map(|part| Wanted { object: object(part), sight: sight(part) }).into(),
        made: Made { class: ClassRef { name: "vsphere".into(), generation: Some(1) }, ..Default::default() },
        replicas: Some(1),
        ready_replicas: Some(0),
        ..Default::default()
    }
}

/// Nothing exists yet.
pub(super) fn new() -> Observation {
    Observation { finalizer: false, ..alive(|_| Sight::Absent) }
}

/// The five match and the rollout stands so.
pub(super) fn rolled(rollout: Rollout) -> Observation {
    Observation { rollout, ..alive(|_| Sight::Matching) }
}

/// Everything is as it should be.
pub(super) fn ready() -> Observation {
    Observation { ready_replicas: Some(1), ..rolled(Rollout::Available) }
}

/// Ready, but one object looks so.
pub(super) fn but(part: Part, sight: Sight) -> Observation {
    let cause = Cause::Drift;
    Observation { cause, ..alive(|p| if p == part { sight.clone() } else { Sight::Matching }) }
}

/// One field differs.
pub(super) fn drifted() -> Sight {
    Sight::Drifted(vec!["spec.x".into()])
}

/// An object of ours where it is not wanted.
pub(super) fn stray(part: Part) -> Stray {
    Stray { object: object(part), uid: format!("uid-{}", part.kind()), owned: false, terminating: false }
}

/// Deletion was asked and these are left.
pub(super) fn deleting(strays: Vec<Stray>) -> Observation {
    Observation { deletion: Deletion::Requested, wanted: vec![], strays, ..ready() }
}

/// The executor stopped a moment ago.
pub(super) fn halted(fault: Fault) -> Option<Halt> {
    Some(Halt { fault, words: "the API's words".into(), waiting: Some(Duration::from_secs(4)) })
}

/// What a status says that recorded `reason`.
pub(super) fn recorded(reason: Reason) -> WorkloadStatus {
    WorkloadStatus {
        phase: reason.phase(),
        reason: Some(reason),
        last_transition_time: Some(noon() - chrono::TimeDelta::hours(1)),
        ..Default::default()
    }
}
