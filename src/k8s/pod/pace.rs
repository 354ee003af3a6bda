//! When to look at the backend again. Pure: time and jitter are inputs.
use crate::k8s::crd::Retry;
use std::time::{Duration, Instant};

/// Between two looks at rest; also how late a changed Secret is noticed.
const REGULAR: Duration = Duration::from_secs(30);
/// The first back-off after a network failure; it doubles up to [`REGULAR`].
const SOON: Duration = Duration::from_secs(2);
/// The first back-off after refused credentials; it doubles up to [`SPARSEST`].
const SPARING: Duration = Duration::from_secs(120);
/// Five logins an hour lock no account that is worth the name.
const SPARSEST: Duration = Duration::from_secs(1800);
/// A pod stays ready through this many failures in a row, less one.
const TOLERATED: u32 = 3;

/// The pace of one pod. `K` tells apart what is tried: refused credentials are tried again at once when it has changed.
#[derive(Debug)]
pub(super) struct Pace<K> {
    tried: Option<K>,
    failures: u32,
    /// Nothing may be tried before, unless what is tried has changed.
    held: Option<Instant>,
    next: Duration,
    good: bool,
}

impl<K: PartialEq> Pace<K> {
    pub(super) fn new() -> Self {
        Self { tried: None, failures: 0, held: None, next: REGULAR, good: false }
    }

    /// Whether a look at the backend may be made now.
    pub(super) fn may_try(&self, now: Instant, what: &K) -> bool {
        self.tried.as_ref() != Some(what) || self.held.is_none_or(|until| now >= until)
    }

    /// A look was made: it was good, or what it asks for. `jitter` is from 0 to 1.
    pub(super) fn tried(&mut self, now: Instant, what: K, failed: Option<Retry>, jitter: f64) {
        if self.tried.as_ref() != Some(&what) {
            (self.failures, self.good) = (0, false);
            self.tried = Some(what);
        }
        (self.held, self.next) = (None, spread(REGULAR, jitter));
        let doubled = |first: Duration, most| first.saturating_mul(1 << self.failures.min(16)).min(most);
        match failed {
            Some(Retry::Soon) => self.next = spread(doubled(SOON, REGULAR), jitter),
            Some(Retry::Sparingly) => self.held = Some(now + spread(doubled(SPARING, SPARSEST), jitter)),
            Some(Retry::Regularly) | None => {}
        }
        self.failures = if failed.is_none() { 0 } else { self.failures.saturating_add(1) };
        self.good = match failed {
            None => true,
            Some(Retry::Soon) => self.good && self.failures < TOLERATED,
            Some(_) => false,
        };
    }

    /// How long until the next look at what the API server has.
    pub(super) fn next(&self) -> Duration {
        self.next
    }

    /// Whether the backend let us in within the last few looks.
    pub(super) fn good(&self) -> bool {
        self.good
    }
}

/// Up to a tenth more or less.
fn spread(pause: Duration, jitter: f64) -> Duration {
    pause.mul_f64(0.9 + jitter.clamp(0.0, 1.0) / 5.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// No jitter to speak of.
    const MIDDLE: f64 = 0.5;

    #[test]
    fn a_wrong_password_is_tried_a_few_times_an_hour_and_at_once_when_changed() {
        let start = Instant::now();
        let mut pace = Pace::new();
        let mut logins = 0;
        for second in 0..3600 {
            let now = start + Duration::from_secs(second);
            if pace.may_try(now, &"wrong") {
                logins += 1;
                pace.tried(now, "wrong", Some(Retry::Sparingly), MIDDLE);
            }
        }
        assert_eq!(logins, 5, "at 0, 2, 6, 14, 30 minutes");
        assert_eq!(pace.next(), REGULAR, "the Secret is looked at all the same");
        assert!(pace.may_try(start, &"right"));
        pace.tried(start, "right", None, MIDDLE);
        assert!(pace.good() && pace.may_try(start, &"right"));
    }

    #[test]
    fn a_network_failure_is_tried_again_in_seconds_and_forgiven_twice() {
        let now = Instant::now();
        let mut pace = Pace::new();
        pace.tried(now, 1, None, MIDDLE);
        let mut pauses = vec![];
        for failures in 1..=6 {
            pace.tried(now, 1, Some(Retry::Soon), MIDDLE);
            pauses.push(pace.next().as_secs());
            assert_eq!(pace.good(), failures < TOLERATED);
            assert!(pace.may_try(now, &1));
        }
        assert_eq!(pauses, [2, 4, 8, 16, 30, 30]);
    }

    #[test]
    fn another_target_is_not_good_until_it_was_reached() {
        let now = Instant::now();
        let mut pace = Pace::new();
        pace.tried(now, 1, None, MIDDLE);
        pace.tried(now, 2, Some(Retry::Soon), MIDDLE);
        assert!(!pace.good());
    }

    #[test]
    fn jitter_is_a_tenth() {
        assert_eq!((spread(REGULAR, 0.0).as_secs(), spread(REGULAR, 1.0).as_secs()), (27, 33));
    }
}
