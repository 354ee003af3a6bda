//! `banlieue bootstrap operator`.
use super::{Common, Usage};
use crate::cli::election;
use crate::cli::output::print;
use crate::k8s::bootstrap::refuse_elsewhere;
use crate::k8s::client::Purpose;
use crate::k8s::manifests::install::{Section, yaml};

/// Its flags.
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Examples:
  # what it would create or change
  banlieue bootstrap operator --registry registry.example.com/infra --plan
  # install it, or bring it up to this version
  banlieue bootstrap operator --registry registry.example.com/infra
  # as files, for GitOps
  banlieue bootstrap operator --registry registry.example.com/infra --dry-run > banlieue.yaml")]
pub struct Args {
    /// What every installation is asked.
    #[command(flatten)]
    pub common: Common,
    /// One part alone: on an empty cluster nothing is taken before its kind is known
    #[arg(long, value_enum, value_name = "PART")]
    pub part: Option<Part>,
    /// Leave the ProviderClasses out
    #[arg(long)]
    pub skip_provider_classes: bool,
    /// Overwrite ProviderClasses that are there and differ: their fleets follow at once
    #[arg(long, conflicts_with_all = ["dry_run", "skip_provider_classes"])]
    pub reset_classes: bool,
    /// Only images under this prefix run for Providers, such as registry.example.com/infra; may be given again
    #[arg(long = "allow-images", value_name = "PREFIX")]
    pub allowed_images: Vec<String>,
    /// How many pods operator and controller have each; one of them leads
    #[arg(long, value_name = "N", default_value_t = 1, allow_negative_numbers = true)]
    pub replicas: i32,
    /// How the leaders of operator and controller are elected.
    #[command(flatten)]
    pub election: election::Args,
}

/// A part of an installation.
#[derive(clap::ValueEnum, Clone, Copy, Debug)]
pub enum Part {
    /// The kinds
    Crds,
    /// Namespace, policies, rights and Deployments
    Platform,
    /// The ProviderClasses
    Classes,
}

impl Part {
    const fn section(self) -> Section {
        match self {
            Part::Crds => Section::Crds,
            Part::Platform => Section::Platform,
            Part::Classes => Section::Classes,
        }
    }
}

pub(super) async fn run(args: Args) -> anyhow::Result<()> {
    let install = args.common.install()?;
    let mut install =
        install.replicas(args.replicas).and_then(|i| i.allow_images(args.allowed_images)).map_err(Usage::of)?;
    install = install.election(args.election.timing()?);
    if args.skip_provider_classes {
        install = install.without_provider_classes();
    }
    let classes = args.part.is_none_or(|part| part.section() == Section::Classes);
    if args.reset_classes && !classes {
        return Err(Usage::of("--reset-classes has nothing to overwrite: --part leaves the ProviderClasses out").into());
    }
    let mut objects = install.objects()?;
    objects.retain(|o| args.part.is_none_or(|part| part.section() == o.stage.section()));
    if objects.is_empty() {
        let why = "nothing is left to install: --part classes is the ProviderClasses alone, which";
        let out =
            if args.skip_provider_classes { "--skip-provider-classes leaves out" } else { "this build has none of" };
        return Err(Usage(format!("{why} {out}")).into());
    }
    if args.common.dry_run {
        return print(&yaml(&objects)?);
    }
    let client = args.common.access.connect(Purpose::Person).await?;
    refuse_elsewhere(&client, install.namespace()).await?;
    let image = format!("{} in {}", install.image(), install.namespace());
    let what = match args.part {
        Some(Part::Crds) => "the kinds",
        Some(Part::Classes) => "the ProviderClasses",
        Some(Part::Platform) | None => image.as_str(),
    };
    args.common.apply(&client, &objects, args.reset_classes, what).await
}
