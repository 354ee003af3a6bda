//! `banlieue operator`: one workload per Provider.
use super::access::Access;
use crate::k8s::client::Purpose;
use crate::k8s::controller::{self, Identity, Monitoring};
use crate::k8s::health::{Health, Server};
use crate::k8s::manifests::{names, pod};
use anyhow::Context;
use prometheus_client::registry::Registry;

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
    #[arg(long)]
    pub no_leader_elect: bool,
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
/// When the API server does not answer at the start, the health port is taken, or the Lease is lost.
pub async fn run(args: Args) -> anyhow::Result<()> {
    let client = args.access.connect(Purpose::Role).await?;
    let holder = args.pod_uid.unwrap_or_else(|| format!("{}-{}", args.pod_name, std::process::id()));
    let identity = Identity { namespace: args.namespace, instance: args.pod_name, holder };
    let (health, mut registry) = (Health::waiting_for(&["caches"]), Registry::default());
    let monitoring = Monitoring::new(health.clone(), &mut registry);
    let port = args.health_port;
    let server =
        Server::bind(port).await.with_context(|| format!("cannot listen on port {port}; see --health-port"))?;
    let server = tokio::spawn(server.serve(health, registry, super::signal::terminated()));
    let result =
        controller::run(client, identity, !args.no_leader_elect, monitoring, super::signal::terminated()).await;
    server.abort();
    result
}
