//! The admission policies (design, section 7): what limits the operator where RBAC cannot, and what guards who asks it.
//!
//! One policy per kind, with a concrete version: the API server checks the types of no others, and a misspelt field
//! would only show when it is read. A rule that cannot be evaluated denies.
mod accounts;
mod bindings;
mod classes;
mod deployments;
mod leases;
mod policy;
mod providers;
mod roles;
mod stamp;

use super::{Install, Object};
pub use classes::ALLOWED_IMAGES;
use policy::Policy;

pub(super) fn objects(install: &Install) -> Result<Vec<Object>, serde_json::Error> {
    let mut objects = Vec::new();
    for policy in all(install) {
        objects.extend(policy.objects(install)?);
    }
    Ok(objects)
}

fn all(install: &Install) -> Vec<Policy> {
    vec![
        accounts::fence(install),
        roles::fence(install),
        bindings::of_roles(install),
        bindings::of_cluster_roles(install),
        deployments::fence(install),
        leases::fence(install),
        providers::fence(install),
        providers::status(install),
        providers::owner_of_status(install),
        providers::deputy(),
        classes::guard(install),
    ]
}
