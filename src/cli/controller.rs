//! `banlieue controller`: each class's fleet, summed up in its status.
use super::access::Access;
use super::election;
use super::time::span;
use crate::k8s::fleet::{self, Candidate, Monitoring};
use crate::k8s::health::{Health, Server};
use crate::k8s::manifests::{names, pod};
use crate::k8s::metrics;
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
    /// The uid of this pod, which holds the Lease
    #[arg(long, env = "POD_UID", hide = true)]
    pub pod_uid: Option<String>,
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
/// When the API server does not answer at the start, the health port is taken, or a watch is dead.
pub async fn run(args: Args) -> anyhow::Result<()> {
    let port = args.health_port;
    let timing = args.election.timing()?;
    let server =
        Server::bind(port).await.with_context(|| format!("cannot listen on port {port}; see --health-port"))?;
    let vigil = Vigil::new(args.watch_patience);
    let client = args.access.connect_under(&vigil).await?;
    let holder = args.pod_uid.unwrap_or_else(|| format!("{}-{}", names::CONTROLLER, std::process::id()));
    let (health, mut registry) = (Health::waiting_for(&["caches"]), Registry::default());
    vigil.register(&mut registry);
    let leads = metrics::leads(&mut registry, names::CONTROLLER);
    let monitoring = Monitoring { health: health.clone(), vigil, leads };
    let server = tokio::spawn(server.serve(health, registry, std::future::pending()));
    let candidate = Candidate { namespace: args.namespace, holder, timing };
    let result = fleet::run(client, &candidate, monitoring, super::signal::terminated()).await;
    server.abort();
    result
}
