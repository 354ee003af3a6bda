//! Watches, the work queue, and the end: everything around [`Operator::reconcile`].
use super::caches::{Caches, Wake};
use super::crd::Provider;
use super::health::Health;
use super::lease::{Elector, Leadership, Meta, Timing};
use super::manifests::names;
use super::memory::Memory;
use super::metrics::Metrics;
use super::operator::Operator;
use super::sweep;
use futures::{FutureExt, StreamExt, future, stream};
use kube::runtime::controller::{self, Action, Config};
use kube::runtime::{applier, reflector};
use kube::{Client, ResourceExt};
use prometheus_client::registry::Registry;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{mpsc, oneshot};

/// How many Providers are worked on at once: each request in flight is a connection of its own.
const CONCURRENCY: u16 = 16;
/// How long a Provider whose reconcile panicked is left alone.
const AFTER_PANIC: Duration = Duration::from_secs(60);

/// Who this operator is, and where it is installed.
#[derive(Clone, Debug)]
pub struct Identity {
    /// The namespace of the installation: its Lease is there, and its Providers get plain binding names.
    pub namespace: String,
    /// The name of this pod, for Events.
    pub instance: String,
    /// What the Lease is held by: the pod's uid.
    pub holder: String,
}

/// What is shown of a running operator.
#[derive(Debug)]
pub struct Monitoring {
    health: Health,
    caches: Arc<Caches>,
    metrics: Metrics,
}

impl Monitoring {
    /// Registers the operator's metrics. `health` gets the check `caches`.
    pub fn new(health: Health, registry: &mut Registry) -> Self {
        let caches = Caches::new();
        let metrics = Metrics::register(registry, caches.clone(), CONCURRENCY);
        metrics.leads(false);
        Self { health, caches, metrics }
    }
}

/// Runs the operator until `stop` resolves; the effects in hand are finished first, then the Lease is given back. A
/// replica that does not lead keeps its caches warm. Without `elect` this one leads from the start.
pub async fn run(
    client: Client,
    identity: Identity,
    elect: bool,
    monitoring: Monitoring,
    stop: impl Future<Output = ()> + Send + 'static,
) -> anyhow::Result<()> {
    let stop = stop.shared();
    let Monitoring { health, caches, metrics } = monitoring;
    let (store, writer) = reflector::store();
    let (wake, mut woken) = mpsc::unbounded_channel::<Wake>();
    let mut watches = caches.watch(&client, writer, &wake);
    tokio::select! {
        () = caches.synced() => health.ready("caches", Ok(())),
        Some(_) = watches.join_next() => anyhow::bail!("a watch ended before its first list was complete"),
        () = stop.clone() => return Ok(()),
    }
    tracing::info!("caches are complete");
    let (done, ended) = oneshot::channel::<()>();
    let leadership = elect.then(|| {
        let Identity { namespace, holder, .. } = &identity;
        let elector = Elector::new(client.clone(), namespace, names::OPERATOR, holder, Timing::ROLE, Meta::default());
        elector.run(ended.map(drop))
    });
    let mut leads = leadership.as_ref().map(Leadership::watch);
    if let Some(leads) = &mut leads {
        tokio::select! {
            led = leads.wait_for(|leads| *leads) => drop(led?),
            () = stop.clone() => {}
        }
    }
    let lost = async move {
        match &mut leads {
            Some(leads) => drop(leads.wait_for(|leads| !leads).await),
            None => std::future::pending().await,
        }
    };
    let lost = lost.shared();
    metrics.leads(true);
    let leads = leadership.as_ref().map(Leadership::until);
    let operator = Arc::new(Operator { client, identity, caches, memory: Memory::default(), metrics, leads });
    let sweeper = operator.clone();
    watches.spawn(async move { sweep::run(&sweeper).await });
    let over = future::select(stop.clone(), lost.clone().boxed());
    let queue = stream::poll_fn(move |cx| woken.poll_recv(cx)).map(Ok::<_, Infallible>).take_until(over);
    let running = operator.clone();
    applier(
        |provider, operator: Arc<Operator>| Box::pin(guarded(provider, operator)),
        |_, never: &Infallible, _| match *never {},
        operator,
        store,
        queue,
        Config::default().concurrency(CONCURRENCY),
    )
    .for_each(|done| {
        // a Provider that is gone by the time its turn comes owes nothing
        if let Err(controller::Error::ObjectNotFound(gone)) = done {
            running.memory.forget(gone.namespace.as_deref().unwrap_or(""), &gone.name);
        }
        future::ready(())
    })
    .await;
    drop(done);
    if let Some(leadership) = leadership {
        leadership.released().await;
    }
    match stop.now_or_never() {
        Some(()) => Ok(()),
        None => anyhow::bail!("the Lease was lost to another replica; this one ends, so that two never write"),
    }
}

/// A task of its own, so that a panic stays with the Provider that caused it.
async fn guarded(provider: Arc<Provider>, operator: Arc<Operator>) -> Result<Action, Infallible> {
    let (name, metrics) = (provider.name_any(), operator.metrics.clone());
    metrics.working(1);
    let ended = tokio::spawn(async move { operator.reconcile(provider).await }).await;
    metrics.working(-1);
    Ok(ended.unwrap_or_else(|panic| {
        metrics.panicked();
        tracing::error!(provider = name, error = %panic, "a reconcile panicked; it is tried again in a minute");
        Action::requeue(AFTER_PANIC)
    }))
}
