//! [`Image`]: what runs for a class.
use super::schema;
use kube::KubeSchema;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What to run.
#[derive(Clone, Debug, Default, Deserialize, Eq, KubeSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
#[schemars(description = "The image to run. Editing the tag or the digest upgrades every Provider of the class.")]
#[x_kube(
    validation = Rule::new(format!("self.repository.matches('{REPOSITORY}')")).field_path(".repository")
        .message("the repository is written like registry.example.com/banlieue: lower case, no scheme, no tag, no digest"),
    validation = Rule::new("has(self.tag) || has(self.digest)")
        .message("set tag or digest: an image without either would change by itself"),
    validation = Rule::new("!has(self.tag) || self.tag.matches('^[A-Za-z0-9_][A-Za-z0-9._-]*$')").field_path(".tag")
        .message("a tag consists of letters, digits, dots, dashes and underscores, and does not begin with a dot or a dash"),
    validation = Rule::new("!has(self.digest) || self.digest.matches('^sha256:[0-9a-f]{64}$')").field_path(".digest")
        .message("a digest is written like sha256: and 64 hexadecimal digits in lower case"),
)]
pub struct Image {
    /// The repository, without tag or digest, such as `registry.example.com/banlieue`.
    #[schemars(length(min = 1, max = 512))]
    pub repository: String,
    /// The tag, such as `v0.2.0`. Ignored where a digest is set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 128))]
    pub tag: Option<String>,
    /// The digest, such as `sha256:` and 64 hexadecimal digits. It wins over the tag.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 71, max = 71))]
    pub digest: Option<String>,
    /// When the image is pulled: Always, IfNotPresent or Never. As Kubernetes chooses by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pull_policy: Option<PullPolicy>,
    /// The Secrets for pulling it, in the namespace of the workload.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 8))]
    #[x_kube(merge_strategy = ListMerge::Map(vec!["name".into()]))]
    pub pull_secrets: Vec<PullSecret>,
}

/// `registry/path`, lower case; a part that looks like a host may have upper case and a port.
pub(crate) const REPOSITORY: &str =
    r"^(([A-Za-z0-9.-]+|\\[[0-9a-fA-F:]+\\])(:[0-9]+)?/)?[a-z0-9]+([._-]+[a-z0-9]+)*(/[a-z0-9]+([._-]+[a-z0-9]+)*)*$";

impl Image {
    /// The reference a container gets: `repository@digest`, else `repository:tag`.
    pub fn reference(&self) -> String {
        match (&self.digest, &self.tag) {
            (Some(digest), _) => format!("{}@{digest}", self.repository),
            (None, Some(tag)) => format!("{}:{tag}", self.repository),
            (None, None) => self.repository.clone(),
        }
    }
}

/// When an image is pulled.
#[derive(Clone, Copy, Debug, Deserialize, Eq, Hash, JsonSchema, PartialEq, Serialize)]
#[schemars(description = "When the image is pulled: Always, IfNotPresent or Never. As Kubernetes chooses by default.")]
pub enum PullPolicy {
    /// At each start.
    Always,
    /// Where the node does not have it.
    IfNotPresent,
    /// Never: the node must have it.
    Never,
}

impl PullPolicy {
    /// The word of the API.
    pub const fn as_str(self) -> &'static str {
        match self {
            PullPolicy::Always => "Always",
            PullPolicy::IfNotPresent => "IfNotPresent",
            PullPolicy::Never => "Never",
        }
    }
}

/// A Secret for pulling an image.
#[derive(Clone, Debug, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
#[schemars(description = "A Secret for pulling the image.")]
pub struct PullSecret {
    /// The name of the Secret, in the namespace of the workload.
    #[schemars(length(min = 1, max = 253), regex(pattern = schema::DNS_SUBDOMAIN))]
    pub name: String,
}
