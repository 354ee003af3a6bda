//! The adapter: the only place that says `kube`.
pub mod crd;
pub mod health;
pub mod lease;
pub mod manifests;
