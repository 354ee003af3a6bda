//! Watches, the work queue, and the end: everything around [`Operator::reconcile`].
use super::caches::{Caches, Wake};
use super::fence::Fenced;
use super::health::Health;
use super::lease::{Elector, Meta, REWOUND, Timing, Until};
use super::manifests::names;
use super::memory::Memory;
use super::metrics::Metrics;
use super::operator::{Identity, Operator};
use super::sweep;
use super::vigil::Vigil;
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

/// How long requests in hand may take at the end.
const GRACE: Duration = Duration::from_secs(3);

/// What is shown of a running operator.
#[derive(Debug)]
pub struct Monitoring {
    health: Health,
    caches: Arc<Caches>,
    metrics: Metrics,
    vigil: Vigil,
}

impl Monitoring {
    /// Registers the operator's metrics. `health` gets the check `caches`, and one for each watch.
    pub fn new(health: Health, vigil: Vigil, registry: &mut Registry) -> Self {
        let caches = Caches::new();
        let metrics = Metrics::register(registry, caches.clone(), CONCURRENCY);
        vigil.register(registry);
        Self { health, caches, metrics, vigil }
    }
}

/// Why the work ends.
#[derive(Clone, Debug)]
enum End {
    /// It was told to.
    Stopped,
    /// Another replica may lead by now.
    Deposed,
    /// What it knows cannot be trusted any more.
    Blind(String),
}

/// What is left to choose.
#[derive(Clone, Copy, Debug)]
pub struct Conduct {
    /// How a leader is elected; without it this replica leads from the start.
    pub timing: Option<Timing>,
    /// Mint though the admission policies do not limit the operator.
    pub allow_unfenced: bool,
}

/// Runs the operator until `stop` resolves; the effects in hand are finished first, then the Lease is given back. A
/// replica that does not lead keeps its caches warm.
///
/// # Errors
/// When the Lease is lost, a watch is dead, or the API server went back in time.
pub async fn run(
    client: Client,
    identity: Identity,
    conduct: Conduct,
    monitoring: Monitoring,
    stop: impl Future<Output = ()> + Send + 'static,
) -> anyhow::Result<()> {
    let Monitoring { health, caches, metrics, vigil } = monitoring;
    let (store, writer) = reflector::store();
    let (wake, mut woken) = mpsc::unbounded_channel::<Wake>();
    let mut tasks = caches.watch(&client, writer, &wake, &vigil);
    let dead = health.clone();
    let over = future::select(
        Box::pin(stop.map(|()| End::Stopped)),
        Box::pin(async move { End::Blind(vigil.lost(&dead).await) }),
    );
    let over = over.map(|end| end.factor_first().0).shared();
    tokio::select! {
        () = caches.synced() => health.ready("caches", Ok(())),
        end = over.clone() => return end.into(),
    }
    tracing::info!("caches are complete");
    let fence = Arc::new(Fenced::new(&identity.namespace, conduct.allow_unfenced, health, metrics.clone()));
    tokio::select! {
        () = fence.settle(&client, &caches) => {}
        end = over.clone() => return end.into(),
    }
    let (keeper, asker, seen) = (fence.clone(), client.clone(), caches.clone());
    tasks.spawn(async move { keeper.keep(&asker, &seen, &wake).await });
    let (done, ended) = oneshot::channel::<()>();
    let leadership = conduct.timing.map(|timing| {
        let Identity { namespace, holder, .. } = &identity;
        let elector = Elector::new(client.clone(), namespace, names::OPERATOR, holder, timing, Meta::default());
        elector.run(ended.map(drop))
    });
    let (leads, lost) = match &leadership {
        Some(leadership) => {
            let mut leads = leadership.watch();
            tokio::select! {
                _ = leads.wait_for(|leads| *leads) => {}
                () = leadership.rewound() => return Err(anyhow::anyhow!(REWOUND)),
                end = over.clone() => return end.into(),
            }
            let rewound = leadership.rewound().map(|()| End::Blind(REWOUND.into()));
            let deposed = async move { drop(leads.wait_for(|leads| !leads).await) }.map(|()| End::Deposed);
            let lost = future::select(Box::pin(rewound), Box::pin(deposed)).map(|end| end.factor_first().0);
            (leadership.until(), lost.boxed())
        }
        None => (Until::forever(), future::pending().boxed()),
    };
    let over = future::select(over, lost).map(|end| end.factor_first().0).shared();
    metrics.leads(true);
    let operator = Arc::new(Operator {
        client,
        identity,
        caches,
        memory: Memory::default(),
        metrics: metrics.clone(),
        fence,
        leads: leads.clone(),
    });
    let sweeper = operator.clone();
    tasks.spawn(async move { sweep::run(&sweeper).await });
    let queue = stream::poll_fn(move |cx| woken.poll_recv(cx)).map(Ok::<_, Infallible>).take_until(over.clone());
    let running = operator.clone();
    let work = applier(
        |provider, operator: Arc<Operator>| {
            let metrics = operator.metrics.clone();
            let name = format!("{}/{}", provider.namespace().unwrap_or_default(), provider.name_any());
            Box::pin(guarded(name, metrics, async move { operator.reconcile(provider).await }))
        },
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
    });
    let ending = over.clone().map(|_| {
        leads.resign();
        tracing::info!("the end begins: requests in hand are finished, nothing new is begun");
    });
    if !drained(work, ending, GRACE).await {
        tracing::warn!("requests in hand had no answer in time; what they did shows at the next start");
    }
    metrics.leads(false);
    drop(done);
    if let Some(leadership) = leadership {
        leadership.released().await;
    }
    over.await.into()
}

impl From<End> for anyhow::Result<()> {
    fn from(end: End) -> Self {
        match end {
            End::Stopped => Ok(()),
            End::Deposed => {
                Err(anyhow::anyhow!("the Lease was lost to another replica; this one ends, so that two never write"))
            }
            End::Blind(words) => Err(anyhow::anyhow!(words)),
        }
    }
}

/// Runs `work`, which ends soon after `over`, and no longer than `grace` after it. Returns whether it came to its end.
async fn drained(work: impl Future<Output = ()>, over: impl Future<Output = ()>, grace: Duration) -> bool {
    let late = async {
        over.await;
        tokio::time::sleep(grace).await;
    };
    tokio::select! {
        () = work => true,
        () = late => false,
    }
}

/// A task of its own, so that a panic stays with the Provider that caused it.
async fn guarded(
    name: String,
    metrics: Metrics,
    reconcile: impl Future<Output = Action> + Send + 'static,
) -> Result<Action, Infallible> {
    metrics.working(1);
    let ended = tokio::spawn(reconcile).await;
    metrics.working(-1);
    Ok(ended.unwrap_or_else(|panic| {
        metrics.panicked();
        tracing::error!(provider = name, error = %panic, "a reconcile panicked; it is tried again in a minute");
        Action::requeue(AFTER_PANIC)
    }))
}

#[cfg(test)]
mod tests;
