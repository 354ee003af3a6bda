//! `banlieue controller`: each class's fleet, summed up in its status.
use super::leader::Args;
use crate::k8s::fleet::{self, Candidate, Monitoring};
use crate::k8s::health::Health;
use crate::k8s::manifests::names;
use crate::k8s::metrics;
use crate::k8s::vigil::Vigil;
use prometheus_client::registry::Registry;

/// Runs until SIGTERM or SIGINT.
///
/// # Errors
/// When the API server does not answer at the start, the health port is taken, or a watch is dead.
pub async fn run(args: Args) -> anyhow::Result<()> {
    let timing = args.election.timing()?;
    let server = args.health.server().await?;
    let vigil = Vigil::new(args.watch_patience);
    let client = args.access.connect_under(&vigil).await?;
    let holder = args.holder(names::CONTROLLER);
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
