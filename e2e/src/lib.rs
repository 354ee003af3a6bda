//! The local cluster and its live tests.
