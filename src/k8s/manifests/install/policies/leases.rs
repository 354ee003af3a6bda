//! Leases: the operator's own.
use super::super::Install;
use super::policy::{Policy, operator};
use crate::k8s::manifests::names;

pub(super) fn fence(install: &Install) -> Policy {
    let kind = ("coordination.k8s.io", "v1", "leases");
    let own = format!(
        "request.namespace == '{}' && (request.operation == 'DELETE' ? oldObject : object).metadata.name == '{}'",
        install.namespace,
        names::OPERATOR
    );
    Policy {
        name: names::fence(kind.2),
        comment: "The operator writes one Lease: the one by which it leads.",
        component: "operator",
        kind,
        operations: &["CREATE", "UPDATE", "DELETE"],
        conditions: vec![("the-operator-asks", operator(install))],
        rules: vec![(own, "fence: the operator writes no Lease but its own".into())],
    }
}
