//! The state machine alone: the product's own files, built without a client of Kubernetes.
//!
//! Three things want it so: mutants, hundreds of which are built and tested one after the other; the whole sweep and the
//! whole search, which want the optimiser and nothing of the rest; and the live suite that holds the model of the API
//! server to the real one.
#[path = "../../src/effects/mod.rs"]
pub mod effects;
#[path = "../../src/fsm/mod.rs"]
pub mod fsm;
/// The model of the API server, for the live suite that holds it to the real one.
#[cfg(not(test))]
#[path = "../../src/fsm/tests/server/mod.rs"]
pub mod server;
