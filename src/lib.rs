//! banlieue: a Kubernetes operator and its installer for registering virtualization backends.
pub mod backends;
pub mod cli;
pub mod effects;
pub mod fsm;
pub mod k8s;
