//! [`Signal`] and [`classify`]: the precedence list. First match wins.
use super::{Class, Deletion, Failure, Fence, Observation, Paused, Place, Reason, Rollout, Sight, message};
use Reason::*;

/// What an observation says: the reason, which carries its phase, and a sentence for people.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Signal {
    /// Why, and with it the phase.
    pub reason: Reason,
    /// The sentence.
    pub message: String,
}

type Test = fn(&Observation) -> bool;

/// Deletion, pause, blockers, divergence, rollout, availability: first match wins.
pub const PRECEDENCE: &[(Reason, Test)] = &[
    // deletion beats everything, pause included
    (DeletionRequested, |o| o.deletion != Deletion::No),
    // pause
    (ProviderPaused, |o| o.paused == Paused::ByProvider),
    (ClassPaused, |o| o.paused == Paused::ByClass),
    // blockers: nothing is touched until they are gone
    (ClassNotFound, |o| o.class == Class::Absent),
    (ClassInvalid, |o| matches!(o.class, Class::Invalid(_))),
    (BackendNotCompiled, |o| matches!(o.class, Class::NotCompiled(_))),
    (EndpointInvalid, |o| matches!(o.class, Class::EndpointInvalid(_))),
    (NamespaceNotFound, |o| matches!(o.place, Place::Missing(_))),
    (NamespaceTerminating, |o| matches!(o.place, Place::Terminating(_))),
    (NameConflict, |o| o.wanted.iter().any(|w| w.sight == Sight::Foreign)),
    (FenceOpen, |o| o.fence == Fence::Open && o.diverged()),
    (Refused, |o| o.waiting() && o.halt.as_ref().is_some_and(|h| h.fault.blocks())),
    // divergence: what is observed is not what is wanted
    (Creating, |o| o.diverged() && o.cause == super::Cause::Creating),
    (ClassChanged, |o| o.diverged() && o.cause == super::Cause::ClassChanged),
    (SpecChanged, |o| o.diverged() && o.cause == super::Cause::SpecChanged),
    (DriftDetected, |o| o.diverged()),
    // rollout
    (ScaledToZero, |o| o.rollout == Rollout::ScaledToZero),
    (ImagePullFailed, |o| failed(o, Failure::ImagePull)),
    (CrashLooping, |o| failed(o, Failure::CrashLoop)),
    (Unschedulable, |o| failed(o, Failure::Unschedulable)),
    (PodsRefused, |o| failed(o, Failure::PodsRefused)),
    (WaitingForBackend, |o| matches!(o.rollout, Rollout::Waiting(_))),
    (ProgressDeadlineExceeded, |o| failed(o, Failure::Deadline)),
    (RollingOut, |o| o.rollout != Rollout::Available),
    // availability
    (WorkloadAvailable, |_| true),
];

fn failed(seen: &Observation, failure: Failure) -> bool {
    matches!(seen.rollout, Rollout::Failed(f, _) if f == failure)
}

/// The first line of [`PRECEDENCE`] that matches.
pub fn classify(seen: &Observation) -> Signal {
    let reason = PRECEDENCE.iter().find(|(_, test)| test(seen)).map_or(WorkloadAvailable, |(reason, _)| *reason);
    Signal { reason, message: message::of(reason, seen) }
}
