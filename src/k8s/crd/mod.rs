//! The API: [`Provider`] and [`ProviderClass`] (group `banlieue.io`, version `v1alpha1`).
//!
//! [`crds`] is what is installed. Do not use `Provider::crd()` in its place: the derived schema says `nullable` on every
//! optional field, which stores explicit nulls and makes defaults vanish.
#![allow(unreachable_pub, reason = "KubeSchema copies each struct, with its visibility, into a function")]
#![allow(clippy::duplicated_attributes, reason = "printer columns share a priority")]

pub mod backend;
pub mod class;
pub mod condition;
pub mod connection;
pub mod finding;
pub mod image;
pub mod pod;
pub mod provider;
mod schema;
pub mod status;
#[cfg(test)]
mod tests;

pub use backend::Backend;
pub use class::{ProviderClass, ProviderClassSpec, ProviderClassStatus};
pub use condition::{Condition, ConditionStatus};
pub use connection::{CaBundle, Connection, CredentialsRef, KeyRef};
pub use finding::{Aspect, Finding, FindingReason, Retry};
pub use image::{Image, PullPolicy, PullSecret};
pub use pod::{LogFormat, LogLevel, Logging, Resources};
pub use provider::{Provider, ProviderClassRef, ProviderSpec};
pub use status::{BackendInfo, FailureDomain, ProviderStatus};

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::CustomResourceExt;

/// Both CustomResourceDefinitions, always in the same order: Provider, then ProviderClass.
pub fn crds() -> Vec<CustomResourceDefinition> {
    [Provider::crd(), ProviderClass::crd()].into_iter().map(schema::finish).collect()
}

/// A CustomResourceDefinition as YAML.
///
/// # Errors
/// None is expected: a definition that cannot be written as YAML.
pub fn yaml(crd: &CustomResourceDefinition) -> Result<String, serde_saphyr::SerializeError> {
    serde_saphyr::to_string(crd)
}
