//! [`Plan`]: what a step owes. Only [`step`](super::step) builds one.
use super::{ObjectRef, Part, Phase, Signal, TransitionEntry, WorkloadStatus};
use std::time::Duration;

/// How an object is applied.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum Mode {
    /// Only where nothing is there: never adopts.
    Create,
    /// Only the very object that was seen.
    Change,
}

/// An object to delete, by its uid.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Doomed {
    /// Its address.
    pub object: ObjectRef,
    /// The uid that the delete is conditional on.
    pub uid: String,
}

/// One edge, from which the Event, the entry in `transitions` and the audit line are made.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Transition {
    /// The entry in `status.workload.transitions`.
    pub entry: TransitionEntry,
    /// The sentence for people.
    pub message: String,
    /// The entries before it: part of the Event's name, so that a repeat after a crash is the same Event, and the same edge
    /// crossed once more within a second is another one (ADR-0022).
    pub previous: Vec<TransitionEntry>,
}

/// Something to do to the cluster, as data. No effect can name `status.conditions` (I5).
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Effect {
    /// Put our finalizer on the Provider.
    HoldFinalizer,
    /// Create or change one of the five objects.
    Apply(Part, Mode),
    /// Delete an object of ours.
    Delete(Doomed),
    /// Publish the Event and the audit line of an edge.
    Announce(Box<Transition>),
    /// Write `status.workload`.
    ReportWorkload(Box<WorkloadStatus>),
    /// Take our finalizer off the Provider.
    ReleaseFinalizer,
}

impl Effect {
    /// The order law: effects are carried out by ascending rank; those of one rank may run in parallel.
    pub const fn rank(&self) -> u8 {
        match self {
            Effect::HoldFinalizer => 0,
            Effect::Apply(part, _) => 1 + part.rank(),
            Effect::Delete(_) => 4,
            Effect::Announce(_) => 5,
            Effect::ReportWorkload(_) => 6,
            Effect::ReleaseFinalizer => 7,
        }
    }

    /// Whether its failure ends the walk. The Event and the status never stop the work.
    pub const fn is_record(&self) -> bool {
        matches!(self, Effect::Announce(_) | Effect::ReportWorkload(_))
    }
}

impl std::fmt::Display for Effect {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Effect::HoldFinalizer => f.write_str("hold finalizer"),
            Effect::Apply(part, Mode::Create) => write!(f, "create {}", part.kind()),
            Effect::Apply(part, Mode::Change) => write!(f, "change {}", part.kind()),
            Effect::Delete(doomed) => write!(f, "delete {}", doomed.object),
            Effect::Announce(edge) => write!(f, "announce {}", edge.entry.reason),
            Effect::ReportWorkload(status) => write!(f, "report {}", status.phase),
            Effect::ReleaseFinalizer => f.write_str("release finalizer"),
        }
    }
}

/// When to look again though no watch tells of anything, and why.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Wake {
    /// The plan has effects: look at what they made of it.
    Again,
    /// The executor holds still after a failure.
    HoldOver(Duration),
    /// A foreign object is outside our watches.
    NameConflict,
    /// Pods have to end.
    PodsGone,
    /// A pod has to run a moment before it counts as waiting for its backend.
    PodsSettle,
    /// A child deleted inside a watch gap wakes nobody.
    Slow,
}

impl Wake {
    /// After how long. The caller adds jitter.
    pub const fn after(self) -> Duration {
        match self {
            Wake::Again => Duration::ZERO,
            Wake::HoldOver(rest) => rest,
            Wake::NameConflict => Duration::from_secs(30),
            Wake::PodsGone | Wake::PodsSettle => Duration::from_secs(5),
            Wake::Slow => Duration::from_secs(600),
        }
    }
}

/// The whole decision of one step.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    phase: Phase,
    signal: Signal,
    effects: Vec<Effect>,
    wake: Wake,
}

impl Plan {
    /// Only the chart drafts plans; `effects` come in rank order.
    pub(super) fn new(phase: Phase, signal: Signal, effects: Vec<Effect>, wake: Wake) -> Self {
        Self { phase, signal, effects, wake }
    }

    /// The phase that is read.
    pub fn phase(&self) -> Phase {
        self.phase
    }

    /// Why, with the sentence for people.
    pub fn signal(&self) -> &Signal {
        &self.signal
    }

    /// What is owed, in order of rank.
    pub fn effects(&self) -> &[Effect] {
        &self.effects
    }

    /// When to look again, and why.
    pub fn wake(&self) -> Wake {
        self.wake
    }

    /// The edge that this plan crosses: at most one.
    pub fn transition(&self) -> Option<&Transition> {
        self.effects.iter().find_map(|e| match e {
            Effect::Announce(edge) => Some(&**edge),
            _ => None,
        })
    }
}
