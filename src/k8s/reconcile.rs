//! One reconcile: look, build, observe, step, execute, remember.
use super::cluster::Cluster;
use super::crd::Provider;
use super::look::look;
use super::manifests::{Manifest, Workload, five};
use super::memory::spread;
use super::observe::{Raw, class_of, observe};
use super::operator::Operator;
use super::{audit, event};
use crate::effects::{Refusal, execute};
use crate::fsm::{Class, Effect, Fault, Part, Phase, Plan, Wake, step};
use chrono::{SubsecRound, Utc};
use kube::ResourceExt;
use kube::runtime::controller::Action;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Nothing is done by who does not lead any more; the process is about to end.
const NOT_LEADING: Duration = Duration::from_secs(1);
/// How many rounds one reconcile may take before others get their turn.
const ROUNDS: usize = 8;

impl Operator {
    /// Brings one Provider as far as it goes, and says when to look again though no watch tells of anything.
    pub async fn reconcile(&self, provider: Arc<Provider>) -> Action {
        let began = Instant::now();
        let (result, delay) = self.rounds(&provider).await;
        self.metrics.reconciled(result, began.elapsed());
        Action::requeue(spread(delay, &provider))
    }

    async fn rounds(&self, provider: &Arc<Provider>) -> (&'static str, Duration) {
        if self.memory.is_gone(provider) {
            return ("success", Wake::Slow.after());
        }
        if let Some(rest) = self.memory.rest(provider, Instant::now()) {
            return ("requeue_after", rest);
        }
        for _ in 0..ROUNDS {
            match self.round(self.latest(provider)).await {
                Ok(Wake::Again) => {}
                Ok(wake) => {
                    self.memory.rested(provider, true, Instant::now());
                    return ("success", wake.after());
                }
                Err(refusal) => {
                    tracing::warn!(provider = %provider.name_any(), error = refusal.words, "could not look");
                    return ("error", self.memory.blind(provider, refusal, Instant::now()));
                }
            }
        }
        // somebody changes back what we change, or the API server makes another thing of it than we sent
        let now = Instant::now();
        self.memory.rested(provider, false, now);
        tracing::warn!(provider = %provider.name_any(), "no rest after {ROUNDS} rounds: does anybody undo our writes?");
        ("requeue_after", self.memory.rest(provider, now).unwrap_or_default())
    }

    async fn round(&self, provider: Arc<Provider>) -> Result<Wake, Refusal> {
        let (now, instant) = (Utc::now().trunc_subsecs(0), Instant::now());
        if !self.leads.leads() {
            return Ok(Wake::HoldOver(NOT_LEADING));
        }
        if self.memory.records_rest(&provider, instant).is_none() {
            self.announce_again(&provider).await;
        }
        let mut raw = look(self, provider.clone(), self.memory.halt(&provider, &[], instant)).await?;
        let wanted = wanted(&raw, &self.identity.namespace)?;
        raw.halt = self.memory.halt(&provider, &wanted, instant);
        let seen = observe(&raw, &wanted, now);
        let recorded = provider.status.as_ref().and_then(|s| s.workload.as_ref());
        let plan = step(recorded, &seen, now);
        let rest = self.memory.gathers(&provider, plan.effects(), instant);
        if let Some(rest) = rest.or_else(|| self.records_rest(&provider, &plan, instant)) {
            return Ok(Wake::HoldOver(rest.min(plan.wake().after())));
        }
        let done = execute(&plan, &Cluster { operator: self, raw: &raw, wanted: &wanted }).await;
        let unrecorded = self.memory.remember(&provider, &wanted, &done, instant);
        self.metrics.executed(&plan, &done);
        audit::record(&provider, &seen, &plan, &done);
        if plan.phase() == Phase::Terminating && done.iter().any(|d| d.releases()) {
            self.memory.released(&provider);
            return Ok(Wake::Slow);
        }
        Ok(match (plan.wake(), unrecorded) {
            (Wake::Again, _) | (_, None) => plan.wake(),
            (wake, Some(rest)) => Wake::HoldOver(rest.min(wake.after())),
        })
    }

    /// How long a plan that has records alone waits yet after one that failed.
    fn records_rest(&self, provider: &Provider, plan: &Plan, now: Instant) -> Option<Duration> {
        let records = !plan.effects().is_empty() && plan.effects().iter().all(Effect::is_record);
        records.then(|| self.memory.records_rest(provider, now)).flatten()
    }

    /// Events that failed are tried again from memory a few times, then dropped.
    async fn announce_again(&self, provider: &Arc<Provider>) {
        for edge in self.memory.unannounced(provider) {
            let published = event::publish(self, provider, &edge).await.is_ok();
            if self.memory.announced(provider, &edge, published, Instant::now()) {
                self.metrics.events_dropped.inc();
                tracing::warn!(provider = %provider.name_any(), reason = %edge.entry.reason, "dropped an Event");
            }
        }
    }
}

/// The five, where they are wanted: there is a usable class, and the Provider lives.
pub(super) fn wanted(raw: &Raw, install_namespace: &str) -> Result<Vec<Manifest>, Refusal> {
    let usable = class_of(&raw.provider, raw.class.as_deref()) == Class::Usable;
    let Some(class) = raw.class.as_deref().filter(|_| usable && raw.provider.metadata.deletion_timestamp.is_none())
    else {
        return Ok(vec![]);
    };
    let mut workload = Workload { provider: &raw.provider, class, install_namespace, account_uid: None };
    let account = workload.object(Part::ServiceAccount);
    let account = raw.found.iter().find(|f| f.object == account);
    workload.account_uid = account.and_then(|f| f.raw.metadata.uid.as_deref());
    five(&workload).map_err(|e| Refusal { fault: Fault::Refused, words: format!("build the objects: {e}") })
}
