//! Interleavings: the shipped planner in an explicit-state search with a user, the collector, the Deployment controller
//! and operators that see the past. Every law in every state that can be reached.
use super::fixture::noon;
use crate::fsm::*;
use std::collections::{HashSet, VecDeque};

/// An object of the search: which part of which class's workload, made for which Provider.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
struct Stored {
    part: Part,
    backend: u8,
    uid: u8,
    stamp: u8,
    body: u8,
}

impl Stored {
    /// Garbage collection reaches all but the ClusterRoleBinding.
    fn owned(&self) -> bool {
        self.part != Part::ClusterRoleBinding
    }
}

/// What the API server holds of one Provider name.
#[derive(Clone, Debug, Default, Eq, Hash, PartialEq)]
struct World {
    /// The uid of the Provider, 0 where there is none.
    provider: u8,
    deleting: bool,
    finalizer: bool,
    paused: bool,
    backend: u8,
    revision: u8,
    status: Option<(Phase, Reason)>,
    objects: Vec<Stored>,
    /// Pods: the uid of their Deployment, and of the Provider they serve.
    pods: Vec<(u8, u8)>,
    next: u8,
}

/// An operator: what it saw, and what of its plan is still to be done.
#[derive(Clone, Debug, Default, Eq, Hash, PartialEq)]
struct Hand {
    view: World,
    plan: Vec<Step>,
}

/// An effect, without what only people read.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
enum Step {
    Hold,
    Create(Part),
    Change(Part),
    Delete(u8),
    Report(Phase, Reason),
    Release,
}

#[derive(Clone, Debug, Default, Eq, Hash, PartialEq)]
struct State {
    world: World,
    hands: Vec<Hand>,
    /// How much the user may still do.
    budget: u8,
    /// A finalizer was accepted and lost to a delete at the same time: the one exception (design, section 5).
    raced: bool,
}

fn address(part: Part, backend: u8) -> ObjectRef {
    let namespace = (part != Part::ClusterRoleBinding).then(|| "n".to_owned());
    ObjectRef { part, namespace, name: format!("b{backend}") }
}

impl World {
    fn at(&self, part: Part, backend: u8) -> Option<&Stored> {
        self.objects.iter().find(|o| o.part == part && o.backend == backend)
    }

    fn observe(&self) -> Observation {
        let ours = |o: &&Stored| o.stamp == self.provider;
        let sight = |part| match self.at(part, self.backend) {
            None => Sight::Absent,
            Some(o) if o.stamp != self.provider => Sight::Earlier,
            Some(o) if o.body != self.revision => Sight::Drifted(vec![]),
            Some(_) => Sight::Matching,
        };
        let parts: &[Part] = if self.deleting { &[] } else { &Part::ALL };
        let wanted: Vec<Wanted> =
            parts.iter().map(|&p| Wanted { object: address(p, self.backend), sight: sight(p) }).collect();
        let stray = |o: &Stored| Stray {
            object: address(o.part, o.backend),
            uid: o.uid.to_string(),
            owned: o.owned(),
            terminating: false,
        };
        let unwanted = |o: &&Stored| self.deleting || o.backend != self.backend;
        let strays = self.objects.iter().filter(ours).filter(unwanted).map(stray).collect();
        let deployment = self.at(Part::Deployment, self.backend).filter(ours).map(|o| o.uid);
        let mine = || self.pods.iter().filter(|(_, serves)| *serves == self.provider);
        let old = |(by, _): &&(u8, u8)| !self.deleting && Some(*by) != deployment;
        Observation {
            deletion: if self.deleting { Deletion::Requested } else { Deletion::No },
            finalizer: self.finalizer,
            paused: if self.paused { Paused::ByProvider } else { Paused::No },
            rollout: if mine().any(|(by, _)| Some(*by) == deployment) {
                Rollout::Available
            } else {
                Rollout::default()
            },
            old_pods: mine().filter(old).map(|(by, _)| by.to_string()).collect(),
            cause: Cause::Drift,
            wanted,
            strays,
            ..Default::default()
        }
    }

    fn plan(&self) -> Vec<Step> {
        let recorded =
            self.status.map(|(phase, reason)| WorkloadStatus { phase, reason: Some(reason), ..Default::default() });
        let plan = step(recorded.as_ref(), &self.observe(), noon());
        let step = |effect: &Effect| match effect {
            Effect::HoldFinalizer => Some(Step::Hold),
            Effect::Apply(part, Mode::Create) => Some(Step::Create(*part)),
            Effect::Apply(part, Mode::Change) => Some(Step::Change(*part)),
            Effect::Delete(doomed) => doomed.uid.parse().ok().map(Step::Delete),
            Effect::ReportWorkload(status) => Some(Step::Report(status.phase, status.reason?)),
            Effect::ReleaseFinalizer => Some(Step::Release),
            Effect::Announce(_) => None,
        };
        // a status that would only tell the same again is no news here: messages are left out of the state
        let steps = plan.effects().iter().filter_map(step);
        steps.filter(|s| !matches!(s, Step::Report(p, r) if self.status == Some((*p, *r)))).collect()
    }

    /// Carries one step out as the server guards it, for an operator that saw `view`. An error ends the walk.
    fn carry_out(&mut self, view: &World, step: Step) -> Result<(), ()> {
        let same = self.provider == view.provider && self.provider != 0;
        match step {
            Step::Hold if same && !self.deleting => self.finalizer = true,
            Step::Create(part) if self.at(part, view.backend).is_none() => {
                self.next += 1;
                let (uid, stamp, body) = (self.next, view.provider, view.revision);
                self.objects.push(Stored { part, backend: view.backend, uid, stamp, body });
            }
            Step::Change(part) => {
                let seen = view.at(part, view.backend).ok_or(())?;
                let stored = self.objects.iter_mut().find(|o| o.uid == seen.uid).ok_or(())?;
                assert_eq!(stored.stamp, view.provider, "I7: a change of what is not ours");
                stored.body = view.revision;
            }
            Step::Delete(uid) => {
                let foreign = |o: &Stored| o.uid == uid && o.stamp != view.provider;
                assert!(!self.objects.iter().any(foreign), "I7: a delete of what is not ours");
                self.objects.retain(|o| o.uid != uid);
            }
            Step::Report(phase, reason) if same => self.status = Some((phase, reason)),
            Step::Release if same && self.finalizer => {
                self.finalizer = false;
                if self.deleting {
                    self.end();
                }
            }
            _ => return Err(()),
        }
        Ok(())
    }

    fn end(&mut self) {
        let World { objects, pods, next, .. } = std::mem::take(self);
        (self.objects, self.pods, self.next) = (objects, pods, next);
    }

    /// The collector and the Deployment controller, as far as they get at once.
    fn settle(&mut self) {
        let live = self.provider;
        self.objects.retain(|o| o.stamp == live || !o.owned());
        let objects = &self.objects;
        self.pods.retain(|(by, _)| objects.iter().any(|o| o.uid == *by));
        for o in self.objects.iter().filter(|o| o.part == Part::Deployment) {
            if self.pods.iter().all(|(by, _)| *by != o.uid) {
                self.pods.push((o.uid, o.stamp));
            }
        }
    }
}

impl State {
    /// Everything that may happen next.
    fn next(&self) -> Vec<State> {
        let mut all = Vec::new();
        let mut push = |change: &dyn Fn(&mut State)| {
            let mut next = self.clone();
            change(&mut next);
            if next != *self {
                all.push(next);
            }
        };
        push(&|s| s.world.settle());
        // the sweep: what is stamped for a Provider that is gone
        push(&|s| {
            let live = s.world.provider;
            s.world.objects.retain(|o| o.stamp == live);
        });
        if self.budget > 0 {
            let user = |change: &dyn Fn(&mut World), s: &mut State| {
                s.budget -= 1;
                change(&mut s.world);
            };
            if self.world.provider == 0 {
                push(&|s| {
                    user(
                        &|w| {
                            w.next += 1;
                            w.provider = w.next;
                            w.revision = 1;
                        },
                        s,
                    )
                });
            } else if !self.world.deleting {
                push(&|s| user(&|w| w.paused = !w.paused, s));
                push(&|s| user(&|w| w.revision = 3 - w.revision, s));
                push(&|s| user(&|w| w.backend = 1 - w.backend, s));
                push(&|s| user(&|w| if w.finalizer { w.deleting = true } else { w.end() }, s));
            }
        }
        for at in 0..self.hands.len() {
            // a look: the plan is made from what is seen now, and carried out while the world goes on
            push(&|s| {
                let view = s.world.clone();
                let plan = if view.provider == 0 { vec![] } else { view.plan() };
                s.hands[at] = Hand { view, plan };
            });
            // what our own writes answered is believed before a watch has told otherwise
            if self.raced && self.hands[at].plan.is_empty() && self.hands[at].view.provider != 0 {
                push(&|s| {
                    let mut view = s.hands[at].view.clone();
                    let ours = |o: &&Stored| o.stamp == view.provider;
                    view.objects = s.world.objects.iter().filter(ours).copied().collect();
                    let plan = view.plan();
                    s.hands[at] = Hand { view, plan };
                });
            }
            if let Some(&step) = self.hands[at].plan.first() {
                push(&|s| {
                    let Hand { view, mut plan } = std::mem::take(&mut s.hands[at]);
                    plan.remove(0);
                    let done = s.world.carry_out(&view, step);
                    s.hands[at] = Hand { view, plan: if done.is_ok() { plan } else { vec![] } };
                });
                // the race: the patch is accepted, and the object is gone all the same
                if step == Step::Hold && self.world.provider == 0 && !self.raced {
                    push(&|s| {
                        s.raced = true;
                        s.hands[at].view.finalizer = true;
                        s.hands[at].plan.remove(0);
                    });
                }
                // a crash
                push(&|s| s.hands[at] = Hand::default());
            }
        }
        all
    }

    fn check(&self) {
        let world = &self.world;
        let serves = |(_, serves): &&(u8, u8)| *serves == world.provider;
        assert!(world.pods.iter().filter(serves).count() <= 1, "one writer at a time: {self:?}");
        let grants = |o: &&Stored| !o.owned() && o.stamp == world.provider;
        let alone = self.hands.len() == 1 && !self.raced;
        if alone && world.provider != 0 && world.objects.iter().any(|o| grants(&o)) {
            assert!(world.finalizer, "I1: a grant without the finalizer: {self:?}");
        }
        if alone && world.provider == 0 {
            assert!(world.objects.iter().all(Stored::owned), "a grant outlived its Provider: {self:?}");
        }
    }
}

/// Breadth first, up to `limit` states; returns how many there were, and whether a grant ever outlived its Provider.
fn search(hands: usize, budget: u8, limit: usize) -> (usize, bool) {
    let start = State { hands: vec![Hand::default(); hands], budget, ..Default::default() };
    let (mut seen, mut queue, mut leaked) = (HashSet::from([start.clone()]), VecDeque::from([start]), false);
    while let Some(state) = queue.pop_front() {
        state.check();
        leaked |= state.world.provider == 0 && state.world.objects.iter().any(|o| !o.owned());
        for next in state.next() {
            if seen.len() < limit && seen.insert(next.clone()) {
                queue.push_back(next);
            }
        }
    }
    (seen.len(), leaked)
}

#[test]
fn one_operator_with_a_stale_view() {
    let (states, leaked) = search(1, 4, 60_000);
    println!("searched {states} states");
    assert!(leaked, "the documented race must show");
}

#[test]
#[ignore = "long: millions of states, in release (make test-long)"]
fn one_and_two_operators() {
    let one = search(1, 6, 3_000_000);
    let two = search(2, 3, 3_000_000);
    println!("searched {one:?} states with one operator, {two:?} with two");
    assert!(one.0 + two.0 > 1_000_000, "{one:?} {two:?}");
}
