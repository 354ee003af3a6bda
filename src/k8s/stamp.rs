//! Reading the stamp that says which Provider an object was made for (design, section 6).
use super::manifests::names;
use kube::api::{DynamicObject, ObjectMeta};
use serde_json::Value;

/// The uid of the Provider an object was made for. The annotation decides; where it is missing, the label does.
pub fn uid(meta: &ObjectMeta) -> Option<&str> {
    annotation(meta, names::PROVIDER_UID)
        .or_else(|| meta.labels.as_ref().and_then(|l| l.get(names::PROVIDER_UID)).map(String::as_str))
}

/// Namespace and name of the Provider an object was made for.
pub fn provider(meta: &ObjectMeta) -> Option<(&str, &str)> {
    annotation(meta, names::PROVIDER)?.split_once('/')
}

/// The hash of the desired state that an object was last written with.
pub fn hash(meta: &ObjectMeta) -> Option<&str> {
    annotation(meta, names::DESIRED_HASH)
}

/// The hash that a body would be written with.
pub fn wanted_hash(body: &Value) -> Option<&str> {
    body["metadata"]["annotations"][names::DESIRED_HASH].as_str()
}

fn annotation<'m>(meta: &'m ObjectMeta, key: &str) -> Option<&'m str> {
    meta.annotations.as_ref()?.get(key).map(String::as_str)
}

/// The object as one value, to compare with what is sent.
pub fn whole(object: &DynamicObject) -> Value {
    serde_json::to_value(object).unwrap_or_default()
}
