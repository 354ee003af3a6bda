//! [`Observation`]: everything a decision may depend on, and nothing else.
use super::{ClassRef, Halt, Part, Sight, Stray, Wanted};

/// Whether the Provider is being deleted.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum Deletion {
    /// It lives.
    #[default]
    No,
    /// Deletion was asked.
    Requested,
    /// Deletion was asked with `--cascade=orphan`, and the collector still strips owner references.
    Orphaning,
}

/// Who suspended the Provider, the nearest first.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum Paused {
    /// Nobody.
    #[default]
    No,
    /// `spec.paused` of the Provider.
    ByProvider,
    /// `spec.paused` of its class.
    ByClass,
}

/// What the class, with the Provider, can be made into.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub enum Class {
    /// It does not exist.
    Absent,
    /// It cannot be used; the words name the field.
    Invalid(String),
    /// This binary lacks its backend.
    NotCompiled(String),
    /// The endpoint has a scheme of another backend.
    EndpointInvalid(String),
    /// It can be used.
    #[default]
    Usable,
}

/// The namespace that an object of ours has to be created in.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub enum Place {
    /// It is there.
    #[default]
    There,
    /// It does not exist.
    Missing(String),
    /// It is being deleted.
    Terminating(String),
}

/// Whether the admission policies that limit the operator are in force (design, section 7).
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum Fence {
    /// They deny what they must deny.
    #[default]
    Closed,
    /// They do not: nothing may be created or changed.
    Open,
}

/// Why what is observed differs from what is wanted.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum Cause {
    /// The workload was never made whole.
    #[default]
    Creating,
    /// The class, or the choice of it, changed.
    ClassChanged,
    /// The Provider, or the operator that builds its workload, changed.
    SpecChanged,
    /// Somebody else changed or deleted an object of ours.
    Drift,
}

/// How the rollout of the wanted Deployment stands. Read only where that Deployment matches.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub enum Rollout {
    /// Its controller has not seen the latest generation, or is replacing pods; the words say how far it is.
    #[default]
    Progressing,
    /// No pod is wanted.
    ScaledToZero,
    /// It is complete and a pod is available.
    Available,
    /// A pod has run a while and is not ready.
    Waiting(String),
    /// It cannot go on by itself.
    Failed(Failure, String),
}

/// Why a rollout cannot go on, in order of use to a person.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Failure {
    /// The image cannot be pulled.
    ImagePull,
    /// The container ends again and again.
    CrashLoop,
    /// No node takes the pod.
    Unschedulable,
    /// The API refuses the pods.
    PodsRefused,
    /// No progress within the deadline.
    Deadline,
}

/// What a workload is made from, as the status tells it.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Made {
    /// The class and its generation.
    pub class: ClassRef,
    /// The image.
    pub image: Option<String>,
    /// The namespace of the Deployment.
    pub namespace: Option<String>,
    /// The name of the Deployment.
    pub deployment: Option<String>,
}

/// Everything a decision may depend on.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Observation {
    /// `metadata.generation` of the Provider.
    pub generation: i64,
    /// Whether it is being deleted.
    pub deletion: Deletion,
    /// Whether our finalizer is held.
    pub finalizer: bool,
    /// Who suspended it.
    pub paused: Paused,
    /// What its class can be made into.
    pub class: Class,
    /// The worst of the namespaces it needs.
    pub place: Place,
    /// Whether the operator is fenced in.
    pub fence: Fence,
    /// The wanted objects in order of creation; empty where there is no usable class, and while deleting.
    pub wanted: Vec<Wanted>,
    /// What is stamped ours and not wanted; everything of ours while deleting.
    pub strays: Vec<Stray>,
    /// Pods of a Deployment that is gone or going and whose end is waited for.
    pub old_pods: Vec<String>,
    /// Why the wanted objects differ, where they do.
    pub cause: Cause,
    /// How the wanted Deployment's rollout stands.
    pub rollout: Rollout,
    /// What last stopped the executor.
    pub halt: Option<Halt>,
    /// What the wanted workload is made from.
    pub made: Made,
    /// How many pods are wanted.
    pub replicas: Option<i32>,
    /// How many pods are ready.
    pub ready_replicas: Option<i32>,
}

impl Observation {
    /// Whether a Deployment of ours has to go, or its pods have, before a new one may start: one writer at a time.
    pub fn moving(&self) -> bool {
        !self.old_pods.is_empty() || self.strays.iter().any(|s| s.object.part == Part::Deployment)
    }

    /// Whether anything has to be created, changed, deleted or waited for before the workload is what we want.
    pub fn diverged(&self) -> bool {
        self.moving() || !self.strays.is_empty() || self.wanted.iter().any(|w| w.sight != Sight::Matching)
    }

    /// Whether the executor has to hold still after a halt.
    pub fn waiting(&self) -> bool {
        self.halt.as_ref().is_some_and(|h| h.waiting.is_some())
    }

    /// Whether no Deployment of ours exists anywhere.
    pub fn nothing_runs(&self) -> bool {
        !self.strays.iter().any(|s| s.object.part == Part::Deployment)
            && self
                .wanted
                .iter()
                .all(|w| w.object.part != Part::Deployment || matches!(w.sight, Sight::Absent | Sight::Foreign))
    }
}
