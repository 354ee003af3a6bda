//! `banlieue audit`: what the operator's identity did, from the audit log of an API server, with a verdict on each.
mod entry;
mod finding;
mod log;

use super::input;
use super::output::{Output, warn};
use super::word::NAMESPACE;
use crate::k8s::manifests::names;
use anyhow::{Context, bail};
use log::Log;
use std::io::BufReader;
use std::path::PathBuf;
use std::process::ExitCode;

/// Its arguments.
#[derive(clap::Args, Debug)]
#[command(after_help = EXIT_CODES)]
pub struct Args {
    /// The log, or several: one JSON object a line, as `--audit-log-path` writes it; `-` is standard input
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,
    /// Where banlieue is installed
    #[arg(long, short, value_parser = NAMESPACE, default_value = names::DEFAULT_NAMESPACE)]
    pub namespace: String,
    /// How to print it
    #[arg(short, long, value_enum, default_value = "table")]
    pub output: Output,
}

const EXIT_CODES: &str = "Exit codes: 0 nothing is alarming; 1 something is, or it cannot be told: a file or a line of it \
                          cannot be read, or no entry is of the operator; 64 it was asked for wrongly.";

/// Prints the writes, and the reads of Secrets.
///
/// # Errors
/// When a file cannot be read; and, after what was found is printed, where a line is no entry or none is the operator's.
pub fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let operator = format!("system:serviceaccount:{}:{}", args.namespace, names::OPERATOR);
    let mut log = Log::default();
    for file in &args.files {
        let name = input::name(file);
        let read = input::open(file).and_then(|from| log.read(&name, BufReader::new(from), &operator));
        read.with_context(|| format!("cannot read {name}"))?;
    }
    let alarms = log.found.iter().filter(|f| f.alarm).count();
    let last = format!("{} entries, {} of them of the operator, {alarms} alarming\n", log.entries, log.its);
    args.output.print(&log.found, |found| finding::table(found) + &last)?;
    log.cut.iter().for_each(warn);
    if let Some(fault) = log.fault(&operator) {
        bail!(fault);
    }
    Ok(if alarms > 0 { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

#[cfg(test)]
mod tests {
    use super::log::Log;
    use serde_json::{Value, json};

    pub(super) const OPERATOR: &str = "system:serviceaccount:banlieue-system:banlieue-operator";

    /// A line of a log: an entry of the operator, but for what is given.
    pub(super) fn entry(verb: &str, resource: &str, name: &str, more: Value) -> String {
        let mut entry = json!({
            "apiVersion": "audit.k8s.io/v1", "kind": "Event",
            "stage": "ResponseComplete", "verb": verb, "requestURI": "/x", "stageTimestamp": "2026-01-01T00:00:00Z",
            "user": { "username": OPERATOR }, "objectRef": { "resource": resource, "name": name },
            "responseStatus": { "code": 200 },
        });
        for (key, value) in more.as_object().into_iter().flatten() {
            entry[key] = value.clone();
        }
        entry.to_string()
    }

    pub(super) fn read(text: &str, operator: &str) -> Log {
        let mut log = Log::default();
        log.read("a.log", text.as_bytes(), operator).unwrap();
        log
    }
}
