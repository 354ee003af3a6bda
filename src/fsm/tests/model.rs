//! A small pure model of the API server: uids, owner references, garbage collection, finalizers, guarded writes.
use super::fixture::noon;
use crate::fsm::*;
use std::collections::BTreeMap;

/// The uid that stands for the Provider.
const PROVIDER: u32 = 1;

/// What is stored of one object.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct Stored {
    pub uid: u32,
    /// The Provider it was made for.
    pub stamp: Option<u32>,
    pub owned: bool,
    /// A stand-in for the whole body: what it was last applied with.
    pub body: u32,
}

/// The Provider, its five objects and its pods.
#[derive(Clone, Debug)]
pub(super) struct Model {
    pub provider: bool,
    pub deletion: Deletion,
    pub finalizer: bool,
    pub paused: bool,
    /// 0 or 1: which class, and so which backend.
    pub backend: u32,
    /// Whether the class sends the workload elsewhere.
    pub away: bool,
    pub class: bool,
    pub revision: u32,
    pub status: Option<WorkloadStatus>,
    pub objects: BTreeMap<ObjectRef, Stored>,
    /// Pods by the object and the uid of the Deployment that made them.
    pub pods: Vec<(ObjectRef, u32)>,
    next: u32,
    /// Every effect that went through, for counting.
    pub log: Vec<String>,
}

impl Model {
    pub(super) fn new(away: bool) -> Self {
        Self {
            provider: true,
            deletion: Deletion::No,
            finalizer: false,
            paused: false,
            backend: 0,
            away,
            class: true,
            revision: 1,
            status: None,
            objects: BTreeMap::new(),
            pods: vec![],
            next: PROVIDER + 1,
            log: vec![],
        }
    }

    pub(super) fn wanted(&self, part: Part) -> ObjectRef {
        let namespace = match part {
            Part::ClusterRoleBinding => None,
            Part::ServiceAccount | Part::Deployment if self.away => Some("away".to_owned()),
            _ => Some("home".to_owned()),
        };
        ObjectRef { part, namespace, name: format!("backend-{}", self.backend) }
    }

    fn body(&self, part: Part) -> u32 {
        let account = self.objects.get(&self.wanted(Part::ServiceAccount)).map_or(0, |o| o.uid);
        match part {
            Part::Deployment => self.revision * 1000 + account,
            _ => self.revision,
        }
    }

    pub(super) fn observe(&self) -> Observation {
        let living = self.deletion == Deletion::No && self.class;
        let parts: &[Part] = if living { &Part::ALL } else { &[] };
        let wanted: Vec<Wanted> = parts
            .iter()
            .map(|&part| {
                let object = self.wanted(part);
                let sight = match self.objects.get(&object) {
                    None => Sight::Absent,
                    Some(o) if o.stamp != Some(PROVIDER) => Sight::Foreign,
                    Some(o) if o.body != self.body(part) => Sight::Drifted(vec!["body".into()]),
                    Some(_) => Sight::Matching,
                };
                Wanted { object, sight }
            })
            .collect();
        let strays: Vec<Stray> = self
            .objects
            .iter()
            .filter(|(object, o)| o.stamp == Some(PROVIDER) && wanted.iter().all(|w| w.object != **object))
            .map(|(object, o)| Stray {
                object: object.clone(),
                uid: o.uid.to_string(),
                owned: o.owned,
                terminating: false,
            })
            .collect();
        let deployment = self.wanted(Part::Deployment);
        let expected = |made_by: &ObjectRef| match living {
            true => *made_by == deployment,
            false => strays.iter().any(|s| s.owned && s.object == *made_by),
        };
        let old_pods = self.pods.iter().filter(|(by, _)| !expected(by)).map(|(by, _)| by.to_string()).collect();
        let running = self.pods.iter().any(|(by, _)| *by == deployment);
        Observation {
            generation: 1,
            deletion: self.deletion,
            finalizer: self.finalizer,
            paused: if self.paused { Paused::ByProvider } else { Paused::No },
            class: if self.class { Class::Usable } else { Class::Absent },
            rollout: if running { Rollout::Available } else { Rollout::Progressing },
            cause: Cause::ClassChanged,
            replicas: Some(1),
            ready_replicas: Some(running.into()),
            wanted,
            strays,
            old_pods,
            ..Default::default()
        }
    }

    pub(super) fn plan(&self) -> Plan {
        step(self.status.as_ref(), &self.observe(), noon())
    }

    /// Carries one effect out, guarded as the real server guards it.
    pub(super) fn apply(&mut self, effect: &Effect) {
        self.log.push(effect.to_string());
        match effect {
            Effect::HoldFinalizer => {
                assert_eq!(self.deletion, Deletion::No, "a finalizer on what is being deleted is refused");
                self.finalizer = true;
            }
            Effect::Apply(part, mode) => {
                let (object, body) = (self.wanted(*part), self.body(*part));
                assert!(self.finalizer, "I1: {object} before the finalizer");
                if matches!(part, Part::RoleBinding) {
                    assert!(
                        self.objects.contains_key(&self.wanted(Part::Role)),
                        "a binding before its role is refused"
                    );
                }
                let owned = object.namespace.as_deref() == Some("home");
                match (mode, self.objects.get_mut(&object)) {
                    (Mode::Create, None) => {
                        let made = Stored { uid: self.next, stamp: Some(PROVIDER), owned, body };
                        self.next += 1;
                        self.objects.insert(object, made);
                    }
                    (Mode::Change, Some(stored)) => {
                        assert_eq!(stored.stamp, Some(PROVIDER), "I7");
                        stored.body = body;
                    }
                    (Mode::Create, Some(_)) | (Mode::Change, None) => panic!("planned against what is stored"),
                }
            }
            Effect::Delete(doomed) => {
                let stored = self.objects.get(&doomed.object);
                if stored.is_some_and(|o| o.uid.to_string() == doomed.uid) {
                    assert_eq!(stored.and_then(|o| o.stamp), Some(PROVIDER), "I7");
                    self.objects.remove(&doomed.object);
                }
            }
            Effect::Announce(_) => {}
            Effect::ReportWorkload(status) => self.status = Some((**status).clone()),
            Effect::ReleaseFinalizer => {
                let left = self.objects.values().any(|o| o.stamp == Some(PROVIDER) && !o.owned);
                assert!(!left, "I2: {:?}", self.objects);
                self.finalizer = false;
                self.provider = self.deletion == Deletion::No;
            }
        }
    }

    /// What the rest of the cluster does meanwhile: the collector, and the Deployment controller. At most one pod writes.
    pub(super) fn settle(&mut self) {
        let provider = self.provider;
        self.objects.retain(|_, o| provider || !o.owned);
        let objects = &self.objects;
        self.pods.retain(|(by, uid)| objects.get(by).is_some_and(|o| o.uid == *uid));
        for (object, stored) in &self.objects {
            let ours = object.part == Part::Deployment && stored.stamp == Some(PROVIDER);
            if ours && self.pods.iter().all(|(by, _)| by != object) {
                self.pods.push((object.clone(), stored.uid));
            }
        }
        assert!(self.pods.len() <= 1, "one writer at a time: {:?}", self.pods);
    }

    /// What an outsider sees at the end: everything but uids.
    pub(super) fn outcome(&self) -> String {
        let objects: Vec<String> = self.objects.iter().map(|(object, o)| format!("{object} {:?}", o.stamp)).collect();
        let phase = self.status.as_ref().map(|s| (s.phase, s.reason));
        format!("{} {} {phase:?} {objects:?}", self.provider, self.finalizer)
    }
}
