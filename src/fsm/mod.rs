//! The core: phases computed from what is observed. No IO, no clock, no kube, no async.
//!
//! Read [`signal`] for the precedence list, [`machine`] for the chart, [`plan`] for what a step owes.
pub mod phase;
pub mod reason;
pub mod status;

pub use phase::Phase;
pub use reason::Reason;
pub use status::{ClassRef, TransitionEntry, WorkloadStatus};
