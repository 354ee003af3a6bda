//! The decision: time and what was read are inputs, so that a table can test it.
use super::{Record, Timing};
use std::time::{Duration, Instant};

/// One candidate's view of an election. Instants are this machine's monotonic ones; the times in the Lease are for people.
#[derive(Debug)]
pub struct Election {
    identity: String,
    timing: Timing,
    /// The Lease as last read, and when it was first seen so.
    seen: Option<(Record, Instant)>,
    /// The start of the last write that succeeded while holding it.
    renewed: Option<Instant>,
}

/// What a look at the Lease asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// Write it with our name: it is missing, free, or its holder has been silent for too long.
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
    pub fn look(&mut self, now: Instant, lease: Option<&Record>) -> Next {
        let Some(lease) = lease else {
            self.seen = None;
            return Next::Acquire;
        };
        let since = match &self.seen {
            Some((before, since)) if before == lease => *since,
            _ => {
                self.seen = Some((lease.clone(), now));
                now
            }
        };
        if lease.holder == self.identity {
            return Next::Renew;
        }
        self.renewed = None;
        let silent = now.saturating_duration_since(since);
        // Its own duration counts, not ours: the holder may be of another version. Ours is the floor, against a zero.
        let lasts = lease.lasts.max(self.timing.lease);
        if lease.holder.is_empty() || silent >= lasts {
            Next::Acquire
        } else {
            Next::Wait(self.timing.retry.min(lasts.saturating_sub(silent)))
        }
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
