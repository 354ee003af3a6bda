//! The product's program as a person runs it.
use anyhow::{Context, Result, ensure};
use std::path::Path;
use std::process::{Command, Output, Stdio};

/// Runs it to its end. Nobody is there to answer what it asks.
pub fn run(program: &Path, kubeconfig: &Path, args: &[&str]) -> Result<Output> {
    let mut command = Command::new(program);
    command.args(args).stdin(Stdio::null()).env("KUBECONFIG", kubeconfig).env("NO_PROXY", "*");
    command.output().context("cannot run the program")
}

/// What it prints where it must not fail.
pub fn done(program: &Path, kubeconfig: &Path, args: &[&str]) -> Result<String> {
    let output = run(program, kubeconfig, args)?;
    ensure!(output.status.success(), "{args:?}: {}", text(&output));
    Ok(text(&output))
}

/// All that it printed.
pub fn text(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}
