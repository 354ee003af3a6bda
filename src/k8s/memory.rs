//! What the operator keeps in mind for a Provider between two reconciles. Losing it costs a retry, never correctness.
use super::cache::{Key, revision};
use super::crd::Provider;
use super::manifests::{Manifest, names};
use super::stamp;
use crate::effects::{Done, Refusal};
use crate::fsm::{Effect, Fault, Halt, Transition};
use kube::ResourceExt;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// How often an Event that could not be published is tried again, before it is dropped.
const EVENT_TRIES: u8 = 5;
/// Between two writes of a status of which only the numbers of pods have changed.
const NUMBERS: Duration = Duration::from_secs(1);

/// The memory of every Provider, by its address.
#[derive(Debug, Default)]
pub struct Memory(Mutex<HashMap<Key, Entry>>);

#[derive(Debug, Default)]
struct Entry {
    /// Whose memory this is: a new Provider of an old name starts without one.
    uid: String,
    /// What our last write to the Provider answered.
    latest: Option<Arc<Provider>>,
    /// Our finalizer was the last one, and it is off: whatever the cache still shows, there is nothing to write to.
    gone: bool,
    halt: Option<Stopped>,
    /// When the status was last written.
    told: Option<Instant>,
    /// How often in a row a record (an Event, the status) failed.
    unrecorded: u32,
    /// Until when a record that failed is not tried again.
    records_rest: Option<Instant>,
    /// How often in a row a reconcile used up its rounds.
    restless: u32,
    /// Until when it is left alone for that.
    rests: Option<Instant>,
    /// Edges whose Event could not be published yet, and how often that was tried.
    unannounced: Vec<(Transition, u8)>,
}

#[derive(Debug)]
struct Stopped {
    refusal: Refusal,
    attempt: u32,
    until: Instant,
    wanted: String,
}

impl Entry {
    fn record_failed(&mut self, fault: Fault, seed: u64, now: Instant) {
        self.unrecorded += 1;
        self.records_rest = Some(now + fault.delay(self.unrecorded, seed));
    }
}

impl Memory {
    /// The newer of what a watch has told and what our last write answered.
    pub fn latest(&self, seen: &Arc<Provider>) -> Arc<Provider> {
        self.entry(seen, |entry| match &entry.latest {
            Some(ours) if revision(&ours.metadata) > revision(&seen.metadata) => ours.clone(),
            _ => seen.clone(),
        })
    }

    /// Takes in what a write to the Provider answered.
    pub fn remember_latest(&self, answer: Provider) {
        let answer = Arc::new(answer);
        self.entry(&answer, |entry| entry.latest = Some(answer.clone()));
    }

    /// Takes in that our finalizer came off. The Provider is gone with it, unless somebody else's holds it.
    pub fn released(&self, provider: &Arc<Provider>) {
        let held = self.latest(provider).finalizers().iter().any(|f| f != names::FINALIZER);
        self.entry(provider, |entry| entry.gone = !held);
    }

    /// Whether the Provider ended with our finalizer, whatever the cache still shows.
    pub fn is_gone(&self, provider: &Provider) -> bool {
        self.entry(provider, |entry| entry.gone)
    }

    /// What stopped the executor last. It holds still until the back-off is over or what is wanted has changed.
    pub fn halt(&self, provider: &Provider, wanted: &[Manifest], now: Instant) -> Option<Halt> {
        self.entry(provider, |entry| {
            entry.halt.as_ref().map(|stopped| Halt {
                fault: stopped.refusal.fault,
                words: stopped.refusal.words.clone(),
                waiting: stopped
                    .until
                    .checked_duration_since(now)
                    .filter(|rest| !rest.is_zero() && stopped.wanted == hashes(wanted)),
            })
        })
    }

    /// Takes in what became of a plan: the effect that ended the walk, if one did, and Events to try again. Returns when
    /// to try a record that failed again.
    pub fn remember(
        &self,
        provider: &Provider,
        wanted: &[Manifest],
        done: &[Done<'_>],
        now: Instant,
    ) -> Option<Duration> {
        let works = done.iter().any(|d| !d.effect.is_record());
        let failed = done.iter().find(|d| d.halts()).and_then(|d| d.result.clone().err());
        match failed {
            Some(refusal) => self.stop(provider, wanted, refusal, now),
            None if works => self.entry(provider, |entry| entry.halt = None),
            None => {}
        }
        let told = done.iter().any(|d| matches!(d.effect, Effect::ReportWorkload(_)) && d.result.is_ok());
        self.entry(provider, |entry| {
            entry.told = if told { Some(now) } else { entry.told };
            let mut again = None;
            for (done, refusal) in done.iter().filter_map(|d| Some((d, d.result.as_ref().err()?))) {
                if let Effect::Announce(edge) = done.effect {
                    entry.unannounced.push(((**edge).clone(), 1));
                }
                again = again.or(done.effect.is_record().then_some(refusal.fault));
            }
            match again {
                Some(fault) => entry.record_failed(fault, seed(provider), now),
                None if entry.unannounced.is_empty() => (entry.unrecorded, entry.records_rest) = (0, None),
                None => {}
            }
            entry.records_rest.map(|until| until.saturating_duration_since(now))
        })
    }

    /// How long records wait yet after one that failed, whatever wakes the Provider.
    pub fn records_rest(&self, provider: &Provider, now: Instant) -> Option<Duration> {
        self.entry(provider, |entry| entry.records_rest?.checked_duration_since(now)).filter(|rest| !rest.is_zero())
    }

    /// Takes in that a reconcile used up its rounds, or came to rest. One that did not is left alone for a while, longer
    /// each time in a row, whatever wakes it: else two hands that undo each other's writes would do so without a pause.
    pub fn rested(&self, provider: &Provider, rested: bool, now: Instant) {
        self.entry(provider, |entry| {
            entry.restless = if rested { 0 } else { entry.restless + 1 };
            entry.rests = (!rested).then(|| now + Fault::Throttled.delay(entry.restless, seed(provider)));
        });
    }

    /// How long a change of numbers alone has to wait: pods that become ready one after the other are told of together.
    pub fn gathers(&self, provider: &Provider, effects: &[Effect], now: Instant) -> Option<Duration> {
        let recorded = provider.status.as_ref().and_then(|s| s.workload.as_ref())?;
        let [Effect::ReportWorkload(next)] = effects else { return None };
        let numbers = recorded.differs_in_numbers_alone(next);
        self.entry(provider, |entry| (entry.told? + NUMBERS).checked_duration_since(now))
            .filter(|rest| numbers && !rest.is_zero())
    }

    /// How long it is left alone yet.
    pub fn rest(&self, provider: &Provider, now: Instant) -> Option<Duration> {
        self.entry(provider, |entry| entry.rests?.checked_duration_since(now)).filter(|rest| !rest.is_zero())
    }

    /// Takes in that a look or an effect failed.
    pub fn stop(&self, provider: &Provider, wanted: &[Manifest], refusal: Refusal, now: Instant) {
        self.entry(provider, |entry| {
            let again = entry.halt.as_ref().filter(|h| h.refusal.fault == refusal.fault);
            let attempt = again.map_or(0, |h| h.attempt) + 1;
            let until = now + refusal.fault.delay(attempt, seed(provider));
            entry.halt = Some(Stopped { refusal, attempt, until, wanted: hashes(wanted) });
        });
    }

    /// Takes in that a look failed. It is left alone for a while, longer each time in a row, whatever wakes it: without a
    /// look nothing can be decided, and each would be as many requests again. Returns for how long.
    pub fn blind(&self, provider: &Provider, refusal: Refusal, now: Instant) -> Duration {
        self.stop(provider, &[], refusal, now);
        self.entry(provider, |entry| {
            entry.rests = entry.halt.as_ref().map(|stopped| stopped.until);
            entry.rests.map_or(Duration::ZERO, |until| until.saturating_duration_since(now))
        })
    }

    /// The edges whose Event is still to be published.
    pub fn unannounced(&self, provider: &Provider) -> Vec<Transition> {
        self.entry(provider, |entry| entry.unannounced.iter().map(|(edge, _)| edge.clone()).collect())
    }

    /// Takes in that an Event was published, or that it failed once more; returns whether it was dropped.
    pub fn announced(&self, provider: &Provider, edge: &Transition, published: bool, now: Instant) -> bool {
        self.entry(provider, |entry| {
            if !published {
                entry.record_failed(Fault::Transport, seed(provider), now);
            }
            let Some(at) = entry.unannounced.iter().position(|(known, _)| known == edge) else { return false };
            entry.unannounced[at].1 += 1;
            let dropped = !published && entry.unannounced[at].1 > EVENT_TRIES;
            if published || dropped {
                entry.unannounced.remove(at);
            }
            dropped
        })
    }

    /// Forgets a Provider that is gone.
    pub fn forget(&self, namespace: &str, name: &str) {
        self.lock().remove(&(namespace.to_owned(), name.to_owned()));
    }

    fn entry<T>(&self, provider: &Provider, go: impl FnOnce(&mut Entry) -> T) -> T {
        let uid = provider.uid().unwrap_or_default();
        let mut memory = self.lock();
        let entry = memory.entry((provider.namespace().unwrap_or_default(), provider.name_any())).or_default();
        if entry.uid != uid {
            *entry = Entry { uid, ..Entry::default() };
        }
        go(entry)
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Key, Entry>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What is wanted, told by the hashes that the objects carry.
fn hashes(wanted: &[Manifest]) -> String {
    wanted.iter().filter_map(|m| stamp::wanted_hash(&m.body)).collect()
}

/// A number of this Provider's own, for jitter.
fn seed(provider: &Provider) -> u64 {
    provider.uid().unwrap_or_default().bytes().fold(0, |sum, byte| sum.wrapping_mul(31).wrapping_add(byte.into()))
}

/// `delay` with up to a tenth more, another for each Provider, so that a fleet does not wake in step.
pub fn spread(delay: Duration, provider: &Provider) -> Duration {
    delay.mul_f64(1.0 + (seed(provider) % 1000) as f64 / 10_000.0)
}

#[cfg(test)]
mod tests;
