//! Parts of a pod's shape that a class may set: resources and logging.
use k8s_openapi::api::core::v1::ResourceRequirements;
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use kube::KubeSchema;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What the container may use.
///
/// A type of our own: the imported one takes `cpu: abc`, which then fails much later, at the Deployment.
#[derive(Clone, Debug, Default, Deserialize, KubeSchema, PartialEq, Serialize)]
#[schemars(description = "What the container asks for and may use at most.")]
#[x_kube(
    validation = Rule::new(quantities("requests")).field_path(".requests").message(NOT_A_QUANTITY),
    validation = Rule::new(quantities("limits")).field_path(".limits").message(NOT_A_QUANTITY),
    validation = Rule::new(WITHIN).field_path(".requests")
        .message("a request is at most its limit: no Deployment with more is taken"),
)]
pub struct Resources {
    /// What it asks for, by name, such as `cpu: 10m` and `memory: 32Mi`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(schema_with = "quantity_map")]
    pub requests: BTreeMap<String, Quantity>,
    /// What it may use at most, by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(schema_with = "quantity_map")]
    pub limits: BTreeMap<String, Quantity>,
}

const NOT_A_QUANTITY: &str = "every value is a quantity, such as 100m or 64Mi";

/// What is no quantity is told by the other rules.
const WITHIN: &str = "!has(self.requests) || !has(self.limits) || self.requests.all(k, !(k in self.limits) \
    || !isQuantity(string(self.requests[k])) || !isQuantity(string(self.limits[k])) \
    || quantity(string(self.requests[k])).compareTo(quantity(string(self.limits[k]))) <= 0)";

fn quantities(field: &str) -> String {
    format!("!has(self.{field}) || self.{field}.all(k, isQuantity(string(self.{field}[k])))")
}

/// Bounded on both sides, or the rule does not fit into the API server's cost budget.
fn quantity_map(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
    schemars::json_schema!({
        "type": "object",
        "maxProperties": 16,
        "additionalProperties": { "x-kubernetes-int-or-string": true, "maxLength": 32 },
    })
}

impl From<&Resources> for ResourceRequirements {
    fn from(ours: &Resources) -> Self {
        let some = |map: &BTreeMap<String, Quantity>| (!map.is_empty()).then(|| map.clone());
        ResourceRequirements { requests: some(&ours.requests), limits: some(&ours.limits), ..Default::default() }
    }
}

/// How the workload logs.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
#[schemars(description = "How the workload logs.")]
pub struct Logging {
    /// The least severe level that is logged: error, warn, info, debug or trace. info by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub level: Option<LogLevel>,
    /// The form of a line: json or text. json by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub format: Option<LogFormat>,
}

/// The least severe level that is logged.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, Hash, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
#[schemars(description = "The least severe level that is logged: error, warn, info, debug or trace. info by default.")]
pub enum LogLevel {
    /// What failed and will not be tried again.
    Error,
    /// What a person should look at.
    Warn,
    /// What was done.
    #[default]
    Info,
    /// What was considered.
    Debug,
    /// Everything.
    Trace,
}

impl LogLevel {
    /// The word of the API and of the command line.
    pub const fn as_str(self) -> &'static str {
        match self {
            LogLevel::Error => "error",
            LogLevel::Warn => "warn",
            LogLevel::Info => "info",
            LogLevel::Debug => "debug",
            LogLevel::Trace => "trace",
        }
    }
}

/// The form of a line of the log.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, Hash, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
#[schemars(description = "The form of a line of the log: json or text. json by default.")]
pub enum LogFormat {
    /// One JSON object a line.
    #[default]
    Json,
    /// For people.
    Text,
}

impl LogFormat {
    /// The word of the API and of the command line.
    pub const fn as_str(self) -> &'static str {
        match self {
            LogFormat::Json => "json",
            LogFormat::Text => "text",
        }
    }
}
