//! Flags of leader election, named and meant as those of Kubernetes' own components.
use super::error::Usage;
use super::time::span;
use crate::k8s::lease::Timing;
use std::time::Duration;

/// How long things take in an election. The defaults spare the API server; 6s, 4s and 1s replace a killed leader in less
/// than ten seconds.
#[derive(clap::Args, Clone, Copy, Debug)]
#[group(id = "election")]
pub struct Args {
    /// How long others wait for a leader that is silent, in whole seconds
    #[arg(long, value_name = "TIME", value_parser = span, default_value = "15s")]
    pub leader_elect_lease_duration: Duration,
    /// How long a leader goes on without renewing its Lease; shorter than the lease
    #[arg(long, value_name = "TIME", value_parser = span, default_value = "10s")]
    pub leader_elect_renew_deadline: Duration,
    /// The time between two looks at the Lease; at most half of the deadline
    #[arg(long, value_name = "TIME", value_parser = span, default_value = "2s")]
    pub leader_elect_retry_period: Duration,
}

impl Args {
    /// The times, checked.
    ///
    /// # Errors
    /// Where they do not go together.
    pub fn timing(&self) -> Result<Timing, Usage> {
        let Args { leader_elect_lease_duration: lease, leader_elect_renew_deadline: renew, .. } = *self;
        Timing::new(lease, renew, self.leader_elect_retry_period)
            .map_err(|problem| Usage(format!("--leader-elect-lease-duration and its like: {problem}")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;
    use rstest::rstest;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        args: Args,
    }

    #[test]
    fn the_defaults_are_the_roles() {
        let timing = Line::parse_from(["it"]).args.timing().map_err(|e| e.0);
        assert_eq!(timing, Ok(Timing::ROLE));
    }

    #[rstest]
    #[case::fast("6s", "4s", "1s", "")]
    #[case::two_could_lead("10s", "10s", "2s", "shorter than the lease")]
    #[case::one_try("6s", "4s", "3s", "two tries")]
    fn times_go_together(#[case] lease: &str, #[case] renew: &str, #[case] retry: &str, #[case] problem: &str) {
        let flags = ["--leader-elect-lease-duration", lease, "--leader-elect-renew-deadline", renew];
        let line = Line::parse_from(["it"].into_iter().chain(flags).chain(["--leader-elect-retry-period", retry]));
        let told = line.args.timing().map_or_else(|e| e.0, |_| String::new());
        assert!(told.contains(problem) && told.is_empty() == problem.is_empty(), "{told:?}");
    }
}
