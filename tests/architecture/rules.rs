//! The rules of the house, and what breaks them.
use super::tokens::{self, Named};
use std::fmt;

/// Which room may name which others. What is not here may not be named; a longer name opens a part of a room only.
const ARROWS: &[(&str, &[&str])] = &[
    ("cli", &["k8s", "effects", "fsm", "backends"]),
    ("k8s", &["effects", "fsm"]),
    ("effects", &["fsm"]),
    ("fsm", &[]),
    ("backends", &["k8s::crd"]),
];
/// The files above the rooms: they may name every room.
const ROOF: &[&str] = &["lib.rs", "main.rs"];
/// The crates that only `k8s` may name.
const CLUSTER_CRATES: &[&str] = &["kube", "k8s_openapi"];
/// What the core may not name: by the start of a path ...
const NOT_IN_CORE: &[&str] =
    &["tokio", "futures", "std::fs", "std::net", "std::env", "std::process", "std::thread", "std::io"];
/// ... by a part of it, wherever it stands ...
const NOT_IN_CORE_PARTS: &[&str] = &["Instant", "SystemTime", "Utc::now", "Local::now"];
/// ... or as a word of the language.
const NOT_IN_CORE_WORDS: &[&str] = &["async", "await"];
/// Files and folders where delays, deadlines and Leases are kept: they count on the monotonic clock, which nobody sets ...
const MONOTONIC: &[&str] = &[
    "k8s/complaint.rs",
    "k8s/lease/election.rs",
    "k8s/lease/until.rs",
    "k8s/memory.rs",
    "k8s/refusal.rs",
    "k8s/sweep.rs",
    "k8s/vigil/",
];
/// ... so none of them names what tells the time of day.
const TIME_OF_DAY: &[&str] = &["SystemTime", "DateTime", "Utc", "Local", "Timestamp"];
/// File names that say nothing.
const NO_NOUNS: &[&str] = &["util", "utils", "helper", "helpers", "misc"];
/// How long a file may be.
const MOST_LINES: usize = 300;
/// How long a file of tests may be.
const MOST_LINES_OF_TESTS: usize = 600;

/// One broken rule.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Fault {
    file: String,
    line: usize,
    what: String,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.file, self.line, self.what)
    }
}

/// Checks one file of the product: `file` is its path below `src`.
pub(crate) fn check(file: &str, text: &str) -> Vec<Fault> {
    let fault = |line: usize, what: String| Fault { file: file.into(), line, what };
    let names = match tokens::named(file, text) {
        Ok(names) => names,
        Err(error) => return vec![fault(1, error)],
    };
    let room = file.split('/').next().unwrap_or_default().trim_end_matches(".rs");
    let mut faults = Vec::new();
    if !ROOF.contains(&file) && !ARROWS.iter().any(|(name, _)| *name == room) {
        faults.push(fault(1, format!("{room} is no module of the house")));
    }
    for Named { line, path, own } in &names {
        let found = if *own { own_path(file, room, path) } else { foreign_path(room, path) };
        let clock = || time_of_day(file, path);
        faults.extend(found.or_else(clock).into_iter().map(|what| fault(*line, what)));
    }
    faults
}

/// A path inside this crate, from its root.
fn own_path(file: &str, room: &str, path: &[String]) -> Option<String> {
    let top = path.first()?;
    if ROOF.contains(&file) || top == room {
        return None;
    }
    if top == "*" {
        return Some("a glob of the crate's root names everything at once".into());
    }
    if !ARROWS.iter().any(|(name, _)| name == top) {
        return Some(format!("crate::{top} is no module of the house: name things where they live"));
    }
    let whole = path.join("::");
    let (_, open) = ARROWS.iter().find(|(name, _)| *name == room)?;
    let allowed = open.iter().any(|o| starts_with(&whole, o));
    (!allowed).then(|| format!("{room} may not name {whole}"))
}

/// A path of another crate, or a word of the language.
fn foreign_path(room: &str, path: &[String]) -> Option<String> {
    let whole = path.join("::");
    if path == ["#[path]"] {
        return Some("a file is where its name says: no #[path]".into());
    }
    if room != "k8s" && CLUSTER_CRATES.iter().any(|c| path[0] == *c) {
        return Some(format!("only k8s says {}", path[0]));
    }
    if room != "fsm" {
        return None;
    }
    let part = |p: &&&str| format!("::{whole}::").contains(&format!("::{p}::"));
    NOT_IN_CORE
        .iter()
        .find(|p| starts_with(&whole, p))
        .or_else(|| NOT_IN_CORE_PARTS.iter().find(part))
        .or_else(|| NOT_IN_CORE_WORDS.iter().find(|w| whole == **w))
        .map(|what| format!("the core has no {what}"))
}

/// A clock that somebody may set.
fn time_of_day(file: &str, path: &[String]) -> Option<String> {
    let kept = MONOTONIC.iter().any(|m| file == *m || (m.ends_with('/') && file.starts_with(m)));
    let named = TIME_OF_DAY.iter().find(|t| path.iter().any(|p| p == *t)).filter(|_| kept)?;
    Some(format!("{named} tells the time of day, which jumps; what is kept here counts on Instant"))
}

fn starts_with(path: &str, prefix: &str) -> bool {
    path.strip_prefix(prefix).is_some_and(|rest| rest.is_empty() || rest.starts_with("::"))
}

/// Checks the length and the name of any file; `tests` where the whole folder is tests.
pub(crate) fn check_shape(file: &str, text: &str, tests: bool) -> Vec<Fault> {
    let mut faults = Vec::new();
    let most =
        if tests || file.contains("tests/") || file.ends_with("tests.rs") { MOST_LINES_OF_TESTS } else { MOST_LINES };
    let lines = text.lines().count();
    if lines > most {
        faults.push(Fault {
            file: file.into(),
            line: most,
            what: format!("{lines} lines, at most {most}: split it by noun"),
        });
    }
    for part in file.split('/').map(|p| p.trim_end_matches(".rs")).filter(|p| NO_NOUNS.contains(p)) {
        faults.push(Fault { file: file.into(), line: 1, what: format!("{part} names no noun") });
    }
    faults
}
