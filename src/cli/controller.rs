//! `banlieue controller`: each class's fleet, summed up in its status.
use super::access::Access;
use crate::k8s::client::Purpose;
use crate::k8s::fleet;
use crate::k8s::health::{Health, Server};
use crate::k8s::manifests::{names, pod};
use anyhow::Context;

/// Its flags.
#[derive(clap::Args, Debug)]
pub struct Args {
    /// Where banlieue is installed: its Lease is kept there
    #[arg(long, env = "POD_NAMESPACE", default_value = names::DEFAULT_NAMESPACE)]
    pub namespace: String,
    /// The uid of this pod, which holds the Lease
    #[arg(long, env = "POD_UID", hide = true)]
    pub pod_uid: Option<String>,
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
/// When the API server does not answer at the start, the health port is taken, or a watch ends for good.
pub async fn run(args: Args) -> anyhow::Result<()> {
    let port = args.health_port;
    let server =
        Server::bind(port).await.with_context(|| format!("cannot listen on port {port}; see --health-port"))?;
    let client = args.access.connect(Purpose::Role).await?;
    let holder = args.pod_uid.unwrap_or_else(|| format!("{}-{}", names::CONTROLLER, std::process::id()));
    let health = Health::waiting_for(&["caches"]);
    let server = tokio::spawn(server.serve(health.clone(), Default::default(), super::signal::terminated()));
    let result = fleet::run(client, &args.namespace, holder, health, super::signal::terminated()).await;
    server.abort();
    result
}
