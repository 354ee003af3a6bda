//! The adapter: the only place that says `kube`.
//!
//! A [`reconcile`] reads: [`look`] (client) → [`manifests`] → [`observe`] → [`step`](crate::fsm::step) → [`cluster`]
//! (client) → [`memory`].
mod audit;
pub mod bootstrap;
pub mod cache;
pub mod caches;
pub mod check;
pub mod client;
pub mod cluster;
pub mod complaint;
pub mod controller;
pub mod crd;
pub mod diff;
mod escape;
pub mod event;
pub mod failure;
pub mod fence;
pub mod files;
pub mod fleet;
pub mod health;
pub mod kinds;
mod known;
mod kubeconfig;
pub mod lease;
pub mod look;
pub mod manifests;
pub mod memory;
pub mod metrics;
pub mod observe;
pub mod operator;
pub mod pod;
pub mod predict;
pub mod process;
mod quantity;
mod reconcile;
pub mod refusal;
pub mod rollout;
pub mod stamp;
pub mod strict;
pub mod sweep;
pub mod time;
pub mod uninstall;
pub mod vigil;

/// An error and everything that caused it, in one line, without repeating what a cause already said.
pub fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(inner) = cause {
        let words = inner.to_string();
        if !text.contains(&words) {
            text = format!("{text}: {words}");
        }
        cause = inner.source();
    }
    text
}
