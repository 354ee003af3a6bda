//! Tests of the tests: planners with a defect, each caught by the law it breaks.
use super::sweep::{Decision, Planner, shipped, sweep};
use crate::fsm::*;

fn spoil(
    recorded: Option<&WorkloadStatus>,
    seen: &Observation,
    change: impl FnOnce(&mut Decision, Option<&WorkloadStatus>),
) -> Decision {
    let mut decision = shipped(recorded, seen);
    change(&mut decision, recorded);
    decision
}

/// The defect, the law that catches it, and the planner that has it.
const DEFECTS: &[(&str, &str, Planner)] = &[
    ("finalizer late", "order law", |r, o| {
        spoil(r, o, |d, _| {
            if d.effects.first() == Some(&Effect::HoldFinalizer) {
                d.effects.rotate_left(1);
            }
        })
    }),
    ("finalizer never", "I1", |r, o| spoil(r, o, |d, _| d.effects.retain(|e| *e != Effect::HoldFinalizer))),
    ("binding released early", "I2", |r, o| {
        spoil(r, o, |d, _| {
            if d.phase == Phase::Terminating && o.finalizer {
                d.effects = vec![Effect::ReleaseFinalizer];
            }
        })
    }),
    ("foreign adopted", "I7", |r, o| {
        spoil(r, o, |d, _| {
            if d.reason == Reason::NameConflict {
                d.effects = o.wanted.iter().map(|w| Effect::Apply(w.object.part, Mode::Change)).collect();
                if !o.finalizer {
                    d.effects.insert(0, Effect::HoldFinalizer);
                }
            }
        })
    }),
    ("refused never retried", "one phase", |r, o| {
        let stuck = o.halt.as_ref().is_some_and(|h| h.fault == Fault::Refused);
        let halt = o.halt.clone().map(|h| Halt { waiting: Some(std::time::Duration::from_secs(1)), ..h });
        shipped(r, &if stuck { Observation { halt, ..o.clone() } } else { o.clone() })
    }),
    ("hot loop while held", "nothing else is owed", |r, o| {
        let halt = o.halt.clone().filter(|h| h.fault.blocks());
        shipped(r, &Observation { halt, ..o.clone() })
    }),
    ("write while paused", "I3", |r, o| {
        spoil(r, o, |d, _| {
            if d.phase == Phase::Paused {
                d.effects.insert(0, Effect::HoldFinalizer);
            }
        })
    }),
    ("phase from memory", "one phase", |r, o| {
        spoil(r, o, |d, r| {
            if let Some(r) = r {
                d.phase = r.phase;
            }
        })
    }),
    ("owed from memory", "I8", |r, o| {
        spoil(r, o, |d, r| {
            if r.is_some_and(|r| r.phase == Phase::Pending)
                && o.halt.is_none()
                && d.phase == Phase::Paused
                && !o.finalizer
            {
                d.effects.clear()
            }
            if r.is_none() && d.phase == Phase::Paused {
                d.effects.clear()
            }
            if r.is_some_and(|r| r.phase == Phase::Ready) {
                d.effects.retain(Effect::is_record)
            }
        })
    }),
    ("create while terminating", "I4", |r, o| {
        spoil(r, o, |d, _| {
            if d.phase == Phase::Terminating {
                d.effects.insert(0, Effect::Apply(Part::Role, Mode::Create));
            }
        })
    }),
    ("order broken", "order law", |r, o| spoil(r, o, |d, _| d.effects.reverse())),
    ("grant after the account", "nothing else is owed", |r, o| {
        spoil(r, o, |d, _| {
            let doomed = |s: &Stray| Effect::Delete(Doomed { object: s.object.clone(), uid: s.uid.clone() });
            if d.phase == Phase::Terminating && o.finalizer && o.deletion == Deletion::Requested {
                let account =
                    o.strays.iter().find(|s| s.object.part == Part::ServiceAccount && !s.terminating && !s.owned);
                if let Some(account) = account {
                    d.effects = vec![doomed(account)];
                }
            }
        })
    }),
    ("two writers", "nothing else is owed", |r, o| shipped(r, &Observation { old_pods: vec![], ..o.clone() })),
    ("two events", "I10", |r, o| {
        spoil(r, o, |d, _| {
            if let Some(at) = d.effects.iter().position(|e| matches!(e, Effect::Announce(_))) {
                let again = d.effects[at].clone();
                d.effects.insert(at, again);
            }
        })
    }),
];

#[test]
fn every_seeded_defect_is_caught_by_its_law() {
    for (defect, law, planner) in DEFECTS {
        // sparse: a defect is caught by the thousandth part of what is there
        let broken = sweep(1999, *planner).broken;
        assert!(broken.contains_key(law), "{defect}: {:?}", broken.keys());
    }
}
