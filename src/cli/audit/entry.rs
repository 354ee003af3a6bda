//! [`Entry`]: a line of an audit log.
use crate::k8s::manifests::names;
use serde::Deserialize;

/// A line, as far as it is read.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Entry {
    api_version: String,
    kind: String,
    pub(super) stage: String,
    pub(super) verb: String,
    #[serde(rename = "requestURI")]
    pub(super) uri: String,
    pub(super) stage_timestamp: String,
    user: User,
    pub(super) impersonated_user: User,
    pub(super) object_ref: Target,
    pub(super) response_status: Answer,
    pub(super) request_object: serde_json::Value,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct User {
    pub(super) username: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Target {
    pub(super) resource: String,
    pub(super) subresource: String,
    pub(super) namespace: String,
    pub(super) name: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Answer {
    pub(super) code: u16,
}

impl Entry {
    /// Whether it is one: any JSON object can be read as an entry that says nothing.
    pub(super) fn is_one(&self) -> bool {
        self.kind == "Event" && self.api_version.starts_with("audit.k8s.io/")
    }

    /// Whether this identity did it, or somebody under its name.
    pub(super) fn is_of(&self, operator: &str) -> bool {
        self.user.username == operator || self.impersonated_user.username == operator
    }

    /// The namespace of an operator of ours, wherever it is installed, that did it.
    pub(super) fn operator(&self) -> Option<&str> {
        let (namespace, name) = self.user.username.strip_prefix("system:serviceaccount:")?.split_once(':')?;
        (name == names::OPERATOR).then_some(namespace)
    }
}
