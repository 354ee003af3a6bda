//! [`Five`]: the five objects of a Provider, at the addresses that the design gives them.
use crate::until::until;
use anyhow::{Context, Result, ensure};
use banlieue::fsm::{ObjectRef, Part};
use banlieue::k8s::crd::{Backend, Provider};
use banlieue::k8s::manifests::names;
use banlieue::k8s::{kinds, stamp};
use kube::api::{Api, DeleteParams, DynamicObject, Patch, PatchParams};
use kube::{Client, ResourceExt};
use serde_json::Value;
use std::collections::BTreeMap;
use std::time::Duration;

/// How long a change of the cluster may take before it counts as not coming: long for a machine with much else to do, and
/// much shorter than the operator's slow requeue, so that what comes within it comes by an event.
pub(crate) const SOON: Duration = Duration::from_secs(120);

/// What an object is by, and how often it was written.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Mark {
    /// Its uid.
    pub(crate) uid: String,
    /// Its resourceVersion.
    pub(crate) version: String,
}

/// Where the five are.
#[derive(Clone)]
pub(crate) struct Five {
    client: Client,
    objects: [ObjectRef; 5],
}

impl Five {
    /// The five of a Provider of this backend; `away` is its class's `workloadNamespace`.
    pub(crate) fn new(client: &Client, backend: Backend, home: &str, provider: &str, away: Option<&str>) -> Self {
        let (own, hashed) = (names::own(backend, home, provider), names::hashed(backend, home, provider));
        let objects = Part::ALL.map(|part| match (part, away) {
            (Part::ClusterRoleBinding, _) => ObjectRef { part, namespace: None, name: hashed.clone() },
            (Part::ServiceAccount | Part::Deployment, Some(away)) => {
                ObjectRef { part, namespace: Some(away.into()), name: hashed.clone() }
            }
            _ => ObjectRef { part, namespace: Some(home.into()), name: own.clone() },
        });
        Self { client: client.clone(), objects }
    }

    /// The address of one.
    pub(crate) fn at(&self, part: Part) -> &ObjectRef {
        &self.objects[part as usize]
    }

    /// One, where it is there.
    pub(crate) async fn find(&self, part: Part) -> Result<Option<DynamicObject>> {
        let at = self.at(part);
        self.api(part).get_opt(&at.name).await.with_context(|| format!("read {at}"))
    }

    /// One that must be there.
    pub(crate) async fn get(&self, part: Part) -> Result<DynamicObject> {
        self.find(part).await?.with_context(|| format!("{} is not there", self.at(part)))
    }

    /// The Deployment's own value at a JSON pointer.
    pub(crate) async fn deployment(&self, pointer: &str) -> Result<Option<Value>> {
        Ok(self.find(Part::Deployment).await?.and_then(|d| d.data.pointer(pointer).cloned()))
    }

    /// Uid and resourceVersion of those that are there.
    pub(crate) async fn marks(&self) -> Result<BTreeMap<Part, Mark>> {
        let mut marks = BTreeMap::new();
        for part in Part::ALL {
            if let Some(object) = self.find(part).await? {
                let mark = Mark {
                    uid: object.uid().unwrap_or_default(),
                    version: object.resource_version().unwrap_or_default(),
                };
                marks.insert(part, mark);
            }
        }
        Ok(marks)
    }

    /// The uids of those that are there.
    pub(crate) async fn uids(&self) -> Result<BTreeMap<Part, String>> {
        Ok(self.marks().await?.into_iter().map(|(part, mark)| (part, mark.uid)).collect())
    }

    /// That all five are there and carry the stamp of this Provider, in both places.
    pub(crate) async fn stamped(&self, provider: &Provider) -> Result<()> {
        let uid = provider.uid();
        for part in Part::ALL {
            let object = self.get(part).await?;
            let label = object.labels().get(names::PROVIDER_UID).cloned();
            let annotation = object.annotations().get(names::PROVIDER_UID).cloned();
            ensure!(label == uid && annotation == uid, "{} is stamped {label:?} and {annotation:?}", self.at(part));
        }
        Ok(())
    }

    /// Whether it is there, stamped for this uid and not going.
    pub(crate) async fn stands(&self, part: Part, provider_uid: &str) -> Result<Option<DynamicObject>> {
        let ours = |o: &DynamicObject| {
            stamp::uid(&o.metadata) == Some(provider_uid) && o.metadata.deletion_timestamp.is_none()
        };
        Ok(self.find(part).await?.filter(ours))
    }

    /// Waits until none is there.
    pub(crate) async fn gone(&self) -> Result<()> {
        until("none of the five is left", SOON, async || {
            let left: Vec<_> = self.marks().await?.into_keys().map(|part| self.at(part).to_string()).collect();
            Ok(if left.is_empty() { Ok(()) } else { Err(left.join(", ")) })
        })
        .await
    }

    /// Deletes one, by hand.
    pub(crate) async fn delete(&self, part: Part) -> Result<()> {
        self.api(part).delete(&self.at(part).name, &DeleteParams::background()).await?;
        Ok(())
    }

    /// Edits one, by hand.
    pub(crate) async fn edit(&self, part: Part, change: Value) -> Result<DynamicObject> {
        let patch = Patch::Merge(change);
        let at = self.at(part);
        let edited = self.api(part).patch(&at.name, &PatchParams::default(), &patch).await;
        edited.with_context(|| format!("edit {at}"))
    }

    /// The API of one.
    pub(crate) fn api(&self, part: Part) -> Api<DynamicObject> {
        kinds::api(&self.client, self.at(part))
    }
}
