//! `banlieue operator`: one workload per Provider.
use super::access::Access;
use super::election;
use super::time::span;
use crate::k8s::controller::{self, Conduct, Identity, Monitoring};
use crate::k8s::fence;
use crate::k8s::health::{Health, Server};
use crate::k8s::manifests::{names, pod};
use crate::k8s::vigil::Vigil;
use anyhow::Context;
use prometheus_client::registry::Registry;
use std::time::Duration;

/// Its flags.
#[derive(clap::Args, Debug)]
pub struct Args {
    /// Where banlieue is installed: its Lease is kept there
    #[arg(long, env = "POD_NAMESPACE", default_value = names::DEFAULT_NAMESPACE)]
    pub namespace: String,
    /// The name of this pod, for Events
    #[arg(long, env = "POD_NAME", default_value = names::OPERATOR, hide = true)]
    pub pod_name: String,
    /// The uid of this pod, which holds the Lease
    #[arg(long, env = "POD_UID", hide = true)]
    pub pod_uid: Option<String>,
    /// Lead without a Lease: for one replica alone
    #[arg(long, conflicts_with = "election")]
    pub no_leader_elect: bool,
    /// Create workloads though the admission policies do not limit the operator
    #[arg(long)]
    pub allow_unfenced: bool,
    /// How it is elected.
    #[command(flatten)]
    pub election: election::Args,
    /// End once a watch has given no sign of life for this long
    #[arg(long, value_name = "TIME", value_parser = span, default_value = "6m")]
    pub watch_patience: Duration,
    /// The port of /livez, /readyz and /metrics
    #[arg(long, default_value_t = pod::HEALTH_PORT.unsigned_abs() as u16)]
    pub health_port: u16,
    /// Which API server, where it is not the pod's own.
    #[command(flatten)]
    pub access: Access,
}

/// Runs until SIGTERM or SIGINT.
///
/// # Errors
/// When the API server does not answer at the start, the health port is taken, the Lease is lost, or a watch is dead.
pub async fn run(args: Args) -> anyhow::Result<()> {
    let timing = (!args.no_leader_elect).then(|| args.election.timing()).transpose()?;
    let vigil = Vigil::new(args.watch_patience);
    let client = args.access.connect_under(&vigil).await?;
    let holder = args.pod_uid.unwrap_or_else(|| format!("{}-{}", args.pod_name, std::process::id()));
    let identity = Identity { namespace: args.namespace, instance: args.pod_name, holder };
    let (health, mut registry) = (Health::waiting_for(&["caches", fence::CHECK]), Registry::default());
    let monitoring = Monitoring::new(health.clone(), vigil, &mut registry);
    let port = args.health_port;
    let server =
        Server::bind(port).await.with_context(|| format!("cannot listen on port {port}; see --health-port"))?;
    // until the very end: a graceful one takes a moment, and is to be seen
    let server = tokio::spawn(server.serve(health, registry, std::future::pending()));
    let conduct = Conduct { timing, allow_unfenced: args.allow_unfenced };
    let result = controller::run(client, identity, conduct, monitoring, super::signal::terminated()).await;
    server.abort();
    result
}
