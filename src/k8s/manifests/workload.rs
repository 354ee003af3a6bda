//! [`Workload`]: what the five objects of one Provider have in common, and [`five`], which builds them.
use super::{cluster_role_binding, deployment, labels, names, role, role_binding, service_account};
use crate::fsm::{ObjectRef, Part};
use crate::k8s::crd::{Backend, Provider, ProviderClass};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference};
use kube::{Resource, ResourceExt};
use serde::Serialize;
use serde_json::Value;
use std::collections::BTreeMap;

/// A wanted object: its address and the whole body that is applied.
#[derive(Clone, Debug, PartialEq)]
pub struct Manifest {
    /// Its address.
    pub object: ObjectRef,
    /// What is sent, and nothing that is not.
    pub body: Value,
}

/// What the five objects are made from.
#[derive(Clone, Copy, Debug)]
pub struct Workload<'a> {
    /// The Provider.
    pub provider: &'a Provider,
    /// Its class.
    pub class: &'a ProviderClass,
    /// Where banlieue is installed.
    pub install_namespace: &'a str,
    /// The uid of the ServiceAccount, once it has been seen.
    pub account_uid: Option<&'a str>,
}

impl<'a> Workload<'a> {
    /// The backend of the class.
    pub fn backend(&self) -> Backend {
        self.class.spec.backend
    }

    /// The namespace of the Provider, of its Role, RoleBinding and Lease.
    pub fn home(&self) -> &'a str {
        self.provider.metadata.namespace.as_deref().unwrap_or_default()
    }

    /// The name of the Provider.
    pub fn provider_name(&self) -> &'a str {
        self.provider.metadata.name.as_deref().unwrap_or_default()
    }

    /// The uid of the Provider.
    pub fn uid(&self) -> &'a str {
        self.provider.metadata.uid.as_deref().unwrap_or_default()
    }

    /// The namespace of the Deployment and its ServiceAccount.
    pub fn place(&self) -> &'a str {
        self.class.spec.workload_namespace.as_deref().unwrap_or(self.home())
    }

    /// The address of one of the five.
    pub fn object(&self, part: Part) -> ObjectRef {
        let own = || names::own(self.backend(), self.home(), self.provider_name());
        let hashed = || names::hashed(self.backend(), self.home(), self.provider_name());
        let (namespace, name) = match part {
            Part::Role | Part::RoleBinding => (Some(self.home()), own()),
            Part::ServiceAccount | Part::Deployment => {
                (Some(self.place()), if self.place() == self.home() { own() } else { hashed() })
            }
            Part::ClusterRoleBinding => (None, if self.home() == self.install_namespace { own() } else { hashed() }),
        };
        ObjectRef { part, namespace: namespace.map(str::to_owned), name }
    }

    /// Name, labels, stamp and, inside the Provider's namespace, the owner reference (I6).
    pub fn metadata(&self, part: Part) -> ObjectMeta {
        let object = self.object(part);
        let owned = object.namespace.as_deref() == Some(self.home());
        let mut annotations = BTreeMap::from([
            (names::PROVIDER_UID.into(), self.uid().into()),
            (names::PROVIDER.into(), format!("{}/{}", self.home(), self.provider_name())),
        ]);
        if matches!(part, Part::RoleBinding | Part::ClusterRoleBinding) {
            annotations.insert(names::WORKLOAD_NAMESPACE.into(), self.place().into());
        }
        ObjectMeta {
            name: Some(object.name),
            namespace: object.namespace,
            labels: Some(self.labels()),
            annotations: Some(annotations),
            owner_references: owned.then(|| vec![self.owner()]),
            ..Default::default()
        }
    }

    /// The labels of the five and of the pods. Nothing of the parent's labels is copied.
    pub fn labels(&self) -> BTreeMap<String, String> {
        let mut labels = labels::managed("provider", names::OPERATOR);
        labels.extend(self.selector());
        labels
    }

    /// The Deployment's selector: with the uid in it, no two ever overlap; with the backend, not even during a move.
    pub fn selector(&self) -> BTreeMap<String, String> {
        BTreeMap::from([
            (names::PROVIDER_UID.into(), self.uid().into()),
            (names::BACKEND.into(), self.backend().to_string()),
        ])
    }

    fn owner(&self) -> OwnerReference {
        OwnerReference {
            api_version: Provider::api_version(&()).into_owned(),
            kind: Provider::kind(&()).into_owned(),
            name: self.provider.name_any(),
            uid: self.uid().into(),
            controller: Some(true),
            block_owner_deletion: Some(true),
        }
    }
}

/// The five, in order of creation, each stamped with a hash of itself.
pub fn five(workload: &Workload<'_>) -> Result<Vec<Manifest>, serde_json::Error> {
    let w = workload;
    Part::ALL
        .into_iter()
        .map(|part| match part {
            Part::ServiceAccount => manifest(w, part, service_account::build(w)),
            Part::Role => manifest(w, part, role::build(w)),
            Part::ClusterRoleBinding => manifest(w, part, cluster_role_binding::build(w)),
            Part::RoleBinding => manifest(w, part, role_binding::build(w)),
            Part::Deployment => manifest(w, part, deployment::build(w)),
        })
        .collect()
}

fn manifest<K: Serialize>(workload: &Workload<'_>, part: Part, object: K) -> Result<Manifest, serde_json::Error> {
    let mut body = serde_json::to_value(object)?;
    let hash = names::hash_of(&body);
    body["metadata"]["annotations"][names::DESIRED_HASH] = hash.into();
    Ok(Manifest { object: workload.object(part), body })
}
