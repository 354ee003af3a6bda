//! Every observation of the lattice times every prior phase: the invariants, and agreement with the oracle.
use super::fixture::*;
use super::oracle;
use crate::fsm::diagram::Edges;
use crate::fsm::*;
use std::collections::{BTreeMap, BTreeSet};

/// What a planner decides, as data that a seeded defect can spoil.
#[derive(Clone, Debug)]
pub(super) struct Decision {
    pub phase: Phase,
    pub reason: Reason,
    pub effects: Vec<Effect>,
}

impl Decision {
    /// What is owed beside the records.
    fn owed(&self) -> Vec<&Effect> {
        self.effects.iter().filter(|effect| !effect.is_record()).collect()
    }
}

/// A planner under test: the shipped one, or one with a defect.
pub(super) type Planner = fn(Option<&WorkloadStatus>, &Observation) -> Decision;

/// The shipped planner.
pub(super) fn shipped(recorded: Option<&WorkloadStatus>, seen: &Observation) -> Decision {
    let plan = step(recorded, seen, noon());
    Decision { phase: plan.phase(), reason: plan.signal().reason, effects: plan.effects().to_vec() }
}

/// The laws of what is read and in which order it is carried out.
fn laws(decision: &Decision, (read, why): (Phase, Reason)) -> [(&'static str, bool); 4] {
    let Decision { phase, reason, effects } = decision;
    let kept = why == Reason::RollingOut && *phase == Phase::Provisioning;
    [
        ("one phase", *phase == read),
        ("one reason", kept || *reason == why),
        ("order law", effects.is_sorted_by_key(Effect::rank)),
        ("I10", effects.iter().filter(|e| matches!(e, Effect::Announce(_))).count() <= 1),
    ]
}

/// The laws of what is owed beside the records.
fn laws_of_work(phase: Phase, owed: &[&Effect], seen: &Observation) -> [(&'static str, bool); 7] {
    let creates = owed.iter().any(|e| matches!(e, Effect::Apply(..)));
    let held = seen.finalizer || owed.first() == Some(&&Effect::HoldFinalizer);
    let untouchable = |object: &ObjectRef| {
        let foreign = |w: &&Wanted| matches!(w.sight, Sight::Foreign | Sight::Earlier);
        seen.wanted.iter().filter(foreign).any(|w| w.object == *object)
    };
    let touches = owed.iter().any(|e| match e {
        Effect::Apply(part, _) => seen.wanted.iter().any(|w| w.object.part == *part && untouchable(&w.object)),
        Effect::Delete(doomed) => seen.strays.iter().all(|s| s.uid != doomed.uid) && untouchable(&doomed.object),
        _ => false,
    });
    let due = every_effect(seen).iter().filter(|e| oracle::owes(seen, e)).count();
    [
        ("I1", held || !creates),
        ("I2", !owed.contains(&&Effect::ReleaseFinalizer) || seen.strays.iter().all(|s| s.owned)),
        ("I3", phase != Phase::Paused || owed.is_empty()),
        ("I4", seen.deletion == Deletion::No || !creates),
        ("I7", !touches),
        ("nothing else is owed", owed.iter().all(|e| oracle::owes(seen, e))),
        ("all of it is owed", owed.len() == due),
    ]
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

/// How many observations and steps a sweep was, and an example of each law that was broken.
#[derive(Debug, Default)]
pub(super) struct Swept {
    pub observations: usize,
    pub steps: usize,
    pub broken: BTreeMap<&'static str, String>,
    /// The plans that differ in what is owed, by kinds of effect and object.
    pub plans: BTreeSet<u64>,
    /// The changes of phase that were taken. A Terminating that was recorded of what lives was taken by nobody.
    pub edges: Edges,
}

impl Swept {
    fn took(&mut self, prior: Option<&WorkloadStatus>, seen: &Observation, effects: &[Effect]) {
        let kind = |effect: &Effect| match effect {
            Effect::HoldFinalizer => 1,
            Effect::Apply(part, mode) => 2 + 2 * *part as u64 + u64::from(*mode == Mode::Change),
            Effect::Delete(doomed) => 12 + doomed.object.part as u64,
            Effect::Announce(_) => 17,
            Effect::ReportWorkload(_) => 18,
            Effect::ReleaseFinalizer => 19,
        };
        self.plans.insert(effects.iter().fold(0, |sum, effect| sum * 20 + kind(effect)));
        let restored = prior.is_some_and(|p| p.phase == Phase::Terminating) && seen.deletion == Deletion::No;
        for effect in effects.iter().filter(|_| !restored) {
            if let Effect::Announce(edge) = effect
                && edge.entry.from != Some(edge.entry.to)
            {
                self.edges.entry((edge.entry.from, edge.entry.to)).or_default().insert(edge.entry.reason);
            }
        }
    }

    fn told(&self) -> String {
        format!("swept {} observations in {} steps: {} plans", self.observations, self.steps, self.plans.len())
    }
}

/// Visits every `stride`-th observation.
pub(super) fn sweep(stride: usize, planner: Planner) -> Swept {
    let (mut index, mut swept, priors) = (0usize, Swept::default(), priors());
    let mut visit = |seen: &Observation| {
        index += 1;
        if !index.is_multiple_of(stride) {
            return;
        }
        swept.observations += 1;
        let (read, mut before) = (oracle::read(seen), None::<Decision>);
        for prior in &priors {
            swept.steps += 1;
            let decision = planner(prior.as_ref(), seen);
            let owed = decision.owed();
            let mut broken: Vec<_> = laws(&decision, read).into_iter().filter(|(_, holds)| !holds).collect();
            // what is owed is looked at once: the prior changes nothing of it
            if before.as_ref().is_none_or(|before| before.owed() != owed) {
                broken.extend(before.is_some().then_some(("I8", false)));
                broken.extend(laws_of_work(decision.phase, &owed, seen).into_iter().filter(|(_, holds)| !holds));
            }
            for (law, _) in broken {
                swept.broken.entry(law).or_insert_with(|| format!("{prior:?}\n{seen:?}\n{decision:?}"));
            }
            swept.took(prior.as_ref(), seen, &decision.effects);
            before = Some(decision);
        }
    };
    living(&mut visit);
    blocked(&mut visit);
    leaving(&mut visit);
    swept
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
                for cause in [Cause::Creating, Cause::ClassChanged, Cause::SpecChanged, Cause::Drift] {
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
    let swept = sweep(199, shipped);
    assert!(swept.broken.is_empty(), "{:#?}", swept.broken);
    println!("{}", swept.told());
    let known = diagram::edges();
    let taken = |(edge, reasons): (&_, &BTreeSet<_>)| known.get(edge).is_some_and(|all| reasons.is_subset(all));
    assert!(swept.edges.iter().all(taken), "an edge that the diagram lacks: {:?}", swept.edges);
    assert!(swept.observations > 15_000, "{}", swept.observations);
}

#[test]
#[ignore = "long: every observation, in release (make test-long)"]
fn every_observation_and_every_prior() {
    let swept = sweep(1, shipped);
    assert!(swept.broken.is_empty(), "{:#?}", swept.broken);
    println!("{}", swept.told());
    assert_eq!(swept.edges, diagram::edges(), "the diagram is what is taken");
    assert!(swept.steps > 18_000_000, "{}", swept.steps);
}
