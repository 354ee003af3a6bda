//! [`Halt`]: what stopped the executor, and how long it holds still. Time is an input.
use std::time::Duration;

/// What a failed effect means.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum Fault {
    /// A create found an object there: look at it.
    Conflict,
    /// What we saw is not what is stored: look again.
    Stale,
    /// The API refused the write: its words are the message.
    Refused,
    /// The object, or one it needs, is not there.
    NotFound,
    /// The namespace is being deleted: creates are refused until it is gone.
    NamespaceTerminating,
    /// The API server asks for patience.
    Throttled,
    /// No answer, or a server error.
    Transport,
}

impl Fault {
    /// The word of metrics.
    pub const fn as_str(self) -> &'static str {
        match self {
            Fault::Conflict => "conflict",
            Fault::Stale => "stale",
            Fault::Refused => "refused",
            Fault::NotFound => "not_found",
            Fault::NamespaceTerminating => "namespace_terminating",
            Fault::Throttled => "throttled",
            Fault::Transport => "transport",
        }
    }

    /// Whether the API's refusal is shown as the phase Pending until it is tried again.
    pub const fn blocks(self) -> bool {
        matches!(self, Fault::Refused | Fault::NotFound)
    }

    /// First and longest delay before the next try.
    const fn bounds(self) -> (Duration, Duration) {
        match self {
            Fault::Conflict | Fault::Stale => (Duration::from_millis(100), Duration::from_secs(10)),
            Fault::Refused | Fault::NotFound | Fault::NamespaceTerminating => {
                (Duration::from_secs(2), Duration::from_secs(300))
            }
            Fault::Throttled | Fault::Transport => (Duration::from_secs(1), Duration::from_secs(60)),
        }
    }

    /// How long to hold still after the `attempt`-th failure in a row (from 1), doubled each time, with 20% of jitter
    /// taken from `seed`, so that a fleet does not retry in step.
    pub fn delay(self, attempt: u32, seed: u64) -> Duration {
        let (first, longest) = self.bounds();
        let doubled = first.saturating_mul(1 << attempt.saturating_sub(1).min(16)).min(longest);
        let jitter = (seed.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(attempt) >> 32) % 1000;
        doubled.mul_f64(0.9 + 0.2 * jitter as f64 / 1000.0)
    }
}

/// What last stopped the executor, as the next observation sees it.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Halt {
    /// What it means.
    pub fault: Fault,
    /// Which effect failed, and the API's own words.
    pub words: String,
    /// How long to hold still yet; `None` once that is over or what we want has changed.
    pub waiting: Option<Duration>,
}
