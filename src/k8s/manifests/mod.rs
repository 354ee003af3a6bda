//! Pure builders, one object a file, shared by the operator and the installer.
pub mod cluster_role_binding;
pub mod deployment;
pub mod install;
pub mod labels;
pub mod names;
pub mod pod;
pub mod role;
pub mod role_binding;
pub mod service_account;
#[cfg(test)]
mod tests;
pub mod workload;

pub use workload::{Manifest, Workload, five};
