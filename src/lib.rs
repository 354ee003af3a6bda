//! banlieue: a Kubernetes operator and its installer for registering virtualization backends.
//!
//! In a minute: a person applies a [`Provider`](k8s::crd::Provider); the operator runs one pod for it; the pod logs in to
//! the backend and says in the Provider's status what it found. The operator's part is one pipeline, run again whenever
//! something it watches has changed:
//!
//! 1. [`look`](k8s::look) asks caches and API for what there is,
//! 2. [`manifests`](k8s::manifests) builds what there should be: five objects,
//! 3. [`observe`](k8s::observe) turns both into an [`Observation`](fsm::Observation), which is all that a decision may depend on,
//! 4. [`step`](fsm::step) decides: a pure function from the recorded status and the observation to a [`Plan`](fsm::Plan),
//! 5. [`execute`](effects::execute) walks the plan, one effect after the other, and has no choices.
//!
//! Phases are readings of what is there, not memories, so a crash between any two effects loses nothing: the next run of
//! the pipeline owes exactly what is still missing.
//!
//! The modules name each other in one direction: `cli -> k8s -> effects -> fsm`, and `backends -> k8s::crd`.

// what prints so panics where nobody reads it: `cli::output` does not
#![cfg_attr(not(test), warn(clippy::print_stdout, clippy::print_stderr))]

pub mod backends;
pub mod cli;
pub mod effects;
pub mod fsm;
pub mod k8s;
