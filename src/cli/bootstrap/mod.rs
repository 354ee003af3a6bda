//! `banlieue bootstrap`: the installer.
mod operator;
mod provider;

use super::access::Access;
use super::error::Usage;
use super::output::say;
use super::time::span;
use super::word::one_of;
use crate::k8s::bootstrap::{Conduct, Event, Outcome, install};
use crate::k8s::client::Client;
use crate::k8s::crd::LogFormat;
use crate::k8s::manifests::install::{Install, Object, Stage};
use crate::k8s::manifests::names::DEFAULT_NAMESPACE;
use std::collections::HashMap;
use std::time::Duration;

/// What can be installed.
#[derive(clap::Subcommand, Debug)]
pub enum Command {
    /// Install operator and controller: kinds, policies, roles, Deployments, and a ProviderClass per backend.
    ///
    /// Run it again at any time: what is as it should be is not written, and what went wrong half way is taken up there.
    Operator(operator::Args),
    /// Install the provider of a backend without an operator: it serves every Provider of that backend in one namespace.
    ///
    /// The kinds and the controller have to be there (deploy/crds and deploy/controller). Run it again to upgrade.
    Provider(provider::Args),
}

/// What every installation is asked.
#[derive(clap::Args, Debug)]
pub struct Common {
    /// Where to install
    #[arg(long, short, default_value = DEFAULT_NAMESPACE)]
    pub namespace: String,
    /// The tag of the image
    #[arg(long, value_name = "TAG", default_value = Install::VERSION)]
    pub version: String,
    /// Where the image is: it is <REGISTRY>/banlieue:<TAG>
    #[arg(long, default_value = Install::REGISTRY)]
    pub registry: String,
    /// The digest of the image, such as sha256:0123…; it wins over the tag
    #[arg(long, value_name = "DIGEST")]
    pub image_digest: Option<String>,
    /// The Secret for pulling the image; it has to be in the namespace of the pods
    #[arg(long, value_name = "NAME")]
    pub image_pull_secret: Option<String>,
    /// The form of the pods' logs
    #[arg(long, value_parser = one_of([LogFormat::Json, LogFormat::Text], LogFormat::as_str), value_name = "FORM")]
    pub log_format: Option<LogFormat>,
    /// Print the YAML and exit: no kubeconfig is read, no cluster contacted
    #[arg(long, conflicts_with = "plan")]
    pub dry_run: bool,
    /// Say what would be created or changed, and do nothing
    #[arg(long)]
    pub plan: bool,
    /// Wait until the pods are available, as is the default
    #[arg(long, overrides_with = "no_wait")]
    pub wait: bool,
    /// Do not wait until the pods are available
    #[arg(long, overrides_with = "wait")]
    pub no_wait: bool,
    /// How long to wait: 90s, 5m or 1h
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
    match command {
        Command::Operator(args) => operator::run(args).await,
        Command::Provider(args) => provider::run(args).await,
    }
}

impl Common {
    fn install(&self) -> Result<Install, Usage> {
        let install = Install::new(&self.namespace, &self.version, &self.registry)
            .and_then(|i| i.digest(self.image_digest.clone()))
            .and_then(|i| i.pull_secret(self.image_pull_secret.clone()));
        Ok(install.map_err(Usage::of)?.log_format(self.log_format))
    }

    /// Applies the objects of `what`, tells of each, and at the end what was done, and to how many.
    async fn apply(&self, client: &Client, objects: &[Object], reset_classes: bool, what: &str) -> anyhow::Result<()> {
        let conduct = Conduct { reset_classes, plan: self.plan, wait: (!self.no_wait).then_some(self.timeout) };
        let mut counts = HashMap::new();
        let mut tell = |event| match event {
            Event::Applied(outcome, object, fields) => {
                *counts.entry(outcome).or_insert(0) += 1;
                if self.plan {
                    say(&format!("{:<12}  {object}", outcome.planned()));
                } else {
                    say(&format!("{outcome:<9}  {object}"));
                }
                fields.iter().for_each(|field| say(&format!("              {field}")));
            }
            Event::Waiting(what) => say(&format!("waiting    {what}")),
        };
        install(client, objects, conduct, &mut tell).await?;
        let of_stage = |stage| objects.iter().any(|o| o.stage == stage);
        let done = match self.plan {
            true => "would be installed",
            false if of_stage(Stage::Workloads) && !self.no_wait => "installed and available",
            false if objects.iter().all(|o| o.stage == Stage::Crds) => "established",
            false => "applied",
        };
        say(&summary(&counts, &format!("{done}: {what}")));
        Ok(())
    }
}

fn summary(counts: &HashMap<Outcome, usize>, done: &str) -> String {
    let of = |outcome| counts.get(&outcome).copied().unwrap_or(0);
    let mut text = format!(
        "{done}; {} objects: {} created, {} changed, {} unchanged",
        counts.values().sum::<usize>(),
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
