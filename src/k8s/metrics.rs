//! The operator's metrics: controller-runtime's names where it has one, `banlieue_` for our own.
use super::cache::Cache;
use super::crd::Provider;
use crate::effects::Done;
use crate::fsm::{Effect, Part, Phase, Plan};
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeLabelSet, EncodeMetric};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::{ConstGauge, Gauge};
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;
use std::sync::Arc;
use std::time::Duration;

/// The `controller` label of every reconcile metric.
const CONTROLLER: &str = "provider";

type Labels = Vec<(&'static str, &'static str)>;

/// What the operator counts.
#[derive(Clone, Debug)]
pub struct Metrics {
    reconciles: Family<Labels, Counter>,
    errors: Family<Labels, Counter>,
    panics: Family<Labels, Counter>,
    seconds: Histogram,
    active: Family<Labels, Gauge>,
    transitions: Family<Edge, Counter>,
    effects: Family<Labels, Counter>,
    /// Events given up after some tries.
    pub events_dropped: Counter,
    orphans: Family<Labels, Counter>,
    /// Sweeps that stopped because an answer could not be trusted.
    pub sweeps_stopped: Counter,
    leads: Gauge,
    /// Policies of the fence that do not deny what they must.
    pub fence_open: Gauge,
}

#[derive(Clone, Debug, EncodeLabelSet, Eq, Hash, PartialEq)]
struct Edge {
    from: &'static str,
    to: &'static str,
    reason: &'static str,
}

impl Metrics {
    /// Registers everything; `providers` is counted by phase at each scrape.
    pub fn register(registry: &mut Registry, providers: impl Phases + 'static, workers: u16) -> Self {
        let buckets = [0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1.0, 5.0, 10.0, 60.0];
        let metrics = Self {
            reconciles: Family::default(),
            errors: Family::default(),
            panics: Family::default(),
            seconds: Histogram::new(buckets),
            active: Family::default(),
            transitions: Family::default(),
            effects: Family::default(),
            events_dropped: Counter::default(),
            orphans: Family::default(),
            sweeps_stopped: Counter::default(),
            leads: leads(registry, super::manifests::names::OPERATOR),
            fence_open: Gauge::default(),
        };
        let m = metrics.clone();
        let workers_family = Family::<Labels, Gauge>::default();
        workers_family.get_or_create(&one()).set(workers.into());
        drop(m.errors.get_or_create(&one()));
        drop(m.panics.get_or_create(&one()));
        drop(m.active.get_or_create(&one()));
        for part in Part::ALL {
            drop(m.orphans.get_or_create(&vec![("kind", part.kind())]));
        }
        registry.register("controller_runtime_reconcile", "Reconciles by result", m.reconciles);
        registry.register("controller_runtime_reconcile_errors", "Reconciles that failed", m.errors);
        registry.register("controller_runtime_reconcile_panics", "Reconciles that panicked", m.panics);
        registry.register("controller_runtime_reconcile_time_seconds", "How long a reconcile took", m.seconds);
        registry.register("controller_runtime_active_workers", "Reconciles under way", m.active);
        registry.register("controller_runtime_max_concurrent_reconciles", "The most at once", workers_family);
        registry.register("banlieue_transitions", "Edges by phases and reason", m.transitions);
        registry.register("banlieue_effects", "Effects by kind and result", m.effects);
        registry.register("banlieue_events_dropped", "Events given up after some tries", m.events_dropped);
        registry.register("banlieue_orphans_removed", "Objects of Providers that are gone, by kind", m.orphans);
        registry.register("banlieue_sweeps_stopped", "Sweeps stopped by an untrusted answer", m.sweeps_stopped);
        registry.register("banlieue_fence_open", "Admission policies that do not deny what they must", m.fence_open);
        registry.register_collector(Box::new(ByPhase(providers)));
        metrics
    }

    /// Counts one more reconcile under way, or one less.
    pub fn working(&self, change: i64) {
        self.active.get_or_create(&one()).inc_by(change);
    }

    /// Counts one reconcile; `result` is `success`, `requeue_after` or `error`.
    pub fn reconciled(&self, result: &'static str, took: Duration) {
        let mut labels = one();
        labels.push(("result", result));
        self.reconciles.get_or_create(&labels).inc();
        self.seconds.observe(took.as_secs_f64());
        if result == "error" {
            self.errors.get_or_create(&one()).inc();
        }
    }

    /// Counts a panic of a reconcile.
    pub fn panicked(&self) {
        self.panics.get_or_create(&one()).inc();
    }

    /// Counts what became of a plan.
    pub fn executed(&self, plan: &Plan, done: &[Done<'_>]) {
        for done in done {
            let kind = match done.effect {
                Effect::HoldFinalizer => "HoldFinalizer",
                Effect::Apply(..) => "Apply",
                Effect::Delete(_) => "Delete",
                Effect::Announce(_) => "Announce",
                Effect::ReportWorkload(_) => "ReportWorkload",
                Effect::ReleaseFinalizer => "ReleaseFinalizer",
            };
            let result = done.result.as_ref().map_or_else(|refusal| refusal.fault.as_str(), |()| "success");
            self.effects.get_or_create(&vec![("effect", kind), ("result", result)]).inc();
        }
        let announced = done.iter().any(|d| matches!(d.effect, Effect::Announce(_)));
        if let Some(edge) = plan.transition().filter(|_| announced) {
            let (from, to) = (edge.entry.from.map_or("", Phase::as_str), edge.entry.to.as_str());
            self.transitions.get_or_create(&Edge { from, to, reason: edge.entry.reason.as_str() }).inc();
        }
    }

    /// Counts an orphan that was removed.
    pub fn swept(&self, kind: &'static str) {
        self.orphans.get_or_create(&vec![("kind", kind)]).inc();
    }

    /// Says whether this replica leads.
    pub fn leads(&self, leads: bool) {
        self.leads.set(leads.into());
    }
}

/// Registers whether this replica holds the Lease of this name; at first it does not.
pub fn leads(registry: &mut Registry, lease: &'static str) -> Gauge {
    let family = Family::<Labels, Gauge>::default();
    let leads = family.get_or_create(&vec![("name", lease)]).clone();
    registry.register("leader_election_master_status", "Whether this replica leads", family);
    leads
}

fn one() -> Labels {
    vec![("controller", CONTROLLER)]
}

/// What can count Providers by phase.
pub trait Phases: std::fmt::Debug + Send + Sync {
    /// Every Provider as last seen.
    fn providers(&self) -> Vec<Arc<Provider>>;
}

impl Phases for Arc<super::caches::Caches> {
    fn providers(&self) -> Vec<Arc<Provider>> {
        Cache::all(&self.providers)
    }
}

#[derive(Debug)]
struct ByPhase<P>(P);

impl<P: Phases + 'static> Collector for ByPhase<P> {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Result<(), std::fmt::Error> {
        let family = Family::<Labels, Gauge>::default();
        for phase in Phase::ALL {
            drop(family.get_or_create(&vec![("phase", phase.as_str())]));
        }
        for provider in self.0.providers() {
            let phase = provider.status.as_ref().and_then(|s| s.workload.as_ref()).map(|w| w.phase).unwrap_or_default();
            family.get_or_create(&vec![("phase", phase.as_str())]).inc();
        }
        let kind = ConstGauge::new(0i64).metric_type();
        family.encode(encoder.encode_descriptor("banlieue_provider_phase", "Providers by phase", None, kind)?)
    }
}
