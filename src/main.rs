//! The `banlieue` binary: parse, run, exit code.
fn main() {}
