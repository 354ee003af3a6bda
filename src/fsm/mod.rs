//! The core: phases computed from what is observed. No IO, no clock, no kube, no async.
//!
//! Read [`signal`] for the precedence list, [`machine`] for the chart, [`work`] for what a phase owes.
pub mod diagram;
pub mod halt;
pub mod machine;
pub mod message;
pub mod object;
pub mod observation;
pub mod phase;
pub mod plan;
pub mod reason;
pub mod signal;
pub mod status;
#[cfg(test)]
mod tests;
mod work;

pub use halt::{Fault, Halt};
pub use machine::step;
pub use object::{ObjectRef, Part, Sight, Stray, Wanted};
pub use observation::{Cause, Class, Deletion, Failure, Fence, Made, Observation, Paused, Place, Rollout};
pub use phase::Phase;
pub use plan::{Doomed, Effect, Mode, Plan, Transition, Wake};
pub use reason::Reason;
pub use signal::{Signal, classify};
pub use status::{ClassRef, TransitionEntry, WorkloadStatus};
