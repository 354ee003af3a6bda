//! The identity of the pods.
use super::Workload;
use crate::fsm::Part;
use k8s_openapi::api::core::v1::ServiceAccount;

/// The ServiceAccount. The pod mounts its token by itself; nothing else gets one.
pub fn build(workload: &Workload<'_>) -> ServiceAccount {
    ServiceAccount {
        metadata: workload.metadata(Part::ServiceAccount),
        automount_service_account_token: Some(false),
        ..Default::default()
    }
}
