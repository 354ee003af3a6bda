//! What every part of the operator shares, and the one way in which it writes.
use super::caches::Caches;
use super::crd::Provider;
use super::fence::Fenced;
use super::lease::Until;
use super::memory::Memory;
use super::metrics::Metrics;
use super::refusal::bounded;
use crate::effects::Refusal;
use crate::fsm::Fault;
use kube::Client;
use std::sync::Arc;

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

/// What every reconcile shares.
pub struct Operator {
    /// The API, under the operator's own identity.
    pub client: Client,
    /// Who this operator is.
    pub identity: Identity,
    /// What the watches have seen.
    pub caches: Arc<Caches>,
    /// What is kept in mind between two reconciles.
    pub memory: Memory,
    /// What is counted.
    pub metrics: Metrics,
    /// Whether the admission policies limit it.
    pub fence: Arc<Fenced>,
    /// Until when this replica leads.
    pub leads: Until,
}

impl Operator {
    /// The newer of what is seen and what our last write answered.
    pub fn latest(&self, seen: &Arc<Provider>) -> Arc<Provider> {
        self.memory.latest(seen)
    }

    /// Takes in what a write to the Provider answered.
    pub fn remember_latest(&self, answer: Provider) {
        self.memory.remember_latest(answer);
    }

    /// Sends a write, unless this replica does not lead any more or is about to end: between two effects of a plan much
    /// time may have passed.
    ///
    /// # Errors
    /// What the failure of the request means.
    pub async fn write<T>(
        &self,
        what: &str,
        request: impl Future<Output = Result<T, kube::Error>>,
    ) -> Result<T, Refusal> {
        if self.leads.leads() {
            return bounded(what, request).await;
        }
        Err(Refusal { fault: Fault::Stale, words: format!("{what}: this replica does not lead any more") })
    }
}

impl std::fmt::Debug for Operator {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Operator").field("identity", &self.identity).finish_non_exhaustive()
    }
}
