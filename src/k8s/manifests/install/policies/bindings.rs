//! Bindings: one account of ours to one role of ours.
use super::super::Install;
use super::policy::Policy;
use super::stamp::{at_home, minted, read, written};
use crate::k8s::crd::Backend;
use crate::k8s::manifests::names;

const RBAC: &str = "rbac.authorization.k8s.io";

/// CEL for "it binds one of our accounts, in the namespace that the annotation names".
fn one_account(more: &str) -> String {
    written(&format!(
        "size(object.?subjects.orValue([])) == 1 && object.subjects.all(s, s.kind == 'ServiceAccount' && \
         s.name.startsWith('{}-') && s.?namespace.orValue('') == \
         {}{more})",
        names::PREFIX,
        read("object", "annotations", names::WORKLOAD_NAMESPACE)
    ))
}

const ONE_ACCOUNT: &str = "the operator binds one ServiceAccount banlieue-provider-*, in the namespace that the annotation banlieue.io/workload-namespace names";

pub(super) fn of_roles(install: &Install) -> Policy {
    let comment = "The operator binds the account of a Provider to the Role made for it.";
    let rules = vec![
        (at_home(), "the operator makes a RoleBinding in the namespace of its Provider"),
        (
            written("object.roleRef.kind == 'Role' && object.roleRef.name == object.metadata.name"),
            "the operator binds to the Role of the binding's own name",
        ),
        (
            // beside its Role the account has that name too
            one_account(
                " && (s.?namespace.orValue('') != object.metadata.namespace || s.name == object.metadata.name)",
            ),
            ONE_ACCOUNT,
        ),
    ];
    minted(install, (RBAC, "v1", "rolebindings"), comment, rules)
}

pub(super) fn of_cluster_roles(install: &Install) -> Policy {
    let comment = "The operator binds the account of a Provider to the shared ClusterRole of a backend.";
    let shared: Vec<String> = Backend::ALL.into_iter().map(|b| format!("'{}'", names::shared(b))).collect();
    let rules = vec![
        (
            written(&format!("object.roleRef.kind == 'ClusterRole' && object.roleRef.name in [{}]", shared.join(", "))),
            "the operator binds cluster-wide to the shared role of a backend, banlieue-provider-<backend>",
        ),
        (one_account(""), ONE_ACCOUNT),
    ];
    minted(install, (RBAC, "v1", "clusterrolebindings"), comment, rules)
}
