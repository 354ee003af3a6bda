//! Leader election by a Lease. Own code: no published crate is sound (they write without a resourceVersion, or compare
//! the wall clocks of two hosts). [`Election`] decides and knows no clock; [`Elector`] is its hands.
mod election;
mod elector;
mod record;
mod until;

pub use election::{Election, Next};
pub use elector::{Elector, Leadership};
pub use record::{Meta, Record};
pub use until::Until;

use std::time::Duration;

/// Why a replica ends that saw the Lease go back in time, see [`Leadership::rewound`].
pub const REWOUND: &str = "the API server's state is older than what this replica has seen (was etcd restored?); it ends, so that a new one starts anew";

/// How long things take in an election. A holder is leader for `renew` after the start of its last good write; others
/// take over `lease` after they last *saw* the Lease change: `renew` must be the shorter one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timing {
    /// After this long without a change, anyone may take over.
    pub lease: Duration,
    /// After this long without a good write, a leader stops.
    pub renew: Duration,
    /// Between two looks at the Lease.
    pub retry: Duration,
}

/// Which of the times does not fit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Misfit {
    /// The lease does not last whole seconds.
    Lease,
    /// A leader goes on for as long as the lease: two could lead.
    Renew,
    /// A leader has no time for two tries.
    Retry,
}

impl Timing {
    /// The operator and the controller: 15/10/2 seconds.
    pub const ROLE: Timing = Timing::seconds(15, 10, 2);
    /// The pods of a Provider: 60/40/20 seconds, for there are many of them.
    pub const POD: Timing = Timing::seconds(60, 40, 20);

    /// Times of one's own.
    ///
    /// # Errors
    /// Where two replicas could lead at once, or a leader would not get a second try.
    pub fn new(lease: Duration, renew: Duration, retry: Duration) -> Result<Self, Misfit> {
        match () {
            () if lease.subsec_nanos() != 0 || lease.is_zero() => Err(Misfit::Lease),
            () if renew >= lease => Err(Misfit::Renew),
            () if retry.is_zero() || retry * 2 > renew => Err(Misfit::Retry),
            () => Ok(Self { lease, renew, retry }),
        }
    }

    /// The flags that say so, for the roles; none where these are their own times.
    pub fn flags(&self) -> Vec<String> {
        let Timing { lease, renew, retry } = self;
        let spans = [("lease-duration", lease), ("renew-deadline", renew), ("retry-period", retry)];
        let flag = |(name, span): (&str, &Duration)| format!("--leader-elect-{name}={}s", span.as_secs());
        if *self == Timing::ROLE { vec![] } else { spans.map(flag).into() }
    }

    const fn seconds(lease: u64, renew: u64, retry: u64) -> Self {
        Self { lease: Duration::from_secs(lease), renew: Duration::from_secs(renew), retry: Duration::from_secs(retry) }
    }
}

#[cfg(test)]
mod tests;
