//! [`Real`]: the objects of a story on the real API server, written as the product writes and read back as the model tells.
use crate::model::{PAUSE, SOON};
use crate::story::{KEYS, Key, Kind, Write};
use anyhow::{Context, Result, ensure};
use banlieue::fsm::Fault;
use banlieue::k8s::kinds;
use banlieue::k8s::manifests::names;
use banlieue::k8s::refusal;
use banlieue_machine::server::{Finalizer, Guard, Manager, Object, Piece, Propagation, Uid};
use kube::api::{
    Api, ApiResource, DeleteParams, DynamicObject, GroupVersionKind, Patch, PatchParams, PostParams, Preconditions,
    PropagationPolicy,
};
use kube::{Client, Error, ResourceExt};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::time::Instant;

/// What both sides tell of an object.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct Told {
    /// The model's uid.
    uid: Option<Uid>,
    deleting: bool,
    pieces: BTreeMap<Piece, u32>,
}

impl From<&Object> for Told {
    fn from(object: &Object) -> Self {
        Told { uid: Some(object.uid), deleting: object.deleting, pieces: object.pieces().collect() }
    }
}

/// The real side of a story.
pub(crate) struct Real {
    client: Client,
    name: String,
    /// The real uid of each uid of the model.
    uids: BTreeMap<Uid, String>,
}

const FIELD: &str = "model.banlieue.io/f";

impl Real {
    /// Nothing is written yet; the objects will have this name.
    pub(crate) fn new(client: Client, name: String) -> Self {
        Self { client, name, uids: BTreeMap::new() }
    }

    fn api(&self, key: Key) -> Api<DynamicObject> {
        let (group, version, kind, plural) = match key.kind {
            Kind::Provider => ("banlieue.io", "v1alpha1", "Provider", "providers"),
            Kind::ProviderClass => ("banlieue.io", "v1alpha1", "ProviderClass", "providerclasses"),
            Kind::ServiceAccount => ("", "v1", "ServiceAccount", "serviceaccounts"),
            Kind::Role => ("rbac.authorization.k8s.io", "v1", "Role", "roles"),
            Kind::ClusterRoleBinding => {
                ("rbac.authorization.k8s.io", "v1", "ClusterRoleBinding", "clusterrolebindings")
            }
        };
        let resource = ApiResource::from_gvk_with_plural(&GroupVersionKind::gvk(group, version, kind), plural);
        kinds::within(&self.client, &resource, key.namespace)
    }

    /// Writes, and tells the uid, or what the refusal means by the product's own reading.
    pub(crate) async fn write(
        &mut self,
        key: Key,
        write: &Write,
        owners: &[(Uid, Key)],
    ) -> Result<Option<String>, Fault> {
        let (api, name) = (self.api(key), self.name.clone());
        let person = || Some("person".to_owned());
        let answer = match write {
            Write::Create(pieces) => {
                let body = serde_json::from_value(self.body(key, pieces, owners)).expect("an object");
                api.create(&PostParams { field_manager: person(), ..Default::default() }, &body).await.map(Some)
            }
            Write::Apply { manager, guard, force, pieces } => {
                let mut body = self.body(key, pieces, owners);
                match guard {
                    Guard::Any => {}
                    Guard::Absent => body["metadata"]["resourceVersion"] = "1".into(),
                    Guard::Uid(uid) => body["metadata"]["uid"] = self.uids[uid].clone().into(),
                }
                let manager = if *manager == Manager::Operator { names::MANAGER_OPERATOR } else { "other" };
                let params = PatchParams { force: *force, ..PatchParams::apply(manager) };
                api.patch(&name, &params, &Patch::Apply(body)).await.map(Some)
            }
            Write::Edit(changes) => {
                let annotations: Value =
                    changes.iter().map(|(piece, value)| (field(piece), json!(value.map(|v| v.to_string())))).collect();
                let params = PatchParams { field_manager: person(), ..Default::default() };
                api.patch(&name, &params, &Patch::Merge(json!({ "metadata": { "annotations": annotations } })))
                    .await
                    .map(Some)
            }
            Write::Finalize { uid, before, after } => self.finalize(&api, *uid, before, after).await.map(Some),
            Write::Delete { uid, propagation } => {
                let uid = uid.map(|uid| self.uids[&uid].clone());
                let params = DeleteParams {
                    preconditions: uid.map(|uid| Preconditions { uid: Some(uid), resource_version: None }),
                    propagation_policy: Some(match propagation {
                        Propagation::Background => PropagationPolicy::Background,
                        Propagation::Foreground => PropagationPolicy::Foreground,
                        Propagation::Orphan => PropagationPolicy::Orphan,
                    }),
                    ..Default::default()
                };
                api.delete(&name, &params).await.map(|_| None)
            }
        };
        answer.map(|object| object.and_then(|o| o.uid())).map_err(|error| refusal::classify("write", &error).fault)
    }

    /// Takes in which real uid stands for one of the model's.
    pub(crate) fn know(&mut self, uid: Uid, real: String) {
        self.uids.insert(uid, real);
    }

    /// The patch that the product sends: it tests what it replaces, in the order that is stored.
    async fn finalize(
        &self,
        api: &Api<DynamicObject>,
        uid: Uid,
        before: &BTreeSet<Finalizer>,
        after: &BTreeSet<Finalizer>,
    ) -> Result<DynamicObject, Error> {
        let stored = api.get(&self.name).await?.metadata.finalizers.unwrap_or_default();
        let same =
            stored.iter().map(|f| finalizer(f)).collect::<BTreeSet<_>>() == before.iter().copied().map(Some).collect();
        let before: Vec<String> = if same { stored } else { before.iter().map(|f| word(*f).into()).collect() };
        let mut next: Vec<String> =
            before.iter().filter(|f| finalizer(f).is_some_and(|f| after.contains(&f))).cloned().collect();
        next.extend(after.iter().map(|f| word(*f).to_owned()).filter(|f| !before.contains(f)));
        let before = (!before.is_empty()).then_some(before);
        let patch = json!([
            { "op": "test", "path": "/metadata/uid", "value": self.uids[&uid] },
            { "op": "test", "path": "/metadata/finalizers", "value": before },
            { "op": "add", "path": "/metadata/finalizers", "value": next },
        ]);
        let patch = serde_json::from_value(patch).expect("a patch");
        let params = PatchParams { field_manager: Some(names::MANAGER_OPERATOR.into()), ..Default::default() };
        api.patch(&self.name, &params, &Patch::Json::<()>(patch)).await
    }

    fn body(&self, key: Key, pieces: &[(Piece, u32)], owners: &[(Uid, Key)]) -> Value {
        let (mut annotations, mut finalizers, mut references) = (serde_json::Map::new(), vec![], vec![]);
        for (piece, value) in pieces {
            match piece {
                Piece::Field(_) => drop(annotations.insert(field(piece), value.to_string().into())),
                Piece::Finalizer(finalizer) => finalizers.push(word(*finalizer)),
                Piece::Owner(uid) => {
                    let kind = owners.iter().find(|(owner, _)| owner == uid).map(|(_, key)| key.kind);
                    let (version, kind) = match kind.expect("an owner that was") {
                        Kind::ServiceAccount => ("v1", "ServiceAccount"),
                        Kind::ProviderClass => ("banlieue.io/v1alpha1", "ProviderClass"),
                        _ => ("banlieue.io/v1alpha1", "Provider"),
                    };
                    references.push(json!({
                        "apiVersion": version, "kind": kind, "name": self.name, "uid": self.uids[uid], "blockOwnerDeletion": true,
                    }));
                }
            }
        }
        let mut metadata = json!({ "name": self.name, "namespace": key.namespace });
        let lists = [
            ("annotations", Value::Object(annotations)),
            ("finalizers", json!(finalizers)),
            ("ownerReferences", json!(references)),
        ];
        for (at, list) in lists {
            let empty =
                list.as_array().is_some_and(Vec::is_empty) || list.as_object().is_some_and(serde_json::Map::is_empty);
            if !empty {
                metadata[at] = list;
            }
        }
        let (version, kind, rest) = match key.kind {
            Kind::Provider => (
                "banlieue.io/v1alpha1",
                "Provider",
                json!({ "spec": { "providerClassRef": { "name": "c" }, "connection": { "endpoint": "https://x", "credentialsRef": { "name": "s" } } } }),
            ),
            Kind::ProviderClass => (
                "banlieue.io/v1alpha1",
                "ProviderClass",
                json!({ "spec": { "backend": "vsphere", "image": { "repository": "r", "tag": "t" } } }),
            ),
            Kind::ServiceAccount => ("v1", "ServiceAccount", json!({})),
            Kind::Role => ("rbac.authorization.k8s.io/v1", "Role", json!({})),
            Kind::ClusterRoleBinding => (
                "rbac.authorization.k8s.io/v1",
                "ClusterRoleBinding",
                json!({ "roleRef": { "apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "view" } }),
            ),
        };
        let mut body = json!({ "apiVersion": version, "kind": kind, "metadata": metadata });
        rest.as_object().into_iter().flatten().for_each(|(field, value)| body[field] = value.clone());
        body
    }

    /// What is stored.
    pub(crate) async fn told(&self, key: Key) -> Result<Option<Told>> {
        let Some(object) = self.api(key).get_opt(&self.name).await.with_context(|| format!("{key:?}"))? else {
            return Ok(None);
        };
        let of = |real: &str| self.uids.iter().find(|(_, known)| *known == real).map(|(uid, _)| *uid);
        let mut pieces = BTreeMap::new();
        for (annotation, value) in object.annotations() {
            if let Some(number) = annotation.strip_prefix(FIELD) {
                pieces.insert(Piece::Field(number.parse()?), value.parse()?);
            }
        }
        for held in object.finalizers() {
            pieces.insert(Piece::Finalizer(finalizer(held).with_context(|| held.clone())?), 0);
        }
        for owner in object.owner_references() {
            // nobody's, where it is none of the story's
            let uid = of(&owner.uid).unwrap_or_default();
            pieces.insert(Piece::Owner(uid), u32::from(owner.kind != "ProviderClass"));
        }
        let deleting = object.metadata.deletion_timestamp.is_some();
        Ok(Some(Told { uid: of(&object.uid().unwrap_or_default()), deleting, pieces }))
    }
}

/// A dependent without an owner: once the collector has taken it, it knows its kind, and has looked at all that was written
/// before.
pub(crate) async fn collector_is_through(client: &Client, kind: Kind, name: &str) -> Result<()> {
    let real = Real::new(client.clone(), name.to_owned());
    let key = *KEYS.iter().find(|key| key.kind == kind).context("a kind of the stories")?;
    let mut body = real.body(key, &[], &[]);
    body["metadata"]["ownerReferences"] =
        json!([{ "apiVersion": "banlieue.io/v1alpha1", "kind": "ProviderClass", "name": "nobody", "uid": "0-0" }]);
    real.api(key).create(&PostParams::default(), &serde_json::from_value(body)?).await?;
    let began = Instant::now();
    while real.told(key).await?.is_some() {
        ensure!(began.elapsed() < SOON, "the collector does not take {key:?} {name}");
        tokio::time::sleep(PAUSE).await;
    }
    Ok(())
}

fn field(piece: &Piece) -> String {
    match piece {
        Piece::Field(number) => format!("{FIELD}{number}"),
        other => unreachable!("{other:?} is no field"),
    }
}

const WORDS: [(Finalizer, &str); 4] = [
    (Finalizer::Ours, names::FINALIZER),
    (Finalizer::Foreign, "example.com/hold"),
    (Finalizer::Orphan, "orphan"),
    (Finalizer::Foreground, "foregroundDeletion"),
];

fn word(finalizer: Finalizer) -> &'static str {
    WORDS.iter().find(|(f, _)| *f == finalizer).map_or("", |(_, word)| word)
}

fn finalizer(word: &str) -> Option<Finalizer> {
    WORDS.iter().find(|(_, w)| *w == word).map(|(f, _)| *f)
}
