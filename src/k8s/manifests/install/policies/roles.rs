//! Roles: the row of the minted Role, and nothing else.
use super::super::Install;
use super::policy::Policy;
use super::stamp::{at_home, minted, provider, written};
use crate::k8s::manifests::names::{self, GROUP};

pub(super) fn fence(install: &Install) -> Policy {
    let comment = "The operator grants in Roles what a provider's pod needs, by name: its Secret, its CA source, its Provider, its Lease.";
    let one_of = |group: &str, resource: &str, verbs: &str, names: &str| {
        format!(
            "(r.?apiGroups.orValue([]) == ['{group}'] && r.?resources.orValue([]) == ['{resource}'] && \
             r.verbs.all(v, v in [{verbs}]) && {names})"
        )
    };
    let named = "size(r.?resourceNames.orValue([])) in [1, 2] && r.resourceNames.all(n, n != '')";
    let its_own =
        format!("r.?resourceNames.orValue([]).map(n, object.metadata.namespace + '/' + n) == [{}]", provider());
    let lease =
        format!("size(r.?resourceNames.orValue([])) == 1 && r.resourceNames[0].startsWith('{}-')", names::PREFIX);
    let allowed = [
        one_of("", "secrets", "'get'", named),
        one_of("", "configmaps", "'get'", named),
        one_of(GROUP, "providers", "'get', 'list', 'watch'", &its_own),
        one_of(GROUP, "providers/status", "'patch'", &its_own),
        one_of("coordination.k8s.io", "leases", "'get', 'create', 'update'", &lease),
        // an Event's name is not known beforehand
        one_of("events.k8s.io", "events", "'create'", "!has(r.resourceNames)"),
    ];
    let row = format!("object.?rules.orValue([]).all(r, !has(r.nonResourceURLs) && ({}))", allowed.join(" || "));
    let rules = vec![
        (at_home(), "the operator makes a Role in the namespace of its Provider"),
        (
            written(&row),
            "the operator grants get on named Secrets and ConfigMaps, one Provider and its status, one Lease and Events; nothing else",
        ),
    ];
    minted(install, ("rbac.authorization.k8s.io", "v1", "roles"), comment, rules)
}
