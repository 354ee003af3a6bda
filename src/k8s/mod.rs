//! The adapter: the only place that says `kube`.
pub mod bootstrap;
pub mod client;
pub mod crd;
pub mod failure;
pub mod health;
mod kubeconfig;
pub mod lease;
pub mod manifests;
