//! The command line: one file per verb.
pub mod operator;
pub mod provider;

use clap::{Parser, Subcommand};

/// A Kubernetes operator and its installer for registering virtualization backends.
#[derive(Debug, Parser)]
#[command(name = "banlieue", version)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// The verbs.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Run the operator: one workload per Provider.
    Operator(operator::Args),
    /// Run the provider of a backend: log in, probe, report.
    Provider(provider::Args),
}

/// Runs the verb to its end.
pub async fn run(cli: Cli) -> anyhow::Result<()> {
    match cli.command {
        Command::Operator(args) => operator::run(args).await,
        Command::Provider(args) => provider::run(args).await,
    }
}
