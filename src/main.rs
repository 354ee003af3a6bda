//! The `banlieue` binary: parse, run, exit code.
use banlieue::cli::{self, Cli, error};
use clap::Parser;
use std::process::ExitCode;

/// More than one thread, so that a busy reconcile never delays a health answer; not one per core, for pods are small.
const THREADS: usize = 2;

fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => return error::usage(&error),
    };
    // One provider of cryptography for every client; a second installation is refused and changes nothing.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(THREADS).enable_all().build();
    match runtime.map_err(Into::into).and_then(|runtime| runtime.block_on(cli::run(cli))) {
        Ok(code) => code,
        Err(error) => error::report(&error),
    }
}
