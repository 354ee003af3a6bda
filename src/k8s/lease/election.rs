//! The decision: time and what was read are inputs, so that a table can test it.
use super::{Record, Timing};
use std::time::{Duration, Instant};

/// One candidate's view of an election. Instants are this machine's monotonic ones; the times in the Lease are for people.
#[derive(Clone, Debug)]
pub struct Election {
    identity: String,
    timing: Timing,
    /// The Lease as last read (`None` where it was missing), and since when it is so.
    pub(super) seen: Option<(Option<Record>, Instant)>,
    /// The start of the last write that succeeded while holding it.
    pub(super) renewed: Option<Instant>,
}

/// What a look at the Lease asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// Write it with our name: it is given back, its holder has been silent for too long, or there never was one.
    Acquire,
    /// Write it again: it is ours.
    Renew,
    /// Look again this much later at the latest: another one holds it.
    Wait(Duration),
}

impl Election {
    /// A candidate of this identity, which has seen nothing.
    pub fn new(identity: impl Into<String>, timing: Timing) -> Self {
        Self { identity: identity.into(), timing, seen: None, renewed: None }
    }

    /// What to do about the Lease as it is read now; `None` where it does not exist.
    ///
    /// A holder that somebody else than itself took off the Lease, by an edit or by deleting it, does not know that yet: it
    /// counts as alive until it has been silent for as long as any other. Only a Lease that was given back, and one that is
    /// was never there, is free at once.
    pub fn look(&mut self, now: Instant, lease: Option<&Record>) -> Next {
        if lease.is_none() && self.seen.is_none() {
            return Next::Acquire;
        }
        let since = match &self.seen {
            Some((before, since)) if before.as_ref() == lease => *since,
            _ => {
                self.seen = Some((lease.cloned(), now));
                now
            }
        };
        let holder = lease.map_or("", |l| &l.holder);
        if holder == self.identity {
            return Next::Renew;
        }
        let led = self.leads(now);
        if !holder.is_empty() || !led {
            self.renewed = None;
        }
        if lease.is_some_and(Record::free) || (holder.is_empty() && led) {
            return Next::Acquire;
        }
        let silent = now.saturating_duration_since(since);
        // Its own duration counts, not ours: the holder may be of another version. Ours is the floor, against a zero.
        let lasts = lease.map_or(Duration::ZERO, |l| l.lasts).max(self.timing.lease);
        if silent >= lasts { Next::Acquire } else { Next::Wait(self.timing.retry.min(lasts.saturating_sub(silent))) }
    }

    /// A write that makes us the holder has succeeded; it was sent at `sent`.
    pub fn written(&mut self, sent: Instant) {
        self.renewed = Some(sent);
    }

    /// When leadership ends unless it is renewed; `None` for who does not lead.
    pub fn deadline(&self) -> Option<Instant> {
        self.renewed.map(|at| at + self.timing.renew)
    }

    /// Whether we lead at this instant.
    pub fn leads(&self, now: Instant) -> bool {
        self.deadline().is_some_and(|end| now < end)
    }
}
