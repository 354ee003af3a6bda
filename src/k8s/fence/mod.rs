//! Whether the operator is fenced in: it asks for what the admission policies must deny, as dry runs, and mints only once
//! each of them has denied it (design, section 7).
//!
//! That a policy is there proves nothing: it takes effect a moment after it was made, and may have lost its binding.
mod probe;
#[cfg(test)]
mod tests;

use super::caches::{Caches, Wake};
use super::crd::Provider;
use super::health::Health;
use super::metrics::Metrics;
use crate::fsm::Fence;
use futures::future::join_all;
use kube::Client;
use kube::runtime::reflector::ObjectRef;
use probe::{Probe, Verdict};
use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::mpsc::UnboundedSender;

/// The check of `/readyz`.
pub const CHECK: &str = "fence";
/// Between two rounds of probes where every policy denies.
const EVERY: Duration = Duration::from_secs(15);
/// Between two rounds where one does not.
const SOON: Duration = Duration::from_secs(1);
/// How long a start asks at most, and its pause in between: policies made just before are in force within a second.
const AT_START: (Duration, Duration) = (Duration::from_secs(5), Duration::from_millis(250));

/// Asks each policy once, and returns those that were not seen to deny, with what was seen instead. For a person who looks.
pub async fn open(client: &Client, namespace: &str, provider: Option<&Provider>) -> Vec<String> {
    let probes = Probe::ALL.into_iter().filter(|probe| provider.is_some() || !probe.needs_provider());
    let asked = probes.map(|probe| async move {
        let found = match probe.ask(client, namespace, provider).await {
            Some(verdict) => verdict.open()?,
            None => "no answer came".into(),
        };
        Some(format!("{}: {found}", probe.policy()))
    });
    join_all(asked).await.into_iter().flatten().collect()
}

/// What the probes found, and what follows from it.
#[derive(Debug)]
pub struct Fenced {
    namespace: String,
    allow_unfenced: bool,
    health: Health,
    metrics: Metrics,
    verdicts: Mutex<BTreeMap<Probe, Verdict>>,
}

impl Fenced {
    /// Nothing is proved yet. With `allow_unfenced` an open fence is told, and stops nothing.
    pub fn new(namespace: &str, allow_unfenced: bool, health: Health, metrics: Metrics) -> Self {
        let verdicts = Probe::ALL.into_iter().map(|probe| (probe, Verdict::Unasked)).collect();
        Self { namespace: namespace.into(), allow_unfenced, health, metrics, verdicts: Mutex::new(verdicts) }
    }

    /// Whether the operator may mint for this Provider. The policies on Providers are asked with the first there is.
    pub async fn state(&self, client: &Client, provider: &Provider) -> Fence {
        if self.lock().iter().any(|(probe, verdict)| probe.needs_provider() && *verdict == Verdict::Unasked) {
            self.ask(client, Some(provider)).await;
        }
        let closed = self.lock().values().all(|verdict| *verdict == Verdict::Denied);
        if closed || self.allow_unfenced { Fence::Closed } else { Fence::Open }
    }

    /// Asks until every policy denies, for a few seconds at most.
    pub async fn settle(&self, client: &Client, caches: &Caches) {
        let asking = async {
            loop {
                self.ask(client, caches.providers.all().first().map(|p| &**p)).await;
                if self.open().is_empty() {
                    break;
                }
                tokio::time::sleep(AT_START.1).await;
            }
        };
        // what is open then is told, and asked again
        let _ = tokio::time::timeout(AT_START.0, asking).await;
        self.tell();
    }

    /// Asks again and again. Where the answers change, it says so; where that opens or closes the fence, every Provider is
    /// looked at again.
    pub async fn keep(&self, client: &Client, caches: &Caches, wake: &UnboundedSender<Wake>) {
        loop {
            let before = self.open();
            tokio::time::sleep(if before.is_empty() { EVERY } else { SOON }).await;
            self.ask(client, caches.providers.all().first().map(|p| &**p)).await;
            let now = self.open();
            if before != now {
                self.tell();
            }
            if before.is_empty() != now.is_empty() {
                for provider in caches.providers.all() {
                    // the receiver is gone only when the operator is ending
                    let _ = wake.send(ObjectRef::from_obj(&*provider));
                }
            }
        }
    }

    /// Asks everything that can be asked, and shows what came of it.
    async fn ask(&self, client: &Client, provider: Option<&Provider>) {
        let probes = Probe::ALL.into_iter().filter(|probe| provider.is_some() || !probe.needs_provider());
        let asked = probes.map(|probe| async move { (probe, probe.ask(client, &self.namespace, provider).await) });
        for (probe, answer) in join_all(asked).await {
            // no answer says nothing about a policy: what was known of it stays
            if let Some(verdict) = answer {
                self.lock().insert(probe, verdict);
            }
        }
        let open = self.open();
        self.metrics.fence_open.set(open.len().try_into().unwrap_or(i64::MAX));
        let ready = if open.is_empty() || self.allow_unfenced { Ok(()) } else { Err(open.join("; ")) };
        self.health.ready(CHECK, ready);
    }

    /// The policies that were not seen to deny, and what was seen instead. What needs a Provider, and was not asked for want
    /// of one, is left out: there is nothing to mint.
    fn open(&self) -> Vec<String> {
        let verdicts = self.lock();
        let counts = |probe: &Probe, verdict: &Verdict| !(probe.needs_provider() && *verdict == Verdict::Unasked);
        let open = verdicts.iter().filter(|(probe, verdict)| counts(probe, verdict));
        open.filter_map(|(probe, verdict)| Some(format!("{}: {}", probe.policy(), verdict.open()?))).collect()
    }

    fn tell(&self) {
        let open = self.open().join("; ");
        if open.is_empty() {
            tracing::info!("the operator is fenced in: the admission policies deny what they must");
        } else if self.allow_unfenced {
            tracing::error!(open, "the operator is not fenced in, and goes on, as --allow-unfenced says");
        } else {
            tracing::error!(open, "the operator is not fenced in: it creates and changes nothing");
        }
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<Probe, Verdict>> {
        self.verdicts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
