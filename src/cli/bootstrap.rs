//! `banlieue bootstrap`: the installer.
use super::access::Access;
use super::election;
use super::error::Usage;
use super::time::span;
use crate::k8s::bootstrap::{Conduct, Event, Outcome, install};
use crate::k8s::client::Purpose;
use crate::k8s::crd::LogFormat;
use crate::k8s::manifests::install::{Install, yaml};
use crate::k8s::manifests::names::DEFAULT_NAMESPACE;
use std::collections::HashMap;
use std::io::{ErrorKind, Write};
use std::time::Duration;

/// What can be installed.
#[derive(clap::Subcommand, Debug)]
pub enum Command {
    /// Install operator and controller: kinds, roles, Deployments, and a ProviderClass per backend.
    ///
    /// Run it again at any time: what is as it should be is not written, and what went wrong half way is taken up there.
    Operator(Operator),
}

/// The flags of `bootstrap operator`.
#[derive(clap::Args, Debug)]
pub struct Operator {
    /// Where to install
    #[arg(long, short, default_value = DEFAULT_NAMESPACE)]
    pub namespace: String,
    /// The tag of the image
    #[arg(long, value_name = "TAG", default_value = Install::VERSION)]
    pub version: String,
    /// Where the image is: it is <REGISTRY>/banlieue:<TAG>
    #[arg(long, default_value = Install::REGISTRY)]
    pub registry: String,
    /// Print the YAML and exit: no kubeconfig is read, no cluster contacted
    #[arg(long)]
    pub dry_run: bool,
    /// Leave the ProviderClasses out
    #[arg(long)]
    pub skip_provider_classes: bool,
    /// Overwrite ProviderClasses that are there and differ: their fleets follow at once
    #[arg(long, conflicts_with_all = ["dry_run", "skip_provider_classes"])]
    pub reset_classes: bool,
    /// How many pods operator and controller have each; one of them leads
    #[arg(long, value_name = "N", default_value_t = 1, allow_negative_numbers = true)]
    pub replicas: i32,
    /// How the leaders of operator and controller are elected.
    #[command(flatten)]
    pub election: election::Args,
    /// The form of the pods' logs
    #[arg(long, value_parser = log_format, value_name = "json|text")]
    pub log_format: Option<LogFormat>,
    /// Wait until operator and controller are available, as is the default
    #[arg(long, overrides_with = "no_wait")]
    pub wait: bool,
    /// Do not wait until operator and controller are available
    #[arg(long, overrides_with = "wait")]
    pub no_wait: bool,
    /// How long to wait, such as 90s or 5m
    #[arg(long, value_parser = span, value_name = "TIME", default_value = "5m")]
    pub timeout: Duration,
    /// Which cluster.
    #[command(flatten)]
    pub access: Access,
}

/// Installs, or prints what would be installed.
///
/// # Errors
/// One line: which object, why, and what to do; [`Usage`] for a flag that cannot be used.
pub async fn run(command: Command) -> anyhow::Result<()> {
    let Command::Operator(args) = command;
    let mut wanted = Install::new(&args.namespace, &args.version, &args.registry)
        .and_then(|i| i.replicas(args.replicas))
        .map_err(Usage::of)?
        .election(args.election.timing()?)
        .log_format(args.log_format);
    if args.skip_provider_classes {
        wanted = wanted.without_provider_classes();
    }
    let objects = wanted.objects()?;
    if args.dry_run {
        return print(&yaml(&objects)?);
    }
    let client = args.access.connect(Purpose::Person).await?;
    let conduct = Conduct { reset_classes: args.reset_classes, wait: (!args.no_wait).then_some(args.timeout) };
    let mut counts = HashMap::new();
    let mut tell = |event| match event {
        Event::Applied(outcome, object) => {
            *counts.entry(outcome).or_insert(0) += 1;
            say(&format!("{outcome:<9}  {object}"));
        }
        Event::Waiting(what) => say(&format!("waiting    {what}")),
    };
    install(&client, wanted.namespace(), &objects, conduct, &mut tell).await?;
    say(&summary(&counts, &wanted, args.no_wait));
    Ok(())
}

fn summary(counts: &HashMap<Outcome, usize>, install: &Install, no_wait: bool) -> String {
    let of = |outcome| counts.get(&outcome).copied().unwrap_or(0);
    let mut text = format!(
        "{} is {} in {}: {} created, {} changed, {} unchanged",
        install.image(),
        if no_wait { "applied" } else { "installed and available" },
        install.namespace(),
        of(Outcome::Created),
        of(Outcome::Changed),
        of(Outcome::Unchanged)
    );
    match of(Outcome::Kept) {
        0 => {}
        kept => text.push_str(&format!(", {kept} kept (a ProviderClass that differs; --reset-classes overwrites it)")),
    }
    text
}

/// A line of progress. Whoever closed standard output does not want it, and still wants the installation.
fn say(line: &str) {
    let _ = writeln!(std::io::stdout(), "{line}");
}

/// Prints a stream. Whoever reads only its head ends it early, and that is no failure.
pub(super) fn print(text: &str) -> anyhow::Result<()> {
    let mut out = std::io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => Err(error.into()),
        _ => Ok(()),
    }
}

fn log_format(text: &str) -> Result<LogFormat, String> {
    let all = [LogFormat::Json, LogFormat::Text];
    all.into_iter().find(|f| f.as_str() == text).ok_or_else(|| "it is json or text".into())
}
