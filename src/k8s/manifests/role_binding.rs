//! Grants the Role to the pods.
use super::Workload;
use crate::fsm::Part;
use k8s_openapi::api::rbac::v1::{RoleBinding, RoleRef, Subject};

/// The RoleBinding, beside the Role.
pub fn build(workload: &Workload<'_>) -> RoleBinding {
    RoleBinding {
        metadata: workload.metadata(Part::RoleBinding),
        role_ref: RoleRef {
            api_group: Some("rbac.authorization.k8s.io".into()),
            kind: Part::Role.kind().into(),
            name: workload.object(Part::Role).name,
        },
        subjects: Some(vec![subject(workload)]),
    }
}

/// The ServiceAccount of the pods, as both bindings name it.
pub(super) fn subject(workload: &Workload<'_>) -> Subject {
    let account = workload.object(Part::ServiceAccount);
    Subject {
        kind: Part::ServiceAccount.kind().into(),
        name: account.name,
        namespace: account.namespace,
        ..Default::default()
    }
}
