//! The command line: one file per verb.
pub mod access;
pub mod audit;
pub mod bootstrap;
pub mod check;
pub mod conditions;
pub mod controller;
pub mod crds;
pub mod election;
pub mod error;
pub mod health;
mod input;
pub mod leader;
pub mod logging;
pub mod manifests;
pub mod operator;
pub mod output;
pub mod phases;
pub mod plan;
pub mod provider;
pub mod signal;
pub mod time;
pub mod uninstall;
mod word;

use clap::{Parser, Subcommand};
use std::process::ExitCode;

/// A Kubernetes operator and its installer for registering virtualization backends.
#[derive(Debug, Parser)]
#[command(name = "banlieue", version, after_help = AFTER)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

const AFTER: &str = "\
Begin with:
  banlieue check --pre
  banlieue bootstrap operator --registry registry.example.com/infra
  banlieue check

Exit codes: 0 it was done, 1 it failed, 64 it was asked for wrongly. 2 is `plan` alone: something would change.";

/// The verbs.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Install banlieue in a cluster, or print what would be installed.
    #[command(subcommand)]
    Bootstrap(bootstrap::Command),
    /// Say whether an installation is whole, or whether one would work.
    Check(check::Args),
    /// Print what the operator would do for a Provider, and do nothing.
    Plan(plan::Args),
    /// Remove an installation, after showing what goes and what stays.
    Uninstall(uninstall::Args),
    /// Say what the operator did, from the audit log of an API server.
    Audit(audit::Args),
    /// Print the phases, their reasons, what each means and what to do.
    Phases(phases::Args),
    /// Print the conditions of a Provider, their reasons, what each means and what to do.
    Conditions(conditions::Args),
    /// Print the CustomResourceDefinitions.
    Crds,
    /// In its pod: run the operator, one workload per Provider.
    Operator(Role<operator::Args>),
    /// In its pod: run the controller, which sums up each ProviderClass in its status.
    Controller(Role<leader::Args>),
    /// In its pod: run the provider of a backend, which logs in, probes and reports.
    Provider(Role<provider::Args>),
    /// Write the files under deploy/.
    #[command(hide = true)]
    Manifests(manifests::Args),
}

/// A verb that runs until it is told to stop, and logs.
#[derive(clap::Args, Debug)]
pub struct Role<A: clap::Args> {
    /// How it logs.
    #[command(flatten)]
    pub logging: logging::Args,
    /// Its own flags.
    #[command(flatten)]
    pub args: A,
}

/// Runs the verb to its end, and says how the process ends where it did not fail.
///
/// # Errors
/// With one line for people; [`error::Usage`] where the command line is to blame.
pub async fn run(cli: Cli) -> anyhow::Result<ExitCode> {
    match cli.command {
        Command::Bootstrap(command) => {
            logging::quietly()?;
            bootstrap::run(command).await
        }
        Command::Check(args) => {
            logging::quietly()?;
            return check::run(args).await;
        }
        Command::Plan(args) => {
            logging::quietly()?;
            return plan::run(args).await;
        }
        Command::Audit(args) => return audit::run(&args),
        Command::Uninstall(args) => {
            logging::quietly()?;
            uninstall::run(args).await
        }
        Command::Operator(role) => {
            role.logging.start()?;
            operator::run(role.args).await
        }
        Command::Controller(role) => {
            role.logging.start()?;
            controller::run(role.args).await
        }
        Command::Provider(role) => {
            role.logging.start()?;
            provider::run(role.args).await
        }
        Command::Phases(args) => phases::run(&args),
        Command::Conditions(args) => conditions::run(&args),
        Command::Crds => crds::run(),
        Command::Manifests(args) => manifests::run(&args),
    }
    .and_then(|()| output::said())
    .map(|()| ExitCode::SUCCESS)
}

#[cfg(test)]
mod tests {
    use super::Cli;
    use clap::{Command, CommandFactory};

    #[test]
    fn the_command_line_is_sound() {
        Cli::command().debug_assert();
    }

    /// Whoever knows a flag from one verb, or from kubectl, finds it under the others.
    #[test]
    fn a_flag_has_one_short_form() {
        fn shorts(command: &Command, long: &str, found: &mut Vec<Option<char>>) {
            found.extend(command.get_arguments().filter(|a| a.get_long() == Some(long)).map(|a| a.get_short()));
            command.get_subcommands().for_each(|c| shorts(c, long, found));
        }
        for (long, short, least) in [("namespace", 'n', 9), ("output", 'o', 5)] {
            let mut found = Vec::new();
            shorts(&Cli::command(), long, &mut found);
            assert!(found.len() >= least && found.iter().all(|s| *s == Some(short)), "--{long}: {found:?}");
        }
    }
}
