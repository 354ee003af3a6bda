//! [`Object`]: one object to apply, with its place in the order and what to say of it.
use crate::k8s::manifests::labels::COMPONENT;
use kube::Resource;
use kube::api::ApiResource;
use serde::Serialize;
use serde_json::Value;
use std::fmt;

/// The order of an installation. Each stage needs the ones before it.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub enum Stage {
    /// The namespace everything else is in.
    Namespace,
    /// The kinds, which have to be established before objects of theirs are taken.
    Crds,
    /// The admission policies: they are there before the rights that they limit.
    Policies,
    /// Identities and what they may do: all of it before anything runs under them.
    Rights,
    /// Operator and controller.
    Workloads,
    /// One class per backend.
    Classes,
}

/// What can be installed by itself: on an empty cluster an object is not taken before its kind is known.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Section {
    /// The kinds.
    Crds,
    /// The namespace, policies, rights and Deployments.
    Platform,
    /// The ProviderClasses.
    Classes,
}

impl Stage {
    /// The section that a stage is of.
    pub const fn section(self) -> Section {
        match self {
            Stage::Crds => Section::Crds,
            Stage::Namespace | Stage::Policies | Stage::Rights | Stage::Workloads => Section::Platform,
            Stage::Classes => Section::Classes,
        }
    }
}

/// One object to apply.
#[derive(Clone, Debug)]
pub struct Object {
    /// Its place in the order.
    pub stage: Stage,
    /// What it is for, in one line.
    pub comment: String,
    /// Its kind, as the API addresses it.
    pub resource: ApiResource,
    /// Its namespace, where it has one.
    pub namespace: Option<String>,
    /// Its name.
    pub name: String,
    /// What is sent, and nothing that is not.
    pub body: Value,
}

impl Object {
    pub(super) fn new<K>(stage: Stage, comment: impl Into<String>, object: K) -> Result<Self, serde_json::Error>
    where
        K: Resource<DynamicType = ()> + Serialize,
    {
        let meta = object.meta();
        Ok(Self {
            stage,
            comment: comment.into(),
            resource: ApiResource::erase::<K>(&()),
            namespace: meta.namespace.clone(),
            name: meta.name.clone().unwrap_or_default(),
            body: serde_json::to_value(&object)?,
        })
    }

    /// Whether it goes with the operator, and is left out where there is none.
    pub fn is_operator(&self) -> bool {
        self.body["metadata"]["labels"][COMPONENT] == "operator"
    }
}

/// As a person names it: `Deployment banlieue-system/banlieue-operator`.
impl fmt::Display for Object {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ", self.resource.kind)?;
        if let Some(namespace) = &self.namespace {
            write!(f, "{namespace}/")?;
        }
        f.write_str(&self.name)
    }
}
