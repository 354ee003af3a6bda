//! `banlieue operator`: one workload per Provider.
use super::leader;
use crate::k8s::controller::{self, Conduct, Monitoring};
use crate::k8s::fence;
use crate::k8s::health::Health;
use crate::k8s::manifests::names;
use crate::k8s::operator::Identity;
use crate::k8s::vigil::Vigil;
use prometheus_client::registry::Registry;

/// Its flags.
#[derive(clap::Args, Debug)]
pub struct Args {
    /// What it has in common with the controller.
    #[command(flatten)]
    pub leader: leader::Args,
    /// The name of this pod, for Events
    #[arg(long, env = "POD_NAME", default_value = names::OPERATOR, hide = true)]
    pub pod_name: String,
    /// Lead without a Lease: for one replica alone
    #[arg(long, conflicts_with = "election")]
    pub no_leader_elect: bool,
    /// Create workloads though the admission policies do not limit the operator
    #[arg(long)]
    pub allow_unfenced: bool,
}

/// Runs until SIGTERM or SIGINT.
///
/// # Errors
/// When the API server does not answer at the start, the health port is taken, the Lease is lost, or a watch is dead.
pub async fn run(args: Args) -> anyhow::Result<()> {
    let leader = args.leader;
    let timing = (!args.no_leader_elect).then(|| leader.election.timing()).transpose()?;
    let vigil = Vigil::new(leader.watch_patience);
    let client = leader.access.connect_under(&vigil).await?;
    let holder = leader.holder(&args.pod_name);
    let server = leader.health.server().await?;
    let identity = Identity { namespace: leader.namespace, instance: args.pod_name, holder };
    let (health, mut registry) = (Health::waiting_for(&["caches", fence::CHECK]), Registry::default());
    let monitoring = Monitoring::new(health.clone(), vigil, &mut registry);
    // until the very end: a graceful one takes a moment, and is to be seen
    let server = tokio::spawn(server.serve(health, registry, std::future::pending()));
    let conduct = Conduct { timing, allow_unfenced: args.allow_unfenced };
    let result = controller::run(client, identity, conduct, monitoring, super::signal::terminated()).await;
    server.abort();
    result
}
