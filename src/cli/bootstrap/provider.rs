//! `banlieue bootstrap provider`.
use super::Common;
use crate::cli::output::print;
use crate::cli::word::{compiled, one_of};
use crate::k8s::bootstrap::refuse_operator;
use crate::k8s::client::Purpose;
use crate::k8s::crd::Backend;
use crate::k8s::manifests::install::yaml;

/// Its flags.
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Example:
  banlieue bootstrap provider vsphere --namespace team-a --registry registry.example.com/infra")]
pub struct Args {
    /// The kind of the backends it serves
    #[arg(value_parser = one_of(Backend::ALL, Backend::as_str))]
    pub backend: Backend,
    /// What every installation is asked.
    #[command(flatten)]
    pub common: Common,
    /// Install it though an operator is installed: both would serve the same Providers
    #[arg(long)]
    pub force: bool,
}

pub(super) async fn run(args: Args) -> anyhow::Result<()> {
    let install = args.common.install()?;
    compiled(args.backend)?;
    let objects = install.provider(args.backend)?;
    if args.common.dry_run {
        return print(&yaml(&objects)?);
    }
    let client = args.common.access.connect(Purpose::Person).await?;
    if !args.force {
        refuse_operator(&client).await?;
    }
    let what = format!("the {} provider {} in {}", args.backend, install.image(), install.namespace());
    args.common.apply(&client, &objects, false, &what).await
}
