//! What can be said of a cluster before an installation, and of an installation that is there. Reads and dry runs only.
mod before;
mod held;
mod installed;
mod parts;
mod providers;
mod role;
mod statics;

pub use before::before;
pub use installed::installed;

use super::failure::words;
use serde::Serialize;

/// How a check came out.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// As it should be.
    Ok,
    /// It works, and somebody should know.
    Warn,
    /// It does not work.
    Fail,
}

impl Verdict {
    /// The word of it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Verdict::Ok => "ok",
            Verdict::Warn => "warn",
            Verdict::Fail => "fail",
        }
    }
}

/// One check.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
pub struct Line {
    /// What was looked at.
    pub check: &'static str,
    /// How it came out.
    pub verdict: Verdict,
    /// What was found, and what to do where it is not as it should be.
    pub message: String,
}

/// One line, whatever line breaks somebody's words have.
fn line(check: &'static str, verdict: Verdict, message: impl Into<String>) -> Line {
    Line { check, verdict, message: message.into().replace(char::is_control, " ") }
}

/// As many names are told; of more, how many.
const NAMED: usize = 20;

/// Names in one line.
fn list(mut names: Vec<String>) -> String {
    let more = names.len().saturating_sub(NAMED);
    names.truncate(NAMED);
    names.extend((more > 0).then(|| format!("and {more} more")));
    names.join(", ")
}

/// A check that could not be made.
fn unknown(check: &'static str, error: &kube::Error) -> Line {
    line(check, Verdict::Fail, format!("it cannot be asked: {}", words(error)))
}
