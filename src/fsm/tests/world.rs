//! [`World`]: one Provider name with its class, objects and pods on the model of the API server; what an operator sees of
//! it, plans for it and does to it.
use super::fixture::noon;
use super::server::{Address, Finalizer, Guard, Manager, Object, Piece, Propagation, Server, Uid};
use crate::fsm::*;
use std::collections::BTreeSet;

/// The piece that says which Provider an object was made for.
const STAMP: Piece = Piece::Field(0);
/// The piece that stands for the rest of the body.
const BODY: Piece = Piece::Field(1);

/// The Provider, or one of the objects of its two classes.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub(super) struct Key {
    /// `None` for the Provider.
    pub part: Option<Part>,
    pub backend: u8,
    pub away: bool,
}

/// The Provider.
pub(super) const PROVIDER: Key = Key { part: None, backend: 0, away: false };

impl Address for Key {
    fn namespace(&self) -> Option<&str> {
        (self.part != Some(Part::ClusterRoleBinding)).then_some(if self.away { "away" } else { "home" })
    }
}

/// A pod, the Deployment it is of, and the Provider it serves.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub(super) struct Pod {
    pub at: Key,
    pub of: Uid,
    pub serves: Uid,
}

/// An effect, without what only people read.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub(super) enum Step {
    Hold,
    Create(Part),
    Change(Part),
    Delete(Uid),
    Report(Phase, Reason),
    Release,
}

/// What there is of one Provider name.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub(super) struct World {
    pub server: Server<Key>,
    pub paused: bool,
    pub class: bool,
    /// 0 or 1: which class, and so which backend.
    pub backend: u8,
    /// Whether the class sends the workload elsewhere.
    pub away: bool,
    pub revision: u8,
    pub status: Option<(Phase, Reason)>,
    pub pods: Vec<Pod>,
}

impl World {
    /// A class, and no Provider yet.
    pub(super) fn new(away: bool) -> Self {
        let (server, status) = (Server::default(), None);
        Self { server, paused: false, class: true, backend: 0, away, revision: 1, status, pods: vec![] }
    }

    /// A person creates the Provider.
    pub(super) fn register(&mut self) {
        self.server.create(&PROVIDER, &[]).expect("there is none");
        (self.paused, self.status) = (false, None);
    }

    /// A person deletes the Provider.
    pub(super) fn delete(&mut self, propagation: Propagation) {
        self.server.delete(&PROVIDER, None, propagation).expect("it is there");
    }

    pub(super) fn provider(&self) -> Option<&Object> {
        self.server.get(&PROVIDER)
    }

    /// The uid of the Provider, 0 where there is none.
    pub(super) fn uid(&self) -> Uid {
        self.provider().map_or(0, |p| p.uid)
    }

    pub(super) fn finalizer(&self) -> bool {
        self.provider().is_some_and(|p| p.finalizers().contains(&Finalizer::Ours))
    }

    pub(super) fn deletion(&self) -> Deletion {
        match self.provider() {
            Some(p) if p.deleting && p.finalizers().contains(&Finalizer::Orphan) => Deletion::Orphaning,
            Some(p) if p.deleting => Deletion::Requested,
            _ => Deletion::No,
        }
    }

    pub(super) fn wanted(&self, part: Part) -> Key {
        let away = self.away && matches!(part, Part::ServiceAccount | Part::Deployment);
        Key { part: Some(part), backend: self.backend, away }
    }

    /// The objects that carry the stamp of the Provider of this uid.
    pub(super) fn stamped(&self, uid: Uid) -> impl Iterator<Item = (Key, &Object)> {
        let all = self.server.objects.iter().map(|(key, object)| (*key, &**object));
        all.filter(move |(key, o)| key.part.is_some() && o.value(STAMP) == Some(uid))
    }

    /// Those of them that garbage collection does not reach.
    pub(super) fn grants(&self, uid: Uid) -> usize {
        self.stamped(uid).filter(|(_, o)| !owned(o, uid)).count()
    }

    fn body(&self, part: Part) -> u32 {
        let account = || self.server.get(&self.wanted(Part::ServiceAccount)).map_or(0, |o| o.uid);
        u32::from(self.revision) * 1000 + if part == Part::Deployment { account() } else { 0 }
    }

    pub(super) fn observe(&self) -> Observation {
        let uid = self.uid();
        let deletion = self.deletion();
        let living = deletion == Deletion::No && self.class;
        let sight = |part: Part| match self.server.get(&self.wanted(part)).map(|o| (o, o.value(STAMP))) {
            None => Sight::Absent,
            Some((_, None)) => Sight::Foreign,
            Some((_, Some(stamp))) if stamp != uid => Sight::Earlier,
            Some((o, _)) if o.value(BODY) != Some(self.body(part)) => Sight::Drifted(vec!["body".into()]),
            Some(_) => Sight::Matching,
        };
        let parts: &[Part] = if living { &Part::ALL } else { &[] };
        let wanted: Vec<Key> = parts.iter().map(|part| self.wanted(*part)).collect();
        let strays: Vec<(Key, &Object)> = self.stamped(uid).filter(|(key, _)| !wanted.contains(key)).collect();
        let here = self.wanted(Part::Deployment);
        let expected = |pod: &Pod| {
            if living { pod.at == here } else { strays.iter().any(|(key, o)| *key == pod.at && owned(o, uid)) }
        };
        let mine = || self.pods.iter().filter(|pod| pod.serves == uid);
        let running = mine().any(|pod| pod.at == here);
        Observation {
            generation: 1,
            deletion,
            finalizer: self.finalizer(),
            paused: if self.paused { Paused::ByProvider } else { Paused::No },
            class: if self.class { Class::Usable } else { Class::Absent },
            rollout: if running { Rollout::Available } else { Rollout::Progressing },
            cause: Cause::ClassChanged,
            old_pods: mine().filter(|pod| !expected(pod)).map(|pod| pod.of.to_string()).collect(),
            strays: strays
                .iter()
                .map(|(key, o)| Stray {
                    object: address(*key),
                    uid: o.uid.to_string(),
                    owned: owned(o, uid),
                    terminating: o.deleting,
                })
                .collect(),
            wanted: parts.iter().map(|p| Wanted { object: address(self.wanted(*p)), sight: sight(*p) }).collect(),
            ..Default::default()
        }
    }

    /// What is owed. A status that would only tell the same again is no news here: messages are left out.
    pub(super) fn plan(&self) -> Vec<Step> {
        if self.provider().is_none() {
            return vec![];
        }
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
        let news = |s: &Step| !matches!(s, Step::Report(phase, reason) if self.status == Some((*phase, *reason)));
        plan.effects().iter().filter_map(step).filter(news).collect()
    }

    /// Carries one step out as the server guards it, for an operator that saw `view`. A fault ends its walk.
    pub(super) fn carry_out(&mut self, view: &World, step: Step) -> Result<(), Fault> {
        let (uid, provider) = (view.uid(), view.provider().ok_or(Fault::NotFound)?);
        let finalizers = |held: bool| {
            let others = provider.finalizers().into_iter().filter(|f| *f != Finalizer::Ours);
            let after: BTreeSet<_> = others.chain(held.then_some(Finalizer::Ours)).collect();
            (provider.finalizers(), after)
        };
        match step {
            Step::Hold => {
                let (before, after) = finalizers(true);
                self.server.finalize(&PROVIDER, uid, &before, &after)
            }
            Step::Release => {
                let (before, after) = finalizers(false);
                self.server.finalize(&PROVIDER, uid, &before, &after)
            }
            Step::Create(part) => self.apply(view, part, Guard::Absent),
            Step::Change(part) => {
                let seen = view.server.get(&view.wanted(part)).ok_or(Fault::Stale)?.uid;
                self.ours(view, seen);
                self.apply(view, part, Guard::Uid(seen))
            }
            Step::Delete(doomed) => {
                let key = *view.server.find(doomed).ok_or(Fault::Stale)?;
                self.ours(view, doomed);
                match self.server.delete(&key, Some(doomed), Propagation::Background) {
                    Err(Fault::NotFound | Fault::Conflict) => Ok(()),
                    done => done,
                }
            }
            Step::Report(phase, reason) if self.uid() == uid => {
                self.status = Some((phase, reason));
                Ok(())
            }
            Step::Report(..) => Err(Fault::Stale),
        }
    }

    fn apply(&mut self, view: &World, part: Part, guard: Guard) -> Result<(), Fault> {
        let (key, uid) = (view.wanted(part), view.uid());
        if part == Part::RoleBinding && self.server.get(&view.wanted(Part::Role)).is_none() {
            return Err(Fault::NotFound);
        }
        let mut pieces = vec![(STAMP, uid), (BODY, view.body(part))];
        if key.namespace() == PROVIDER.namespace() {
            pieces.push((Piece::Owner(uid), 1));
        }
        let force = guard != Guard::Absent;
        self.server.apply(&key, Manager::Operator, guard, force, &pieces).map(drop)
    }

    /// I7: what is changed or deleted is ours.
    fn ours(&self, view: &World, uid: Uid) {
        let stored = self.server.find(uid).and_then(|key| self.server.get(key));
        let stamp = stored.map(|o| o.value(STAMP));
        assert!(stamp.is_none_or(|stamp| stamp == Some(view.uid())), "I7: {stored:?} is not ours: {view:?}");
    }

    /// The collector and the Deployment controller, as far as they get at once.
    pub(super) fn settle(&mut self) {
        self.server.collect();
        let server = &self.server;
        self.pods.retain(|pod| server.get(&pod.at).is_some_and(|o| o.uid == pod.of));
        for (at, o) in server.objects.iter().filter(|(at, _)| at.part == Some(Part::Deployment)) {
            if let Some(serves) = o.value(STAMP)
                && self.pods.iter().all(|pod| pod.of != o.uid)
            {
                self.pods.push(Pod { at: *at, of: o.uid, serves });
            }
        }
    }

    /// The operator's sweep: what is stamped for a Provider that is gone.
    pub(super) fn sweep(&mut self) {
        let live = self.uid();
        self.server.objects.retain(|key, o| *key == PROVIDER || o.value(STAMP).is_none_or(|stamp| stamp == live));
    }

    /// Whether anything that garbage collection does not reach is there without a Provider.
    pub(super) fn leaked(&self) -> bool {
        let owned = |o: &Object| o.pieces().any(|(piece, _)| matches!(piece, Piece::Owner(_)));
        self.provider().is_none() && self.server.objects.values().any(|o| !owned(o))
    }

    /// At most one pod writes for the Provider.
    pub(super) fn writers(&self) -> usize {
        self.pods.iter().filter(|pod| pod.serves == self.uid()).count()
    }
}

fn owned(object: &Object, uid: Uid) -> bool {
    object.value(Piece::Owner(uid)).is_some()
}

fn address(key: Key) -> ObjectRef {
    let part = key.part.unwrap_or(Part::Deployment);
    ObjectRef { part, namespace: key.namespace().map(str::to_owned), name: format!("b{}", key.backend) }
}
