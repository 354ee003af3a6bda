//! [`Until`]: until when this replica may write.
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Longer than any process lives.
const FOREVER: Duration = Duration::from_secs(3600 * 24 * 365 * 10);

/// Until when the leadership lasts unless it is renewed. Asked right before a write: a process that was asleep past its
/// deadline would write before its timers have told it.
#[derive(Clone, Debug, Default)]
pub struct Until(Arc<Mutex<Term>>);

#[derive(Debug, Default)]
struct Term {
    end: Option<Instant>,
    resigned: bool,
}

impl Until {
    /// Of a replica that leads without a Lease.
    pub fn forever() -> Self {
        let forever = Self::default();
        forever.set(Instant::now().checked_add(FOREVER));
        forever
    }

    /// Whether it leads at this instant.
    pub fn leads(&self) -> bool {
        self.term(|term| !term.resigned && term.end.is_some_and(|end| Instant::now() < end))
    }

    /// From now on it never leads again: the process is about to end, and begins nothing new.
    pub fn resign(&self) {
        self.term(|term| term.resigned = true);
    }

    pub(super) fn set(&self, end: Option<Instant>) {
        self.term(|term| term.end = end);
    }

    fn term<T>(&self, go: impl FnOnce(&mut Term) -> T) -> T {
        go(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
