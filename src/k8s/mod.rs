//! The adapter: the only place that says `kube`.
pub mod crd;
pub mod manifests;
