//! Grants the shared ClusterRole to the pods. It carries no owner reference: the collector would not honour it (I6).
use super::{Workload, names, role_binding::subject};
use crate::fsm::Part;
use k8s_openapi::api::rbac::v1::{ClusterRoleBinding, RoleRef};

/// The ClusterRoleBinding to `banlieue-provider-<backend>`.
pub fn build(workload: &Workload<'_>) -> ClusterRoleBinding {
    ClusterRoleBinding {
        metadata: workload.metadata(Part::ClusterRoleBinding),
        role_ref: RoleRef {
            api_group: Some("rbac.authorization.k8s.io".into()),
            kind: "ClusterRole".into(),
            name: names::shared(workload.backend()),
        },
        subjects: Some(vec![subject(workload)]),
    }
}
