//! The statechart, and [`step`]: the whole decision.
//!
//! ```text
//! alive ── deletion ─────────────▶ Terminating (absorbs)
//! ├─ active (finalizer held) ── pause ──▶ Paused, blocker ──▶ Pending
//! │  ├─ Pending, Provisioning, Ready
//! └─ Paused (hands off by position)
//! ```
use super::plan::{Effect, Plan, Wake};
use super::{Deletion, Observation, Phase, Reason, Signal, WorkloadStatus, classify, work};
use chrono::{DateTime, Utc};
use statig::Outcome::{self, Handled, Super, Transition};
use statig::blocking::{IntoStateMachine, State, StateExt, Superstate};

/// The chart. It has no memory of its own: the state is the phase, the event is the signal.
#[derive(Debug, Default)]
pub struct Chart;

/// What entry actions read, and the effects that they owe.
#[derive(Debug)]
pub struct Draft<'a> {
    seen: &'a Observation,
    effects: Vec<Effect>,
}

/// What several phases have in common.
#[derive(Debug)]
pub enum Group {
    /// Every phase but Terminating: the only edge into it leaves from here.
    Alive,
    /// Pending, Provisioning and Ready: the finalizer is held; pause and blockers leave from here.
    Active,
}

impl IntoStateMachine for Chart {
    type Event<'e> = Signal;
    type Context<'c> = Draft<'c>;
    type State = Phase;
    type Superstate<'s> = Group;

    fn initial() -> Phase {
        Phase::Pending
    }
}

impl State<Chart> for Phase {
    fn call_handler(&mut self, _: &mut Chart, signal: &Signal, _: &mut Draft<'_>) -> Outcome<Phase> {
        let to = signal.reason.phase();
        match (*self, to) {
            (Phase::Terminating, _) => Handled,
            // shared edges belong to the superstates; to stay is an edge to itself, see `step`
            (_, Phase::Terminating | Phase::Paused | Phase::Pending) => Super,
            (_, Phase::Provisioning | Phase::Ready) => Transition(to),
        }
    }

    fn call_entry_action(&mut self, _: &mut Chart, draft: &mut Draft<'_>) {
        match self {
            Phase::Pending | Phase::Ready | Phase::Paused => {}
            Phase::Provisioning => work::provision(draft.seen, &mut draft.effects),
            Phase::Terminating => work::terminate(draft.seen, &mut draft.effects),
        }
    }

    fn superstate(&mut self) -> Option<Group> {
        match self {
            Phase::Pending | Phase::Provisioning | Phase::Ready => Some(Group::Active),
            Phase::Paused => Some(Group::Alive),
            Phase::Terminating => None,
        }
    }
}

impl Superstate<Chart> for Group {
    fn call_handler(&mut self, _: &mut Chart, signal: &Signal, _: &mut Draft<'_>) -> Outcome<Phase> {
        match (self, signal.reason.phase()) {
            (Group::Active, to @ (Phase::Paused | Phase::Pending)) => Transition(to),
            // un-paused into a blocker
            (Group::Alive, to @ (Phase::Terminating | Phase::Pending)) => Transition(to),
            _ => Super,
        }
    }

    fn call_entry_action(&mut self, _: &mut Chart, draft: &mut Draft<'_>) {
        if matches!(self, Group::Active) {
            work::hold_finalizer(draft.seen, &mut draft.effects);
        }
    }

    fn superstate(&mut self) -> Option<Group> {
        match self {
            Group::Active => Some(Group::Alive),
            Group::Alive => None,
        }
    }
}

/// The whole decision: from what is recorded and what is seen to what is owed. `now` stamps the record of an edge.
pub fn step(recorded: Option<&WorkloadStatus>, seen: &Observation, now: DateTime<Utc>) -> Plan {
    let signal = kept(recorded, classify(seen));
    let mut draft = Draft { seen, effects: Vec::new() };
    let mut phase = match recorded.map(|r| r.phase) {
        // a Terminating on a living Provider came out of a backup: nobody left it by an edge
        Some(Phase::Terminating) if seen.deletion == Deletion::No => Chart::initial(),
        recorded => recorded.unwrap_or_else(Chart::initial),
    };
    if let Transition(next) = phase.handle(&mut Chart, &signal, &mut draft) {
        phase = next;
    }
    // work belongs to phases: every level is entered anew, whatever was recorded (I8)
    let depth = phase.depth();
    phase.enter(&mut Chart, &mut draft, depth);

    let mut effects = draft.effects;
    let works = !effects.is_empty();
    let edge = WorkloadStatus::edge(recorded, &signal, now);
    let status = WorkloadStatus::due(recorded, &signal, seen, edge.as_ref(), now);
    // a Provider that goes with its finalizer needs no last words; one that others hold gets them in the next step
    let last_words = edge.is_none() && effects.contains(&Effect::ReleaseFinalizer);
    effects.extend(edge.map(|e| Effect::Announce(Box::new(e))));
    effects.extend(status.filter(|_| !last_words).map(|s| Effect::ReportWorkload(Box::new(s))));
    effects.sort_by_key(Effect::rank);
    let wake = wake(seen, &signal, works);
    Plan::new(phase, signal, effects, wake)
}

/// Within Provisioning, a reading of RollingOut does not replace the recorded reason why the phase was entered.
fn kept(recorded: Option<&WorkloadStatus>, signal: Signal) -> Signal {
    use Reason::{ClassChanged, Creating, DriftDetected, RollingOut, SpecChanged};
    match recorded {
        Some(WorkloadStatus { reason: Some(reason), message, .. })
            if signal.reason == RollingOut
                && matches!(reason, Creating | ClassChanged | SpecChanged | DriftDetected) =>
        {
            Signal { reason: *reason, message: message.clone().unwrap_or_default() }
        }
        _ => signal,
    }
}

fn wake(seen: &Observation, signal: &Signal, works: bool) -> Wake {
    match (&seen.halt, signal.reason) {
        _ if works => Wake::Again,
        (Some(super::Halt { waiting: Some(rest), .. }), _) if signal.reason != Reason::WorkloadAvailable => {
            Wake::HoldOver(*rest)
        }
        (_, Reason::NameConflict) => Wake::NameConflict,
        _ if !seen.old_pods.is_empty() && signal.reason.phase() != Phase::Paused => Wake::PodsGone,
        _ if seen.rollout == super::Rollout::Progressing && signal.reason.phase() == Phase::Provisioning => {
            Wake::PodsSettle
        }
        _ => Wake::Slow,
    }
}
