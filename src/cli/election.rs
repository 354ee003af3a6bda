//! Flags of leader election, named and meant as those of Kubernetes' own components.
use super::error::Usage;
use super::time::span;
use crate::k8s::lease::{Misfit, Timing};
use std::time::Duration;

/// How long things take in an election. The defaults spare the API server; 6s, 4s and 1s replace a killed leader in less
/// than ten seconds.
#[derive(clap::Args, Clone, Copy, Debug)]
#[group(id = "election")]
pub struct Args {
    /// How long others wait for a leader that is silent, in whole seconds
    #[arg(long, help_heading = "Leader election", value_name = "TIME", value_parser = span, default_value = "15s")]
    pub leader_elect_lease_duration: Duration,
    /// How long a leader goes on without renewing its Lease; shorter than the lease
    #[arg(long, help_heading = "Leader election", value_name = "TIME", value_parser = span, default_value = "10s")]
    pub leader_elect_renew_deadline: Duration,
    /// The time between two looks at the Lease; at most half of the deadline
    #[arg(long, help_heading = "Leader election", value_name = "TIME", value_parser = span, default_value = "2s")]
    pub leader_elect_retry_period: Duration,
}

impl Args {
    /// The times, checked.
    ///
    /// # Errors
    /// Where they do not go together.
    pub fn timing(&self) -> Result<Timing, Usage> {
        let Args { leader_elect_lease_duration: lease, leader_elect_renew_deadline: renew, .. } = *self;
        let retry = self.leader_elect_retry_period;
        let (lasts, goes_on) = ("--leader-elect-lease-duration", "--leader-elect-renew-deadline");
        Timing::new(lease, renew, retry).map_err(|misfit| {
            Usage(match misfit {
                Misfit::Lease => format!("{lasts} {lease:?} must be whole seconds"),
                Misfit::Renew => {
                    format!("{goes_on} {renew:?} must be shorter than {lasts} {lease:?}, or two replicas could lead")
                }
                Misfit::Retry => format!(
                    "--leader-elect-retry-period {retry:?} must be at most half of {goes_on} {renew:?}, which leaves time for two tries"
                ),
            })
        })
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
    #[case::two_could_lead(
        "10s",
        "10s",
        "2s",
        "--leader-elect-renew-deadline 10s must be shorter than --leader-elect-lease-duration 10s"
    )]
    #[case::one_try(
        "6s",
        "4s",
        "3s",
        "--leader-elect-retry-period 3s must be at most half of --leader-elect-renew-deadline 4s"
    )]
    fn times_go_together(#[case] lease: &str, #[case] renew: &str, #[case] retry: &str, #[case] problem: &str) {
        let flags = ["--leader-elect-lease-duration", lease, "--leader-elect-renew-deadline", renew];
        let line = Line::parse_from(["it"].into_iter().chain(flags).chain(["--leader-elect-retry-period", retry]));
        let told = line.args.timing().map_or_else(|e| e.0, |_| String::new());
        assert!(told.contains(problem) && told.is_empty() == problem.is_empty(), "{told:?}");
    }
}
