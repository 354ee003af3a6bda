//! [`ProviderClass`]: what runs for a class of backends.
use super::{Backend, Condition, Image, Logging, Resources, condition, schema};
use k8s_openapi::api::core::v1::{Affinity, Toleration};
use kube::{CustomResource, KubeSchema};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What runs for every Provider of this class.
#[derive(Clone, CustomResource, Debug, Deserialize, KubeSchema, PartialEq, Serialize)]
#[kube(
    group = "banlieue.io",
    version = "v1alpha1",
    kind = "ProviderClass",
    plural = "providerclasses",
    status = "ProviderClassStatus",
    derive = "PartialEq",
    shortname = "provclass",
    category = "banlieue",
    doc = "A ProviderClass says what banlieue runs for a class of backends: which backend, which image, what pod shape. An edit reaches every Provider of the class at once.",
    printcolumn(name = "Backend", type_ = "string", json_path = ".spec.backend", description = "The kind of backend."),
    printcolumn(
        name = "Image",
        type_ = "string",
        json_path = ".spec.image.repository",
        description = "The repository of the image."
    ),
    printcolumn(name = "Tag", type_ = "string", json_path = ".spec.image.tag", description = "The tag of the image."),
    printcolumn(
        name = "Providers",
        type_ = "integer",
        json_path = ".status.providers",
        description = "How many Providers name this class."
    ),
    printcolumn(
        name = "Ready",
        type_ = "integer",
        json_path = ".status.readyProviders",
        description = "How many of them are Ready."
    ),
    printcolumn(
        name = "Updated",
        type_ = "integer",
        json_path = ".status.updatedProviders",
        description = "How many of them follow the class as it is now."
    ),
    printcolumn(
        name = "Paused",
        type_ = "boolean",
        json_path = ".spec.paused",
        description = "Whether the class is suspended."
    ),
    printcolumn(
        name = "Age",
        type_ = "date",
        json_path = ".metadata.creationTimestamp",
        description = "The time since its creation."
    ),
    printcolumn(
        name = "Digest",
        type_ = "string",
        priority = 1,
        json_path = ".spec.image.digest",
        description = "The digest of the image; it wins over the tag."
    ),
    printcolumn(
        name = "Workload Namespace",
        type_ = "string",
        priority = 1,
        json_path = ".spec.workloadNamespace",
        description = "Where workloads run, if not beside their Provider."
    )
)]
#[serde(rename_all = "camelCase")]
pub struct ProviderClassSpec {
    /// The kind of backend: vsphere, libvirt or proxmox. It cannot be changed.
    #[x_kube(validation = Rule::new("self == oldSelf")
        .message("the backend of a class cannot be changed; create a class of the other backend and repoint its Providers (spec.providerClassRef.name)"))]
    pub backend: Backend,
    /// The image to run.
    pub image: Image,
    /// Where Deployment and ServiceAccount go; the namespace of each Provider by default. Role, RoleBinding and Lease
    /// stay with the Provider.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 63), regex(pattern = schema::DNS_LABEL))]
    #[x_kube(validation = Rule::new("!self.startsWith('kube-')")
        .message("workloads do not belong in the namespaces of Kubernetes itself (kube-*)"))]
    pub workload_namespace: Option<String>,
    /// How many pods each Provider gets. Left out, Kubernetes starts one and an autoscaler may own the number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = 100))]
    pub replicas: Option<i32>,
    /// What the container asks for and may use at most.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resources: Option<Resources>,
    /// The labels a node must have.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(schema_with = "schema::label_map")]
    pub node_selector: BTreeMap<String, String>,
    /// The taints of nodes that the pods tolerate.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 32), extend("x-kubernetes-list-type" = "atomic"))]
    pub tolerations: Vec<Toleration>,
    /// Which nodes and which neighbours the pods prefer, need or avoid.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub affinity: Option<Affinity>,
    /// The PriorityClass of the pods.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 253), regex(pattern = schema::DNS_SUBDOMAIN))]
    pub priority_class_name: Option<String>,
    /// Labels the pods get beside our own.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(schema_with = "schema::label_map")]
    #[x_kube(validation = Rule::new(RESERVED).message("keys of banlieue.io/ and app.kubernetes.io/ are set by banlieue itself"))]
    pub pod_labels: BTreeMap<String, String>,
    /// Annotations the pods get beside our own.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(schema_with = "schema::annotation_map")]
    #[x_kube(validation = Rule::new(RESERVED).message("keys of banlieue.io/ and app.kubernetes.io/ are set by banlieue itself"))]
    pub pod_annotations: BTreeMap<String, String>,
    /// How the workload logs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub logging: Option<Logging>,
    /// How many seconds a rollout may go without progress before it counts as failed; 600 by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 86400))]
    pub progress_deadline_seconds: Option<i32>,
    /// Suspends every Provider of the class: what runs is left untouched, nothing is reconciled. False by default.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub paused: bool,
}

const RESERVED: &str = "self.all(k, !k.startsWith('banlieue.io/') && !k.startsWith('app.kubernetes.io/'))";

/// The fleet of a class, summed up. Written by the controller alone.
#[derive(Clone, Debug, Default, Deserialize, Eq, KubeSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
#[schemars(description = "The fleet of this class, summed up. Written by the controller alone.", extend("default" = {}))]
pub struct ProviderClassStatus {
    /// Ready: whether every Provider of the class is Ready and follows the class as it is now.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 16), extend("default" = condition::awaiting()))]
    #[x_kube(merge_strategy = ListMerge::Map(vec!["type".into()]))]
    pub conditions: Vec<Condition>,
    /// The `metadata.generation` that this status speaks of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0))]
    pub observed_generation: Option<i64>,
    /// How many Providers name this class.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0))]
    pub providers: Option<i32>,
    /// How many of them have a workload in phase Ready.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0))]
    pub ready_providers: Option<i32>,
    /// How many of them have a workload made from this class as it is now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0))]
    pub updated_providers: Option<i32>,
}
