//! Names, labels and annotations: the one place that spells them (design, section 6).
use crate::k8s::crd::Backend;
use sha2::{Digest, Sha256};

/// The API group.
pub const GROUP: &str = "banlieue.io";
/// The finalizer of the operator on a Provider: cluster-scoped grants cannot be garbage collected.
pub const FINALIZER: &str = "banlieue.io/provider-workload";
/// Field manager of the operator.
pub const MANAGER_OPERATOR: &str = "banlieue.io/operator";
/// Field manager of the installer.
pub const MANAGER_BOOTSTRAP: &str = "banlieue.io/bootstrap";
/// Field manager of the controller.
pub const MANAGER_CONTROLLER: &str = "banlieue.io/controller";
/// Field manager of the pods of every backend.
pub const MANAGER_PROVIDER: &str = "banlieue.io/provider";
/// The stamp, as label and as annotation: the uid of the Provider an object was made for. The annotation decides.
pub const PROVIDER_UID: &str = "banlieue.io/provider-uid";
/// Annotation: `namespace/name` of the Provider an object was made for.
pub const PROVIDER: &str = "banlieue.io/provider";
/// Annotation of both bindings: the namespace of the ServiceAccount they bind.
pub const WORKLOAD_NAMESPACE: &str = "banlieue.io/workload-namespace";
/// Annotation: hash of the desired state of an object, and of its pods where it has any.
pub const DESIRED_HASH: &str = "banlieue.io/desired-hash";
/// Annotation of the pod template: the uid of its ServiceAccount, whose old tokens die with it.
pub const SERVICE_ACCOUNT_UID: &str = "banlieue.io/service-account-uid";
/// Where banlieue is installed unless told otherwise.
pub const DEFAULT_NAMESPACE: &str = "banlieue-system";
/// Name of the operator's objects.
pub const OPERATOR: &str = "banlieue-operator";
/// Name of the controller's objects.
pub const CONTROLLER: &str = "banlieue-controller";
/// The policy by which nobody but the operator writes `status.workload`.
pub const OWNER_OF_STATUS: &str = "banlieue-status-owner";
/// The policy by which nobody has a Secret read that he may not read.
pub const DEPUTY: &str = "banlieue-deputy";
/// The policy on ProviderClasses.
pub const GUARD_OF_CLASSES: &str = "banlieue-classes";
/// What every object minted for a Provider begins with.
pub const PREFIX: &str = "banlieue-provider";

/// What the ClusterRoleBinding of every static install begins with.
pub const STATIC_PREFIX: &str = "banlieue-static-";

/// What is wrong with a namespace that is not [`is_label`].
pub const NO_NAMESPACE: &str =
    "is no name of a namespace: 1 to 63 lower case letters, digits and dashes, with a letter or digit at both ends";

/// Whether a namespace may be called so.
pub fn is_label(text: &str) -> bool {
    text.len() <= 63 && is_word(text)
}

/// Whether an object in a namespace may be called so.
pub fn is_name(text: &str) -> bool {
    text.len() <= 253 && text.split('.').all(is_word)
}

fn is_word(text: &str) -> bool {
    let inner = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    !text.is_empty() && text.chars().all(inner) && !text.starts_with('-') && !text.ends_with('-')
}

/// 13 base-32 characters of SHA-256 over the parts joined by `/`.
fn hash(parts: &[&str]) -> String {
    let digest = Sha256::digest(parts.join("/").as_bytes());
    let mut text = data_encoding::BASE32_NOPAD.encode(&digest).to_ascii_lowercase();
    text.truncate(13);
    text
}

/// The hash that stands for `namespace/name` of a Provider in names.
pub fn provider_hash(namespace: &str, name: &str) -> String {
    hash(&[namespace, name])
}

/// `banlieue-provider-<backend>`: the shared ClusterRole of a backend, and the objects of a static install.
pub fn shared(backend: Backend) -> String {
    format!("{PREFIX}-{backend}")
}

/// The policy that limits what the operator writes of a kind, given its plural.
pub fn fence(plural: &str) -> String {
    format!("banlieue-fence-{}", plural.replace('/', "-"))
}

/// The Lease of a Provider's pods, one for all backends, in the Provider's namespace.
pub fn lease(namespace: &str, name: &str) -> String {
    format!("{PREFIX}-{}", provider_hash(namespace, name))
}

/// The ClusterRoleBinding of a static install.
pub fn static_binding(namespace: &str, backend: Backend) -> String {
    format!("{STATIC_PREFIX}{}-{backend}", hash(&[namespace]))
}

/// The name where it is used alone in its namespace: `banlieue-provider-<backend>-<provider>`, or the hashed form where that is longer than 63 characters.
pub fn own(backend: Backend, namespace: &str, name: &str) -> String {
    let plain = format!("{PREFIX}-{backend}-{name}");
    if plain.len() <= 63 { plain } else { hashed(backend, namespace, name) }
}

/// The name where Providers of several namespaces meet: `banlieue-provider-<hash>-<backend>-<provider, cut>`.
pub fn hashed(backend: Backend, namespace: &str, name: &str) -> String {
    let mut text = format!("{PREFIX}-{}-{backend}-{}", provider_hash(namespace, name), name.replace('.', "-"));
    text.truncate(63);
    text.truncate(text.trim_end_matches('-').len());
    text
}

/// The label that tells one backend's pods from another's during a move.
pub const BACKEND: &str = "banlieue.io/backend";

/// A hash of a body as it is sent.
pub fn hash_of(body: &serde_json::Value) -> String {
    hash(&[&body.to_string()])
}
