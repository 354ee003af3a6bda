//! Every observation of the lattice times every prior phase: the invariants, and agreement with the oracle.
use super::fixture::*;
use super::oracle;
use crate::fsm::*;

/// What an invariant says of one plan.
fn check(recorded: Option<&WorkloadStatus>, seen: &Observation) -> Vec<Effect> {
    let plan = step(recorded, seen, noon());
    let (phase, reason) = oracle::read(seen);
    let context = || format!("{recorded:?}\n{seen:?}\n{plan:?}");
    let kept = reason == Reason::RollingOut && plan.signal().reason != reason;
    assert_eq!(plan.phase(), phase, "one phase, the oracle's: {}", context());
    assert!(kept || plan.signal().reason == reason, "one reason, the oracle's: {}", context());
    let (records, owed): (Vec<Effect>, Vec<Effect>) = plan.effects().iter().cloned().partition(Effect::is_record);
    assert!(plan.effects().is_sorted_by_key(Effect::rank), "order law: {}", context());
    assert!(records.len() <= 2, "I10: {}", context());
    assert!(owed.iter().all(|e| oracle::owes(seen, e)), "owed by the oracle: {}", context());
    let every = every_effect(seen);
    let due = every.iter().filter(|e| oracle::owes(seen, e)).count();
    assert_eq!(owed.len(), due, "all that the oracle owes: {}", context());
    let creates = |e: &&Effect| matches!(e, Effect::Apply(..));
    let held = seen.finalizer || owed.first() == Some(&Effect::HoldFinalizer);
    assert!(held || owed.iter().find(creates).is_none(), "I1: {}", context());
    if owed.contains(&Effect::ReleaseFinalizer) {
        assert!(seen.strays.iter().all(|s| s.owned) && seen.old_pods.is_empty(), "I2: {}", context());
    }
    assert!(phase != Phase::Paused || owed.is_empty(), "I3: {}", context());
    assert!(phase != Phase::Terminating || owed.iter().find(creates).is_none(), "I4: {}", context());
    for foreign in seen.wanted.iter().filter(|w| matches!(w.sight, Sight::Foreign | Sight::Earlier)) {
        let touches = |e: &&Effect| match e {
            Effect::Apply(part, _) => *part == foreign.object.part,
            Effect::Delete(doomed) => {
                seen.strays.iter().all(|s| s.uid != doomed.uid) && doomed.object == foreign.object
            }
            _ => false,
        };
        assert!(owed.iter().find(touches).is_none(), "I7: {}", context());
    }
    owed
}

/// Every effect that any plan could name here.
fn every_effect(seen: &Observation) -> Vec<Effect> {
    let mut all = vec![Effect::HoldFinalizer, Effect::ReleaseFinalizer];
    for part in Part::ALL {
        all.extend([Effect::Apply(part, Mode::Create), Effect::Apply(part, Mode::Change)]);
    }
    let doomed = |object: &ObjectRef, uid: &str| Effect::Delete(Doomed { object: object.clone(), uid: uid.into() });
    all.extend(seen.strays.iter().map(|s| doomed(&s.object, &s.uid)));
    all.extend(seen.wanted.iter().filter_map(|w| match &w.sight {
        Sight::Unchangeable { uid, .. } => Some(doomed(&w.object, uid)),
        _ => None,
    }));
    all
}

fn sights() -> [Sight; 7] {
    let fields = vec!["roleRef".into()];
    let unchangeable = Sight::Unchangeable { uid: "old".into(), fields };
    [Sight::Matching, Sight::Absent, drifted(), unchangeable, Sight::Foreign, Sight::Earlier, Sight::Terminating]
}

fn rollouts() -> Vec<Rollout> {
    let failed = |f| Rollout::Failed(f, "words".into());
    use Failure::*;
    let mut all = vec![Rollout::Progressing, Rollout::ScaledToZero, Rollout::Available, Rollout::Waiting("w".into())];
    all.extend([ImagePull, CrashLoop, Unschedulable, PodsRefused, Deadline].map(failed));
    all
}

fn halts() -> Vec<Option<Halt>> {
    let due = |fault| halted(fault).map(|h| Halt { waiting: None, ..h });
    vec![None, halted(Fault::Refused), halted(Fault::Transport), due(Fault::Refused)]
}

fn priors() -> Vec<Option<WorkloadStatus>> {
    use Reason::*;
    let mut all = vec![None];
    all.extend(
        [ClassNotFound, Creating, ImagePullFailed, WorkloadAvailable, ProviderPaused, DeletionRequested]
            .map(|r| Some(recorded(r))),
    );
    all
}

/// Visits every `stride`-th observation, and returns how many observations and steps that were.
fn sweep(stride: usize) -> (usize, usize) {
    let (mut index, mut seen_count, mut steps) = (0usize, 0usize, 0usize);
    let priors = priors();
    let mut visit = |seen: &Observation| {
        index += 1;
        if !index.is_multiple_of(stride) {
            return;
        }
        seen_count += 1;
        let mut owed: Option<Vec<Effect>> = None;
        for prior in &priors {
            steps += 1;
            let now = check(prior.as_ref(), seen);
            assert!(owed.as_ref().is_none_or(|before| *before == now), "I8: {prior:?}\n{seen:?}");
            owed = Some(now);
        }
    };
    living(&mut visit);
    blocked(&mut visit);
    leaving(&mut visit);
    (seen_count, steps)
}

/// A usable class: every look of the five, with strays, old pods and halts.
fn living(visit: &mut impl FnMut(&Observation)) {
    let gone = |part| Stray { object: ObjectRef { name: "old".into(), ..object(part) }, ..stray(part) };
    let strays = [
        vec![],
        vec![gone(Part::Deployment), gone(Part::Role)],
        vec![gone(Part::ClusterRoleBinding)],
        vec![Stray { terminating: true, ..gone(Part::Deployment) }],
    ];
    let sights = sights();
    for code in 0..sights.len().pow(5) {
        let mut seen = alive(|part| sights[code / sights.len().pow(part as u32) % sights.len()].clone());
        for (strays, pods) in strays.iter().flat_map(|s| [(s, vec![]), (s, vec!["prod/x".to_owned()])]) {
            (seen.strays, seen.old_pods) = (strays.clone(), pods);
            for halt in halts() {
                seen.halt = halt;
                for cause in [Cause::Creating, Cause::ClassChanged, Cause::Drift] {
                    seen.cause = cause;
                    for finalizer in [true, false] {
                        seen.finalizer = finalizer;
                        visit(&seen);
                    }
                }
            }
        }
    }
}

/// Every blocker and pause against every rollout, over the plainer looks of the five.
fn blocked(visit: &mut impl FnMut(&Observation)) {
    let words = || "words".to_owned();
    let classes = [
        Class::Usable,
        Class::Absent,
        Class::Invalid(words()),
        Class::NotCompiled(words()),
        Class::EndpointInvalid(words()),
    ];
    for base in [ready(), new(), but(Part::Role, drifted()), but(Part::ClusterRoleBinding, Sight::Foreign)] {
        for (class, place) in classes
            .iter()
            .flat_map(|c| [Place::There, Place::Missing(words()), Place::Terminating(words())].map(|p| (c.clone(), p)))
        {
            for paused in [Paused::No, Paused::ByProvider, Paused::ByClass] {
                for rollout in rollouts() {
                    for (fence, halt) in
                        halts().into_iter().flat_map(|h| [(Fence::Closed, h.clone()), (Fence::Open, h)])
                    {
                        let (class, place, rollout) = (class.clone(), place.clone(), rollout.clone());
                        visit(&Observation { class, place, paused, rollout, fence, halt, ..base.clone() });
                    }
                }
            }
        }
    }
}

/// Deletion: every remainder of the five, with every state of the rest that must not matter.
fn leaving(visit: &mut impl FnMut(&Observation)) {
    for code in 0..4usize.pow(5) {
        let strays = Part::ALL.into_iter().filter_map(|part| match code / 4usize.pow(part as u32) % 4 {
            0 => None,
            1 => Some(stray(part)),
            2 => Some(Stray { terminating: true, ..stray(part) }),
            _ => Some(Stray { owned: true, ..stray(part) }),
        });
        let base = deleting(strays.collect());
        for deletion in [Deletion::Requested, Deletion::Orphaning] {
            for (paused, class) in
                [(Paused::No, Class::Usable), (Paused::ByProvider, Class::Absent), (Paused::ByClass, Class::Usable)]
            {
                for halt in halts() {
                    for (finalizer, pods) in [(true, vec![]), (true, vec!["prod/x".to_owned()]), (false, vec![])] {
                        let (class, halt) = (class.clone(), halt.clone());
                        let seen =
                            Observation { deletion, paused, class, halt, finalizer, old_pods: pods, ..base.clone() };
                        visit(&seen);
                    }
                }
            }
        }
    }
}

#[test]
fn a_sample_of_every_observation_and_every_prior() {
    let (observations, steps) = sweep(199);
    println!("swept {observations} observations, {steps} steps");
    assert!(observations > 15_000, "{observations}");
}

#[test]
#[ignore = "long: every observation, in release (make test-long)"]
fn every_observation_and_every_prior() {
    let (observations, steps) = sweep(1);
    println!("swept {observations} observations, {steps} steps");
    assert!(steps > 18_000_000, "{steps}");
}
