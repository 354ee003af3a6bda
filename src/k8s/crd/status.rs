//! [`ProviderStatus`]: what the operator and the provider's pod have found. Each field has exactly one writer.
use super::{Condition, condition};
use crate::fsm::WorkloadStatus;
use kube::KubeSchema;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What has been found about a backend and its workload.
#[derive(Clone, Debug, Default, Deserialize, KubeSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
#[schemars(
    description = "What has been found. `workload` is written by the operator alone, everything else by the provider's pod alone.",
    extend("default" = {})
)]
pub struct ProviderStatus {
    /// The workload that the operator runs for this backend. Written by the operator alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workload: Option<WorkloadStatus>,
    /// What the backend said: Ready, Reachable, Authenticated and others. Written by the provider's pod alone.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 16), extend("default" = condition::awaiting()))]
    #[x_kube(merge_strategy = ListMerge::Map(vec!["type".into()]))]
    pub conditions: Vec<Condition>,
    /// The places of the backend that fail independently of each other, sorted by name. Written by the provider's pod
    /// alone.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 128))]
    #[x_kube(merge_strategy = ListMerge::Map(vec!["name".into()]))]
    pub failure_domains: Vec<FailureDomain>,
    /// What the backend is. Written by the provider's pod alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub backend: Option<BackendInfo>,
    /// The `metadata.generation` that the provider's pod last acted on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0))]
    pub observed_generation: Option<i64>,
}

/// What a backend says of itself.
#[derive(Clone, Debug, Default, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
#[schemars(description = "What the backend says of itself.")]
pub struct BackendInfo {
    /// The product, in its maker's words, such as `VMware vCenter Server`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 253))]
    pub product: Option<String>,
    /// The version, such as `8.0.3`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 253))]
    pub version: Option<String>,
    /// The build.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 253))]
    pub build: Option<String>,
    /// The version of its API, where that is another one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 253))]
    pub api_version: Option<String>,
    /// What identifies this very instance: an upgrade keeps it, a new installation has another.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 253))]
    pub instance_uuid: Option<String>,
}

/// A place of a backend that fails on its own: a cluster of a vCenter, a node of Proxmox, a libvirt host.
#[derive(Clone, Debug, Default, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
#[schemars(
    description = "A place of the backend that fails on its own: a cluster of a vCenter, a node of Proxmox, a libvirt host."
)]
pub struct FailureDomain {
    /// Its name, unique within the Provider.
    #[schemars(length(min = 1, max = 253))]
    pub name: String,
    /// The datacenter it lies in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 253))]
    pub datacenter: Option<String>,
    /// The cluster it is, or belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 253))]
    pub cluster: Option<String>,
    /// The host, where the domain is a single one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 253))]
    pub host: Option<String>,
    /// The datastores or storage pools its machines can use, sorted; the first 64.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 64), inner(length(max = 253)), extend("x-kubernetes-list-type" = "atomic"))]
    pub datastores: Vec<String>,
    /// The networks its machines can use, sorted; the first 64.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 64), inner(length(max = 253)), extend("x-kubernetes-list-type" = "atomic"))]
    pub networks: Vec<String>,
}
