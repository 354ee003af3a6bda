//! The provider's pod, Kubernetes' side of it: watch its one Provider, read its Secret and CA source, hold its Lease, write
//! its status. What a backend is stays behind [`Probe`].
mod conditions;
mod event;
pub mod herd;
mod home;
mod meter;
mod pace;
mod reported;
mod runner;
mod sources;
mod status;

pub use runner::{Pod, READY};

use super::crd::{Backend, BackendInfo, Connection, FailureDomain, Finding};
use std::collections::BTreeMap;

/// Which Provider a pod serves, and which pod it is.
#[derive(Clone, Debug)]
pub struct Options {
    /// The backend it speaks.
    pub backend: Backend,
    /// The namespace of its Provider.
    pub namespace: String,
    /// The name of its Provider.
    pub provider: String,
    /// The uid of its Provider. For another one of that name it neither logs in nor writes. Without it, any is served.
    pub provider_uid: Option<String>,
    /// The name of the pod, for Events.
    pub pod_name: String,
    /// The uid of the pod: it holds the Lease by it.
    pub pod_uid: String,
}

/// What it takes to reach a backend, as the API server has it now. Not `Debug`: it holds the Secret.
#[derive(Clone, PartialEq)]
pub struct Target {
    /// From the Provider.
    pub connection: Connection,
    /// The data of its Secret.
    pub secret: BTreeMap<String, Vec<u8>>,
    /// The bytes that its `caBundle` leads to.
    pub ca_bundle: Option<Vec<u8>>,
}

/// What a look at the backend has found.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Seen {
    /// One for each aspect that was looked at; the last one is what went wrong, unless it was reached.
    pub findings: Vec<Finding>,
    /// What the backend says of itself, where it was reached.
    pub info: Option<BackendInfo>,
    /// The failure domains, where they were asked for and could be read.
    pub domains: Option<Vec<FailureDomain>>,
    /// Whether it was reached and let us in.
    pub reached: bool,
}

/// What looks at a backend.
pub trait Probe: Send {
    /// Looks once; `inventory` where the failure domains are wanted too. It takes seconds at most.
    fn probe(&mut self, target: &Target, inventory: bool) -> impl Future<Output = Seen> + Send;
    /// Gives back the login, if there is one.
    fn logout(&mut self) -> impl Future<Output = ()> + Send;
}
