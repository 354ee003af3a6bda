//! What a person sees while things take time: one line for each part, with seconds.

use std::time::{Duration, Instant};

/// Prints progress to standard error, or nothing where it is quiet.
#[derive(Clone, Copy, Debug)]
pub struct Progress {
    quiet: bool,
}

impl Progress {
    /// Progress that a person reads.
    pub fn loud() -> Self {
        Self { quiet: false }
    }

    /// No progress at all.
    pub fn quiet() -> Self {
        Self { quiet: true }
    }

    /// One line.
    pub fn say(&self, line: impl std::fmt::Display) {
        if !self.quiet {
            eprintln!("{line}");
        }
    }

    /// `what` is in `state` after the time since `start`.
    pub fn step(&self, what: &str, state: &str, start: Instant) {
        self.say(format!("  {what:<24} {state:<12} {:>6.1} s", start.elapsed().as_secs_f64()));
    }
}

/// Asks `check` until it answers something, an error ends it, or the time is over; `what` names it in the error.
pub fn wait_until<T>(
    what: &str,
    limit: Duration,
    mut check: impl FnMut() -> anyhow::Result<Option<T>>,
) -> anyhow::Result<T> {
    let start = Instant::now();
    loop {
        if let Some(value) = check()? {
            return Ok(value);
        }
        if start.elapsed() > limit {
            anyhow::bail!("{what}: not within {} s", limit.as_secs_f64());
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}
