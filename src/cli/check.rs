//! `banlieue check`: whether an installation is whole, or would work. Reads and dry runs only.
use super::access::Access;
use super::error::Usage;
use super::output::Output;
use crate::k8s::check::{Line, Verdict, before, installed};
use crate::k8s::client::Purpose;
use crate::k8s::manifests::install::Install;
use crate::k8s::manifests::names::DEFAULT_NAMESPACE;
use std::process::ExitCode;

/// Its flags.
#[derive(clap::Args, Debug)]
#[command(after_help = "Exit codes: 0 nothing is wrong, 1 something is, 64 it was asked for wrongly.")]
pub struct Args {
    /// Before an installation: would it work here, and with your rights?
    #[arg(long)]
    pub pre: bool,
    /// Where it is installed, or will be
    #[arg(long, short, default_value = DEFAULT_NAMESPACE)]
    pub namespace: String,
    /// How to print it
    #[arg(short, long, value_enum, default_value = "table")]
    pub output: Output,
    /// Which cluster.
    #[command(flatten)]
    pub access: Access,
}

/// Prints a line for each check.
///
/// # Errors
/// When there is no connection.
pub async fn run(args: Args) -> anyhow::Result<ExitCode> {
    let install = Install::new(&args.namespace, Install::VERSION, Install::REGISTRY).map_err(Usage::of)?;
    let objects = install.objects()?;
    let client = args.access.connect(Purpose::Person).await?;
    let lines = if args.pre {
        before(&client, &install, &objects).await
    } else {
        let taken_over = args.access.connect_as(Purpose::Person, &install.operator()).await?;
        installed(&client, &taken_over, &install, &objects).await
    };
    args.output.print(&lines, table)?;
    let failed = lines.iter().any(|line| line.verdict == Verdict::Fail);
    Ok(if failed { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

fn table(lines: &[Line]) -> String {
    let width = lines.iter().map(|line| line.check.len()).max().unwrap_or(0);
    let each = |line: &Line| format!("{:<4}  {:<width$}  {}\n", line.verdict.as_str(), line.check, line.message);
    lines.iter().map(each).collect()
}
