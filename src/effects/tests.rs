//! The walk: in order, each effect once, and where a failure leads.
use super::*;
use crate::fsm::{Deletion, ObjectRef, Observation, Sight, Stray, Wanted, step};
use futures::FutureExt;
use std::sync::Mutex;

/// A port that writes down what it is asked, and refuses one thing.
#[derive(Default)]
struct Notes {
    asked: Mutex<Vec<String>>,
    refuses: Option<String>,
}

impl Notes {
    fn note(&self, asked: String) -> Result<(), Refusal> {
        let refused = self.refuses.as_ref() == Some(&asked);
        self.asked.lock().expect("one thread").push(asked);
        if refused { Err(Refusal { fault: Fault::Refused, words: "no".into() }) } else { Ok(()) }
    }
}

impl Port for Notes {
    async fn hold_finalizer(&self) -> Result<(), Refusal> {
        self.note(Effect::HoldFinalizer.to_string())
    }
    async fn apply(&self, part: Part, mode: Mode) -> Result<(), Refusal> {
        self.note(Effect::Apply(part, mode).to_string())
    }
    async fn delete(&self, doomed: &Doomed) -> Result<(), Refusal> {
        self.note(Effect::Delete(doomed.clone()).to_string())
    }
    async fn announce(&self, edge: &Transition) -> Result<(), Refusal> {
        self.note(Effect::Announce(Box::new(edge.clone())).to_string())
    }
    async fn report(&self, status: &WorkloadStatus) -> Result<(), Refusal> {
        self.note(Effect::ReportWorkload(Box::new(status.clone())).to_string())
    }
    async fn release_finalizer(&self) -> Result<(), Refusal> {
        self.note(Effect::ReleaseFinalizer.to_string())
    }
}

fn walk<'p>(plan: &'p Plan, port: &Notes) -> Vec<Done<'p>> {
    execute(plan, port).now_or_never().expect("nothing is waited for")
}

fn object(part: Part) -> ObjectRef {
    ObjectRef { part, namespace: None, name: "o".into() }
}

/// A new Provider, one whose bindings are due, one that sheds an object, and one that goes: every kind of effect.
fn plans() -> Vec<Plan> {
    let wanted = |sight: fn(Part) -> Sight| Part::ALL.map(|p| Wanted { object: object(p), sight: sight(p) }).into();
    let stray = Stray { object: object(Part::Role), uid: "u".into(), owned: true, terminating: false };
    let born = Observation { wanted: wanted(|_| Sight::Absent), ..Default::default() };
    let account = |p| if p == Part::ServiceAccount { Sight::Matching } else { Sight::Drifted(vec![]) };
    let due = Observation { wanted: wanted(account), strays: vec![stray], finalizer: true, ..Default::default() };
    let going = Observation { deletion: Deletion::Requested, finalizer: true, ..Default::default() };
    [born, due, going].iter().map(|seen| step(None, seen, Default::default())).collect()
}

#[test]
fn each_effect_once_and_in_order() {
    let mut kinds = std::collections::BTreeSet::new();
    for plan in plans() {
        let port = Notes::default();
        let done = walk(&plan, &port);
        let owed: Vec<String> = plan.effects().iter().map(Effect::to_string).collect();
        assert_eq!(*port.asked.lock().expect("one thread"), owed);
        assert!(done.iter().map(|d| d.effect).eq(plan.effects()));
        assert!(done.iter().all(|d| d.result.is_ok() && !d.halts()));
        assert!(done.iter().all(|d| d.releases() == (*d.effect == Effect::ReleaseFinalizer)));
        kinds.extend(plan.effects().iter().map(Effect::rank));
    }
    assert_eq!(kinds.len(), 8, "every rank is walked");
}

#[test]
fn a_failure_of_the_work_ends_the_walk_and_one_of_a_record_does_not() {
    for plan in plans() {
        for effect in plan.effects() {
            let port = Notes { refuses: Some(effect.to_string()), ..Default::default() };
            let done = walk(&plan, &port);
            let failed: Vec<&Effect> = done.iter().filter(|d| d.result.is_err()).map(|d| d.effect).collect();
            assert_eq!(failed, [effect]);
            assert!(done.iter().all(|d| d.halts() == (d.effect == effect && !effect.is_record())));
            assert!(!done.iter().any(|d| d.releases() && d.effect == effect), "a failed release releases nothing");
            // others of its rank were under way already
            let last = if effect.is_record() { u8::MAX } else { effect.rank() };
            let tried: Vec<&Effect> = plan.effects().iter().filter(|e| e.rank() <= last).collect();
            assert_eq!(done.iter().map(|d| d.effect).collect::<Vec<_>>(), tried, "after {effect} failed");
        }
    }
}
