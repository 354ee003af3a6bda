//! The backends behind one small trait: each a folder and a cargo feature. A new one is its folder, a variant of
//! [`Backend`], and a row in [`connect`].
#![cfg_attr(
    not(all(feature = "vsphere", feature = "libvirt", feature = "proxmox")),
    allow(dead_code, reason = "what only a backend that is left out needs")
)]
mod cause;
#[cfg(test)]
mod fixture;
mod http;
mod keeper;
mod label;
#[cfg(feature = "libvirt")]
pub mod libvirt;
mod meter;
#[cfg(feature = "proxmox")]
pub mod proxmox;
mod target;
mod tls;
#[cfg(feature = "vsphere")]
pub mod vsphere;

pub use keeper::{Keeper, Outcome};
pub use meter::Meter;
pub use target::{Credentials, Target};

use crate::k8s::crd::{Backend, BackendInfo, FailureDomain, Finding, FindingReason};
use futures::future::BoxFuture;

/// A connection to one backend: at most one login at a time, kept between probes.
pub trait Session: Send {
    /// Asks whether the backend is there and lets us in; logs in first where that is due. An expired session is renewed
    /// in here and is no failure.
    fn probe(&mut self) -> BoxFuture<'_, Result<Probe, Finding>>;
    /// Reads what can be a failure domain; after a good [`Session::probe`].
    fn inventory(&mut self) -> BoxFuture<'_, Result<Inventory, Finding>>;
    /// Gives the login back; failures are not reported, as there is nobody left to act on them.
    fn logout(&mut self) -> BoxFuture<'_, ()>;
}

/// What a good probe has found.
#[derive(Clone, Debug, PartialEq)]
pub struct Probe {
    /// What the backend says of itself.
    pub info: BackendInfo,
    /// Why the version should be looked at, if it should.
    pub untested: Option<String>,
    /// What else people may want to know of it, where there is something that does not change from look to look.
    pub about: Option<String>,
}

/// What of a backend fails on its own.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Inventory {
    /// Sorted by name; the order in which the backend answers does not show.
    pub domains: Vec<FailureDomain>,
    /// What could not be read or told apart, a sentence each, sorted.
    pub problems: Vec<String>,
}

/// Prepares a session; nothing is sent yet.
///
/// # Errors
/// What is wrong with the target itself: endpoint, credentials, CA bundle. Or that this build lacks the backend.
pub fn connect(backend: Backend, target: &Target, meter: &Meter) -> Result<Box<dyn Session>, Finding> {
    match backend {
        #[cfg(feature = "vsphere")]
        Backend::Vsphere => Ok(Box::new(vsphere::Vsphere::connect(target, meter)?)),
        #[cfg(feature = "libvirt")]
        Backend::Libvirt => Ok(Box::new(libvirt::Libvirt::connect(target, meter)?)),
        #[cfg(feature = "proxmox")]
        Backend::Proxmox => Ok(Box::new(proxmox::Proxmox::connect(target, meter)?)),
        #[allow(unreachable_patterns, reason = "a build may leave some out")]
        missing => {
            let _ = (target, meter);
            Err(Finding::new(FindingReason::BackendNotImplemented, format!("this build has no client for {missing}")))
        }
    }
}
