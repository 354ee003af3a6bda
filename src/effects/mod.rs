//! The hands: [`execute`] walks a [`Plan`] over a [`Port`]. It knows plans, not Kubernetes, and has no choices.
//!
//! The first failure of a workload or finalizer effect ends the walk; a failed Announce or ReportWorkload is returned
//! and the walk goes on (design, sentence 4).
#[cfg(test)]
mod tests;

use crate::fsm::{Doomed, Effect, Fault, Mode, Part, Plan, Transition, WorkloadStatus};
use futures::future::join_all;
use std::future::Future;

/// Why an effect failed: what that means, and the API's own words.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Refusal {
    /// What it means.
    pub fault: Fault,
    /// The API's own words.
    pub words: String,
}

/// What carries effects out.
pub trait Port: Sync {
    /// Put our finalizer on the Provider.
    fn hold_finalizer(&self) -> impl Future<Output = Result<(), Refusal>> + Send;
    /// Create or change one of the five objects.
    fn apply(&self, part: Part, mode: Mode) -> impl Future<Output = Result<(), Refusal>> + Send;
    /// Delete an object of ours; one that is gone already is a success.
    fn delete(&self, doomed: &Doomed) -> impl Future<Output = Result<(), Refusal>> + Send;
    /// Publish the Event of an edge; one that is there already is a success.
    fn announce(&self, edge: &Transition) -> impl Future<Output = Result<(), Refusal>> + Send;
    /// Write `status.workload`.
    fn report(&self, status: &WorkloadStatus) -> impl Future<Output = Result<(), Refusal>> + Send;
    /// Take our finalizer off the Provider; a Provider that is gone already is a success.
    fn release_finalizer(&self) -> impl Future<Output = Result<(), Refusal>> + Send;
}

/// What became of one effect.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Done<'p> {
    /// The effect.
    pub effect: &'p Effect,
    /// Whether it was carried out.
    pub result: Result<(), Refusal>,
}

impl Done<'_> {
    /// Whether our finalizer came off by this.
    pub fn releases(&self) -> bool {
        *self.effect == Effect::ReleaseFinalizer && self.result.is_ok()
    }

    /// Whether this failure ended the walk.
    pub fn halts(&self) -> bool {
        self.result.is_err() && !self.effect.is_record()
    }
}

/// Carries `plan` out in order of rank, and tells what became of every effect that was tried.
pub async fn execute<'p, P: Port>(plan: &'p Plan, port: &P) -> Vec<Done<'p>> {
    let mut done = Vec::with_capacity(plan.effects().len());
    for rank in plan.effects().chunk_by(|a, b| a.rank() == b.rank()) {
        done.extend(join_all(rank.iter().map(|effect| carry_out(effect, port))).await);
        if done.iter().any(Done::halts) {
            break;
        }
    }
    done
}

async fn carry_out<'p, P: Port>(effect: &'p Effect, port: &P) -> Done<'p> {
    let result = match effect {
        Effect::HoldFinalizer => port.hold_finalizer().await,
        Effect::Apply(part, mode) => port.apply(*part, *mode).await,
        Effect::Delete(doomed) => port.delete(doomed).await,
        Effect::Announce(edge) => port.announce(edge).await,
        Effect::ReportWorkload(status) => port.report(status).await,
        Effect::ReleaseFinalizer => port.release_finalizer().await,
    };
    Done { effect, result }
}
