//! `banlieue uninstall`: shows what goes and what stays, asks, and removes it.
use super::access::Access;
use super::error::Usage;
use super::output::{print, say};
use super::word::one_of;
use crate::k8s::client::Purpose;
use crate::k8s::crd::Backend;
use crate::k8s::manifests::install::Install;
use crate::k8s::manifests::names::DEFAULT_NAMESPACE;
use crate::k8s::uninstall::{Scope, Step, Survey, remove, survey};
use std::io::{BufRead, IsTerminal};

/// Its flags.
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Examples:
  # what would go, and what would stay
  banlieue uninstall --dry-run
  # everything, Providers and the namespace too
  banlieue uninstall --all
  # the static provider of a namespace
  banlieue uninstall --provider vsphere --namespace infra

Exit codes: 0 it is done or there was nothing to do, 1 it failed, 64 it was asked for wrongly.")]
pub struct Args {
    /// Where it is installed
    #[arg(long, short, default_value = DEFAULT_NAMESPACE)]
    pub namespace: String,
    /// Remove the static provider of this backend, and nothing else
    #[arg(long, value_name = "BACKEND", value_parser = one_of(Backend::ALL, Backend::as_str), conflicts_with = "all")]
    pub provider: Option<Backend>,
    /// Remove kinds, classes, every Provider and the namespace too
    #[arg(long)]
    pub all: bool,
    /// Do not ask
    #[arg(long, short)]
    pub yes: bool,
    /// Print what goes and what stays, and remove nothing
    #[arg(long, conflicts_with = "yes")]
    pub dry_run: bool,
    /// Which cluster.
    #[command(flatten)]
    pub access: Access,
}

/// Removes an installation.
///
/// # Errors
/// One line: which object, why, and what to do.
pub async fn run(args: Args) -> anyhow::Result<()> {
    let install = Install::new(&args.namespace, Install::VERSION, Install::REGISTRY).map_err(Usage::of)?;
    let scope = match args.provider {
        Some(backend) => Scope::Provider(backend),
        None if args.all => Scope::All,
        None => Scope::Operator,
    };
    let client = args.access.connect(Purpose::Person).await?;
    let found = survey(&client, &install, scope).await?;
    if found.is_empty() {
        nothing(&args, &found);
        return Ok(());
    }
    show(&found, scope);
    if args.dry_run {
        say("nothing was removed: this is what would be");
        return Ok(());
    }
    if !args.yes && !agreed()? {
        say("nothing was removed");
        return Ok(());
    }
    let mut tell = |step| match step {
        Step::Removed(what) => say(&format!("removed    {what}")),
        Step::Waiting(what) => say(&format!("waiting    {what}")),
    };
    remove(&client, &found, &mut tell).await?;
    let what = args.provider.map_or("banlieue".into(), |backend| format!("the static {backend} provider"));
    say(&format!("{what} is removed from {}", args.namespace));
    Ok(())
}

/// Says that there is nothing to do, and what somebody may have looked for.
fn nothing(args: &Args, found: &Survey) {
    found.stays.iter().for_each(|stays| say(&format!("stays      {stays}")));
    let what = match args.provider {
        Some(backend) => format!("no static {backend} provider is"),
        None => "banlieue is not".into(),
    };
    say(&format!("{what} installed in {}: there is nothing to remove", args.namespace));
    found.hint.iter().for_each(|hint| say(hint));
}

fn show(found: &Survey, scope: Scope) {
    for goes in &found.goes {
        say(&format!("goes       {goes}"));
    }
    for other in &found.others {
        say(&format!("goes       {other}, with the namespace: it is not of banlieue"));
    }
    for provider in &found.providers {
        let (meta, ends) = (&provider.metadata, provider.metadata.deletion_timestamp.is_some());
        let name = format!("{}/{}", meta.namespace.as_deref().unwrap_or(""), meta.name.as_deref().unwrap_or(""));
        say(&match scope {
            Scope::All => format!("goes       Provider {name} and its workload"),
            Scope::Operator if ends => {
                format!("goes       Provider {name}: it is being deleted, and our finalizer goes")
            }
            Scope::Operator => format!("stays      Provider {name}; its workload, our finalizer and its status go"),
            Scope::Provider(_) => format!("stays      Provider {name}; its status goes"),
        });
    }
    found.ending.iter().for_each(|ending| say(&format!("goes       {ending}")));
    for stays in &found.stays {
        say(&format!("stays      {stays}"));
    }
}

/// Asks who sits there. Where nobody does, it takes a flag.
fn agreed() -> anyhow::Result<bool> {
    let stdin = std::io::stdin();
    if !stdin.is_terminal() {
        return Err(Usage::of("nobody is there to ask: give --yes to remove it").into());
    }
    print("Remove it? [y/N] ")?;
    let mut answer = String::new();
    stdin.lock().read_line(&mut answer)?;
    Ok(matches!(answer.trim(), "y" | "Y" | "yes"))
}
