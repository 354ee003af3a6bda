//! Leader election by a Lease. Own code: no published crate is sound (they write without a resourceVersion, or compare
//! the wall clocks of two hosts). [`Election`] decides and knows no clock; [`Elector`] is its hands.
mod election;
mod elector;
mod record;

pub use election::{Election, Next};
pub use elector::{Elector, Leadership, Until};
pub use record::{Meta, Record};

use std::time::Duration;

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

impl Timing {
    /// The operator and the controller: 15/10/2 seconds.
    pub const ROLE: Timing = Timing::seconds(15, 10, 2);
    /// The pods of a Provider: 60/40/20 seconds, for there are many of them.
    pub const POD: Timing = Timing::seconds(60, 40, 20);

    const fn seconds(lease: u64, renew: u64, retry: u64) -> Self {
        Self { lease: Duration::from_secs(lease), renew: Duration::from_secs(renew), retry: Duration::from_secs(retry) }
    }
}

#[cfg(test)]
mod tests;
