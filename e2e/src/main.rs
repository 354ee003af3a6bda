//! The local cluster, from the command line.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;

use anyhow::{Context, Result, bail};
use banlieue_e2e::cluster::Cluster;
use banlieue_e2e::files::Cache;
use banlieue_e2e::kind::{self, Kind};
use banlieue_e2e::progress::Progress;
use banlieue_e2e::tools::{self, Tools};
use banlieue_e2e::{Options, demo, image, init, leftovers, logs, packages, preflight, product};
use clap::{Parser, Subcommand};

/// A real Kubernetes cluster on this machine: no container registry, no Docker.
#[derive(Parser)]
#[command(
    name = "e2e",
    version,
    after_help = "Environment: K8S=1.37|1.34, CLUSTER=local|kind, BANLIEUE_CACHE, BANLIEUE_BIN"
)]
struct Cli {
    /// Name of the cluster; several run side by side.
    #[arg(long, global = true, default_value = "banlieue")]
    name: String,
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand)]
enum Verb {
    /// Show in one table what this machine lacks.
    Preflight,
    /// Say which cluster the end-to-end targets run on.
    Where,
    /// Build the programs of the cluster, and start nothing.
    Tools,
    /// Start the cluster, or find it healthy; print its KUBECONFIG and versions.
    Up {
        /// No node: etcd, API server, controller manager and scheduler alone.
        #[arg(long)]
        control_plane_only: bool,
    },
    /// End the cluster and remove all that it left.
    Down {
        /// Every cluster of this cache.
        #[arg(long)]
        all: bool,
    },
    /// Build the product's image and load it.
    Load {
        /// A further tag.
        #[arg(long)]
        tag: Vec<String>,
    },
    /// Build the product's static program and its image; print where they are and how big.
    Image,
    /// Bring up a cluster with the product and two backends on it.
    Demo,
    /// Show the last lines of each log, and put everything into one folder.
    Logs {
        /// How many lines.
        #[arg(long, default_value_t = 10)]
        lines: usize,
        /// Those that the suite which failed last has collected.
        #[arg(long)]
        last: bool,
    },
    /// Remove what suites left that were killed.
    Sweep,
    /// Show the state of each part.
    Status,
    /// Run kubectl on the cluster.
    Kubectl {
        /// Its arguments.
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        args: Vec<String>,
    },
    /// The first process of a box.
    #[command(hide = true)]
    Init {
        #[arg(long)]
        ephemeral: bool,
        #[arg(long)]
        run_dir: PathBuf,
    },
}

fn main() -> ExitCode {
    let cli = Cli::parse();
    match run(cli) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(cli: Cli) -> Result<ExitCode> {
    if let Verb::Init { ephemeral, run_dir } = &cli.verb {
        init::run(run_dir, *ephemeral)?;
        return Ok(ExitCode::SUCCESS);
    }
    let cache = Cache::locate()?;
    let progress = Progress::loud();
    let name = cli.name.as_str();
    let options = Options::named(name);
    options.kubernetes_version()?;
    if matches!(cli.verb, Verb::Where) {
        let (kind, why) = Kind::found()?;
        let which = if kind == Kind::Kind { "kind" } else { "local" };
        println!("cluster: {which} (Kubernetes {}; {why})", options.kubernetes_version()?);
        return Ok(ExitCode::SUCCESS);
    }
    let of_the_targets = matches!(cli.verb, Verb::Sweep | Verb::Logs { last: true, .. });
    if (if of_the_targets { Kind::found()?.0 } else { Kind::asked()? }) == Kind::Kind {
        return on_kind(&cache, &options, &cli.verb);
    }
    match cli.verb {
        Verb::Preflight => {
            let table = preflight::look(&cache, &options);
            print!("{table}");
            if table.blocked() {
                bail!("this machine cannot run the cluster: see the rows marked MISSING");
            }
        }
        Verb::Tools => {
            packages::ensure(&cache, progress)?;
            Tools::ensure(&cache, &options, progress)?;
            tools::readers(&cache, progress)?;
            tools::kube_router(&cache, progress)?;
        }
        Verb::Up { control_plane_only } => {
            let options = if control_plane_only { options.control_plane_only() } else { options };
            println!("cluster: local ({name}, Kubernetes {})", options.kubernetes_version()?);
            tokio::runtime::Runtime::new()?.block_on(up(options))?;
        }
        Verb::Down { all } => {
            let names = if all { cache.boxes() } else { vec![name.to_string()] };
            for name in names {
                let start = Instant::now();
                let was = Cluster::down(&name)?;
                let state = if was { "down" } else { "was not there" };
                println!("cluster {name}: {state} ({:.2} s)", start.elapsed().as_secs_f64());
            }
        }
        Verb::Load { tag } => {
            let cluster = Cluster::attach(name)?;
            let image = cluster.load_image(&product::release(progress)?, &tag, progress)?;
            println!("{image}");
        }
        Verb::Image => {
            let program = product::release(progress)?;
            let bytes = std::fs::metadata(&program)?.len();
            println!("program: {} ({:.1} MB)", program.display(), bytes as f64 / 1e6);
            for archive in image::archives(&cache, &program, &[])? {
                println!("image: {} ({}:{})", archive.display(), image::REPOSITORY, image::VERSION);
            }
        }
        Verb::Demo => tokio::runtime::Runtime::new()?.block_on(demo::run(progress))?,
        Verb::Sweep => leftovers::sweep(&cache, ""),
        Verb::Logs { lines, last: true } => print!("{}", logs::last_failure(&cache, lines)?),
        Verb::Logs { lines, last: false } => {
            let last = leftovers::last_logs(&cache, name);
            let cluster = Cluster::attach(name).with_context(|| match last.is_dir() {
                true => format!("the cluster does not run; the logs of its last run: {}", last.display()),
                false => "there are no logs".into(),
            })?;
            print!("{}", logs::tails(&cluster, lines));
            println!("all logs: {}", logs::collect(&cluster)?.display());
        }
        Verb::Status => {
            for (name, state) in Cluster::attach(name)?.status()? {
                let pid = state.pid.map_or("does not run".into(), |p| format!("runs as {p} in the box"));
                println!(
                    "{name:<26} {pid:<26} ended by itself {} times {}",
                    state.failures,
                    state.last_exit.unwrap_or_default()
                );
            }
        }
        Verb::Kubectl { args } => {
            let status = Cluster::attach(name)?.kubectl_command().args(args).status()?;
            return Ok(status.code().map_or(ExitCode::FAILURE, |c| ExitCode::from(c.to_le_bytes()[0])));
        }
        Verb::Where | Verb::Init { .. } => {}
    }
    Ok(ExitCode::SUCCESS)
}

async fn up(options: Options) -> Result<()> {
    let start = Instant::now();
    let cluster = Cluster::start(options).await?;
    let version = cluster.client().await?.apiserver_version().await?;
    let state = if cluster.reused { "runs already" } else { "is up" };
    println!("cluster {} {state} ({:.1} s)", cluster.name(), start.elapsed().as_secs_f64());
    println!("versions: Kubernetes {}, banlieue {}", version.git_version, image::VERSION);
    if let Ok(vcsim) = cluster.vcsim() {
        println!("vcsim: {} as {}, control {}", vcsim.endpoint, vcsim.username, vcsim.control_url);
    }
    println!("export KUBECONFIG={}", cluster.kubeconfig_path().display());
    Ok(())
}

fn on_kind(cache: &Cache, options: &Options, verb: &Verb) -> Result<ExitCode> {
    println!("cluster: kind ({}, Kubernetes {})", options.name, options.kubernetes_version()?);
    match verb {
        Verb::Up { .. } => println!("export KUBECONFIG={}", kind::up(cache, options)?.display()),
        Verb::Down { .. } => kind::down(cache, &options.name)?,
        Verb::Load { tag } => {
            for archive in image::archives(cache, &product::release(Progress::loud())?, tag)? {
                kind::load(&archive.display().to_string(), &options.name)?;
            }
        }
        Verb::Sweep => kind::sweep()?,
        Verb::Logs { lines, last: true } => print!("{}", logs::last_failure(cache, *lines)?),
        Verb::Logs { .. } => println!("all logs: {}", kind::logs(cache, &options.name)?.display()),
        Verb::Preflight => kind::require()?,
        _ => bail!("this verb is for CLUSTER=local"),
    }
    Ok(ExitCode::SUCCESS)
}
