//! What each identity may do (design, section 7). No `escalate`, no `bind`, no `impersonate`, no wildcard.
use crate::k8s::manifests::names;
use k8s_openapi::api::rbac::v1::PolicyRule;

const RBAC: &str = "rbac.authorization.k8s.io";
const LEASES: &str = "coordination.k8s.io";
const READ: [&str; 3] = ["get", "list", "watch"];
/// What a cache takes.
const FOLLOW: [&str; 2] = ["list", "watch"];
/// What the operator does with the five kinds it mints. A write is an apply: `patch`, and `create` where it is missing.
const MINT: [&str; 6] = ["get", "list", "watch", "create", "patch", "delete"];

fn rule(group: &str, resources: &[&str], verbs: &[&str]) -> PolicyRule {
    let strings = |list: &[&str]| list.iter().map(|&s| s.to_owned()).collect::<Vec<_>>();
    PolicyRule {
        api_groups: Some(strings(&[group])),
        resources: Some(strings(resources)),
        verbs: strings(verbs),
        ..Default::default()
    }
}

/// The shared ClusterRole of a backend: only what cannot be granted within a namespace. A pod reads the class of its
/// Provider; one that serves a namespace lists them. None watches.
pub(super) fn shared() -> Vec<PolicyRule> {
    vec![rule(names::GROUP, &["providerclasses"], &["get", "list"])]
}

/// The minted Role without its names. Who grants a rule has to hold it, so the operator holds each of these in every
/// namespace; it uses none of those on Secrets, ConfigMaps and foreign Leases.
pub(super) fn handed_out() -> Vec<PolicyRule> {
    vec![
        rule("", &["secrets", "configmaps"], &["get"]),
        rule(names::GROUP, &["providers"], &READ),
        rule(names::GROUP, &["providers/status"], &["patch"]),
        rule(LEASES, &["leases"], &["get", "create", "update"]),
        rule("events.k8s.io", &["events"], &["create"]),
    ]
}

/// The provider of a static installation, in its namespace: the minted Role without its names, as long as it is all within
/// one namespace.
pub(super) fn standalone() -> Vec<PolicyRule> {
    handed_out()
}

/// The operator: what it does itself, then what it hands out.
pub(super) fn operator() -> Vec<PolicyRule> {
    let mut rules = vec![
        // `patch` is for the finalizer; `providers/finalizers` for owner references that block (on OpenShift).
        rule(names::GROUP, &["providers"], &["patch"]),
        rule(names::GROUP, &["providers/finalizers"], &["update"]),
        rule("apps", &["deployments"], &MINT),
        rule("", &["serviceaccounts"], &MINT),
        rule(RBAC, &["roles", "rolebindings", "clusterrolebindings"], &MINT),
        rule("", &["namespaces"], &READ),
        rule("", &["pods"], &FOLLOW),
        rule(names::GROUP, &["providerclasses"], &["watch"]),
    ];
    rules.extend(shared());
    rules.extend(handed_out());
    rules
}

/// The controller: it reads, and writes one status.
pub(super) fn controller() -> Vec<PolicyRule> {
    vec![
        rule(names::GROUP, &["providers", "providerclasses"], &FOLLOW),
        rule(names::GROUP, &["providerclasses/status"], &["patch"]),
    ]
}

/// A role's own Lease, by name: a create by name works for a PUT, which is what the elector sends.
pub(super) fn own_lease(name: &str) -> Vec<PolicyRule> {
    let mut rule = rule(LEASES, &["leases"], &["get", "create", "update"]);
    rule.resource_names = Some(vec![name.into()]);
    vec![rule]
}
