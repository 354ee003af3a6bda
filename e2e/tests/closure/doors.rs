//! [`Door`]: a way from a right to more rights.
use banlieue_e2e::rights::Right;

/// Where a right leads.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(crate) enum Door {
    /// Everything, or a kind that nobody knows yet.
    Wildcard,
    /// The checks of RBAC itself.
    Escalate,
    /// Being somebody else.
    Impersonate,
    /// A token of somebody else.
    Token,
    /// Roles.
    Grant,
    /// Bindings.
    Bind,
    /// Pods, by whatever makes them.
    Run,
    /// Into a pod that runs.
    Enter,
    /// What accounts carry.
    Account,
    /// Secrets, read.
    ReadSecrets,
    /// Secrets, written.
    WriteSecrets,
    /// Configuration, read.
    ReadConfiguration,
    /// What decides about requests: admission, kinds, API servers, certificates, nodes, namespaces.
    Rule,
    /// The files of nodes.
    Host,
    /// Which endpoint gets the credentials of a Provider.
    Redirect,
    /// What runs for a Provider.
    Class,
    /// What people and programs read of our kinds.
    Lie,
    /// Events.
    Tell,
    /// Who leads.
    Unseat,
    /// What is there.
    Destroy,
    /// Anything else that is written.
    Unknown,
}

impl Door {
    /// What it would lead to.
    pub(crate) fn leads_to(self) -> &'static str {
        match self {
            Door::Wildcard => "do anything",
            Door::Escalate => "pass the checks of RBAC",
            Door::Impersonate => "act as another",
            Door::Token => "ask for the token of another",
            Door::Grant => "grant more than it should",
            Door::Bind => "bind somebody to a role",
            Door::Run => "run pods as another account, on the host, or with a Secret",
            Door::Enter => "enter a pod of another",
            Door::Account => "give an account a cloud identity or a Secret",
            Door::ReadSecrets => "read credentials, and tokens where any are stored",
            Door::WriteSecrets => "have a token made, or change credentials",
            Door::ReadConfiguration => "read configuration",
            Door::Rule => "change what decides about requests",
            Door::Host => "reach the files of a node",
            Door::Redirect => "send a Provider's credentials elsewhere",
            Door::Class => "choose what runs for Providers",
            Door::Lie => "say what is not so of a Provider or class",
            Door::Tell => "send misleading Events",
            Door::Unseat => "unseat a leader",
            Door::Destroy => "take away what others need",
            Door::Unknown => "write what this search does not know",
        }
    }
}

/// Verbs that change nothing and tell of no secret.
const READS: [&str; 3] = ["get", "list", "watch"];

/// The door that a right opens, if it opens one.
pub(crate) fn door(right: &Right) -> Option<Door> {
    let Right { group, resource, verb, .. } = right;
    let (base, sub) = resource.split_once('/').unwrap_or((resource, ""));
    let reads = READS.contains(&verb.as_str());
    if [verb, group, resource].into_iter().any(|word| word.contains('*')) {
        return Some(Door::Wildcard);
    }
    Some(match (group.as_str(), base, sub, verb.as_str()) {
        (_, _, _, "escalate" | "bind") => Door::Escalate,
        (_, _, _, "impersonate") => Door::Impersonate,
        // a GET opens a connection, too
        ("", "pods", "exec" | "attach" | "portforward" | "proxy" | "ephemeralcontainers", _) => Door::Enter,
        ("", "nodes", "proxy", _) => Door::Enter,
        ("", "serviceaccounts", "token", _) => Door::Token,
        ("", "secrets", _, _) if reads => Door::ReadSecrets,
        ("", "configmaps", _, _) if reads => Door::ReadConfiguration,
        _ if reads => return None,
        (_, _, _, "delete" | "deletecollection") => Door::Destroy,
        ("", "secrets", ..) => Door::WriteSecrets,
        ("", "serviceaccounts", ..) => Door::Account,
        ("", "pods" | "replicationcontrollers" | "podtemplates", ..) | ("apps" | "batch", ..) => Door::Run,
        ("", "persistentvolumes", ..) => Door::Host,
        ("", "namespaces" | "nodes" | "configmaps", ..) => Door::Rule,
        ("rbac.authorization.k8s.io", "roles" | "clusterroles", ..) => Door::Grant,
        ("rbac.authorization.k8s.io", "rolebindings" | "clusterrolebindings", ..) => Door::Bind,
        (
            "admissionregistration.k8s.io" | "apiextensions.k8s.io" | "apiregistration.k8s.io" | "certificates.k8s.io",
            ..,
        ) => Door::Rule,
        // no request of its own: the API server asks for it where an owner reference blocks
        ("banlieue.io", "providers", "finalizers", "update") => return None,
        ("banlieue.io", "providers" | "providerclasses", "status", _) => Door::Lie,
        ("banlieue.io", "providers", "", _) => Door::Redirect,
        ("banlieue.io", "providerclasses", "", _) => Door::Class,
        ("events.k8s.io" | "", "events", ..) => Door::Tell,
        ("coordination.k8s.io", "leases", ..) => Door::Unseat,
        _ => Door::Unknown,
    })
}
