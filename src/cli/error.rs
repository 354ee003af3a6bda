//! What a person sees of a failure, and the exit code.
use super::output::{complain, taken};
use std::process::ExitCode;

/// The exit code of a command line that makes no sense (EX_USAGE of sysexits.h). Not clap's own 2, which `plan` answers
/// where something would change: a script must not take a typing error for a difference (ADR-0019).
pub const USAGE: u8 = 64;

/// The command line is to blame: exit code [`USAGE`].
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct Usage(pub String);

impl Usage {
    /// The words of any error that a flag's value led to.
    pub fn of(error: impl std::fmt::Display) -> Self {
        Usage(error.to_string())
    }
}

/// Prints one line on standard error, and says how to end.
pub fn report(error: &anyhow::Error) -> ExitCode {
    complain(line(error));
    if error.is::<Usage>() { ExitCode::from(USAGE) } else { ExitCode::FAILURE }
}

/// Prints what clap has to say, and how to end: help and version were asked for, the rest is an error.
pub fn usage(error: &clap::Error) -> ExitCode {
    let printed = error.print();
    match taken(printed) {
        // nobody is left to tell where even an error cannot be printed
        _ if error.use_stderr() => ExitCode::from(USAGE),
        Err(error) => report(&error),
        Ok(()) => ExitCode::SUCCESS,
    }
}

/// The causes, outermost first, as one line; a cause that an outer one already tells is left out.
fn line(error: &anyhow::Error) -> String {
    let mut told = String::new();
    for cause in error.chain() {
        let text = cause.to_string().split_whitespace().collect::<Vec<_>>().join(" ");
        if told.contains(&text) {
            continue;
        }
        if !told.is_empty() {
            told.push_str(": ");
        }
        told.push_str(&text);
    }
    told
}

#[cfg(test)]
mod tests {
    use super::line;
    use anyhow::{Context, anyhow};

    #[test]
    fn one_line_with_every_cause_once() {
        let error = Err::<(), _>(anyhow!("refused\n  by the peer")).context("no answer").context("no answer");
        assert_eq!(error.map_err(|e| line(&e)), Err("no answer: refused by the peer".into()));
    }
}
