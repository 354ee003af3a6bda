//! [`Provider`]: one virtualization backend.
use super::{Connection, ProviderStatus};
use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What is wanted of this backend: the class that says what runs for it, and how it is reached.
#[derive(Clone, CustomResource, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[kube(
    group = "banlieue.io",
    version = "v1alpha1",
    kind = "Provider",
    namespaced,
    status = "ProviderStatus",
    derive = "PartialEq",
    shortname = "prov",
    category = "banlieue",
    selectable = ".spec.providerClassRef.name",
    doc = "A Provider registers one virtualization backend (a vCenter, a Proxmox cluster, a libvirt host). The operator runs one workload for it, as its ProviderClass says; that workload logs in to the backend and reports here what it finds.",
    printcolumn(
        name = "Class",
        type_ = "string",
        json_path = ".spec.providerClassRef.name",
        description = "The ProviderClass."
    ),
    printcolumn(
        name = "Phase",
        type_ = "string",
        json_path = ".status.workload.phase",
        description = "Where the workload stands."
    ),
    printcolumn(
        name = "Ready",
        type_ = "string",
        json_path = ".status.conditions[?(@.type==\"Ready\")].status",
        description = "Whether the backend is usable."
    ),
    printcolumn(
        name = "Version",
        type_ = "string",
        json_path = ".status.backend.version",
        description = "The version of the backend."
    ),
    printcolumn(
        name = "Age",
        type_ = "date",
        json_path = ".metadata.creationTimestamp",
        description = "The time since its creation."
    ),
    printcolumn(
        name = "Reason",
        type_ = "string",
        priority = 1,
        json_path = ".status.workload.reason",
        description = "Why the workload is in its phase."
    ),
    printcolumn(
        name = "Endpoint",
        type_ = "string",
        priority = 1,
        json_path = ".spec.connection.endpoint",
        description = "The URL of the backend."
    ),
    printcolumn(
        name = "Image",
        type_ = "string",
        priority = 1,
        json_path = ".status.workload.image",
        description = "The image of the workload."
    ),
    printcolumn(
        name = "Workload Namespace",
        type_ = "string",
        priority = 1,
        json_path = ".status.workload.namespace",
        description = "Where the workload runs."
    )
)]
#[serde(rename_all = "camelCase")]
pub struct ProviderSpec {
    /// The ProviderClass that says what runs for this backend. It may be repointed: to a class of the same backend it is
    /// a rolling update, to one of another backend the workload is replaced.
    pub provider_class_ref: ProviderClassRef,
    /// How the backend is reached.
    pub connection: Connection,
    /// Suspends this backend: what runs is left untouched, nothing is reconciled and the backend is not contacted. False
    /// by default. A paused Provider can still be deleted.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub paused: bool,
}

/// A ProviderClass by its name.
#[derive(Clone, Debug, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
pub struct ProviderClassRef {
    /// The name of the ProviderClass.
    #[schemars(length(min = 1, max = 253), regex(pattern = super::schema::DNS_SUBDOMAIN))]
    pub name: String,
}
