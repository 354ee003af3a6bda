//! What a person sees of a failure, and the exit code.
use std::process::ExitCode;

/// The command line is to blame: exit code 2, as clap itself has it.
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
    eprintln!("error: {}", line(error));
    if error.is::<Usage>() { ExitCode::from(2) } else { ExitCode::FAILURE }
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
