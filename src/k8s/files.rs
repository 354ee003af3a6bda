//! Objects from files: what they hold, and what applying one makes of the object that is there.
use super::caches::Caches;
use super::crd::Provider;
use super::predict::UNKNOWN;
use crate::fsm::Part;
use kube::api::DynamicObject;
use kube::core::object::HasSpec;
use kube::{Resource, ResourceExt};
use std::sync::Arc;

/// Fills caches from objects that were read from files; returns the Providers among them, each in a namespace: `namespace`
/// where the file says none.
///
/// # Errors
/// When an object is not what its kind says: which one, and where.
pub fn from_files(objects: Vec<DynamicObject>, namespace: &str) -> anyhow::Result<(Arc<Caches>, Vec<Provider>)> {
    let (caches, mut providers) = (Caches::new(), Vec::new());
    for mut object in objects {
        let kind = object.types.as_ref().map(|t| t.kind.clone()).unwrap_or_default();
        // files carry no uid, and two objects never share one
        let (at, name) = (object.namespace().unwrap_or_default(), object.name_any());
        object.metadata.uid.get_or_insert_with(|| format!("({kind} {at}/{name}, {UNKNOWN})"));
        match kind.as_str() {
            "Provider" => {
                object.metadata.namespace.get_or_insert_with(|| namespace.into());
                providers.push(typed(&object)?);
            }
            "ProviderClass" => caches.classes.put(typed(&object)?),
            "Namespace" => caches.namespaces.put(typed(&object)?),
            "Pod" => caches.pods.put(typed(&object)?),
            kind => {
                if let Some(part) = Part::ALL.into_iter().find(|p| p.kind() == kind) {
                    caches.part(part).put(object);
                }
            }
        }
    }
    Ok((caches, providers))
}

pub(super) fn typed<K: serde::de::DeserializeOwned>(object: &DynamicObject) -> anyhow::Result<K> {
    let kind = object.types.as_ref().map_or("object", |t| &t.kind);
    let read = serde_json::to_value(object).and_then(serde_json::from_value);
    read.map_err(|error| anyhow::anyhow!("{kind} {}: {error}", object.name_any()))
}

/// What applying a file makes of an object that is there: its spec in place of the live one, which is another generation then.
pub fn applied<K: Resource + HasSpec<Spec: PartialEq>>(mut live: K, mut file: K) -> K {
    if live.spec() != file.spec() {
        std::mem::swap(live.spec_mut(), file.spec_mut());
        live.meta_mut().generation = live.meta().generation.map(|last| last + 1);
    }
    live
}
