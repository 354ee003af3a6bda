//! `banlieue audit`: what the operator's identity did, from the audit log of an API server, with a verdict on each.
use super::output::Output;
use crate::k8s::manifests::names;
use anyhow::Context;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use std::process::ExitCode;

/// Its arguments.
#[derive(clap::Args, Debug)]
#[command(after_help = "Exit codes: 0 nothing is alarming, 1 something is, or the file cannot be read.")]
pub struct Args {
    /// The log: one JSON object a line, as `--audit-log-path` writes it
    pub file: PathBuf,
    /// Where banlieue is installed
    #[arg(long, short, default_value = names::DEFAULT_NAMESPACE)]
    pub namespace: String,
    /// How to print it
    #[arg(short, long, value_enum, default_value = "table")]
    pub output: Output,
}

/// An entry of the log, as far as it is read.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Entry {
    stage: String,
    verb: String,
    #[serde(rename = "requestURI")]
    uri: String,
    stage_timestamp: String,
    user: User,
    impersonated_user: User,
    object_ref: Target,
    response_status: Answer,
    request_object: serde_json::Value,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct User {
    username: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Target {
    resource: String,
    subresource: String,
    namespace: String,
    name: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Answer {
    code: u16,
}

/// What was done, and what to think of it.
#[derive(Debug, Serialize)]
struct Finding {
    time: String,
    verb: String,
    object: String,
    code: u16,
    alarm: bool,
    verdict: &'static str,
}

/// Prints the writes, and the reads of Secrets.
///
/// # Errors
/// When the file cannot be read, or a line of it is no entry.
pub fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let name = || format!("cannot read {}", args.file.display());
    let text = std::fs::read_to_string(&args.file).with_context(name)?;
    let operator = format!("system:serviceaccount:{}:{}", args.namespace, names::OPERATOR);
    let found = findings(&text, &operator).with_context(name)?;
    args.output.print(&found, table)?;
    Ok(if found.iter().any(|f| f.alarm) { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

fn findings(text: &str, operator: &str) -> anyhow::Result<Vec<Finding>> {
    let mut found = Vec::new();
    for (at, line) in text.lines().enumerate().filter(|(_, line)| !line.is_empty()) {
        let entry: Entry = serde_json::from_str(line).with_context(|| format!("line {}", at + 1))?;
        let probe = entry.uri.contains("dryRun=");
        let feigned = entry.impersonated_user.username == operator;
        if (entry.user.username != operator && !feigned) || entry.stage != "ResponseComplete" || probe {
            continue;
        }
        let Some(judged) = judge(&entry) else { continue };
        let (alarm, verdict) = if feigned { (true, "somebody else did it under its name") } else { judged };
        let Target { resource, subresource, namespace, name } = entry.object_ref;
        let kind = [resource, subresource].into_iter().filter(|p| !p.is_empty()).collect::<Vec<_>>().join("/");
        let at = [namespace, name].into_iter().filter(|p| !p.is_empty()).collect::<Vec<_>>().join("/");
        let (time, verb, code) = (entry.stage_timestamp, entry.verb, entry.response_status.code);
        found.push(Finding { time, verb, object: format!("{kind} {at}").trim_end().to_owned(), code, alarm, verdict });
    }
    Ok(found)
}

/// Whether an entry alarms, and what there is to say of it; nothing of the reads that are the operator's work.
fn judge(entry: &Entry) -> Option<(bool, &'static str)> {
    let reads = matches!(entry.verb.as_str(), "get" | "list" | "watch");
    let Target { resource, subresource, name, .. } = &entry.object_ref;
    let minted = name.starts_with(names::PREFIX);
    let role = entry.request_object["roleRef"]["name"].as_str();
    Some(match resource.as_str() {
        "secrets" => (true, "it reads no Secret in the course of its work"),
        _ if reads => return None,
        _ if entry.response_status.code == 403 => (true, "it was refused"),
        "clusterrolebindings" if role.is_some_and(|r| !r.starts_with(names::PREFIX)) => {
            (true, "it binds a role that is not banlieue-provider-*")
        }
        "deployments" | "serviceaccounts" | "roles" | "rolebindings" | "clusterrolebindings" if minted => {
            (false, "the workload of a Provider")
        }
        "providers" if subresource.is_empty() || subresource == "status" => (false, "a Provider's finalizer or status"),
        "leases" if name == names::OPERATOR => (false, "its Lease"),
        "events" => (false, "an Event"),
        _ => (true, "this is none of its work"),
    })
}

fn table(found: &[Finding]) -> String {
    let each = |f: &Finding| {
        let mark = if f.alarm { "ALARM" } else { "ok" };
        format!("{mark:<5}  {}  {:<6}  {}  {}: {}\n", f.time, f.verb, f.object, f.code, f.verdict)
    };
    let alarms = found.iter().filter(|f| f.alarm).count();
    let lines: String = found.iter().map(each).collect();
    format!("{lines}{} entries of the operator, {alarms} alarming\n", found.len())
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;
    use serde_json::json;

    const OPERATOR: &str = "system:serviceaccount:banlieue-system:banlieue-operator";

    fn entry(verb: &str, resource: &str, name: &str, more: serde_json::Value) -> String {
        let mut entry = json!({
            "stage": "ResponseComplete", "verb": verb, "requestURI": "/x", "stageTimestamp": "2026-01-01T00:00:00Z",
            "user": { "username": OPERATOR }, "objectRef": { "resource": resource, "name": name },
            "responseStatus": { "code": 200 },
        });
        for (key, value) in more.as_object().into_iter().flatten() {
            entry[key] = value.clone();
        }
        entry.to_string()
    }

    #[rstest]
    #[case(entry("get", "secrets", "creds", json!({})), Some(true))]
    #[case(entry("get", "providers", "p", json!({})), None)]
    #[case(entry("patch", "roles", "banlieue-provider-vsphere-p", json!({})), Some(false))]
    #[case(entry("patch", "roles", "admin", json!({})), Some(true))]
    #[case(entry("patch", "clusterrolebindings", "banlieue-provider-x", json!({ "requestObject": { "roleRef": { "name": "cluster-admin" } } })), Some(true))]
    #[case(entry("patch", "clusterrolebindings", "banlieue-provider-x", json!({ "requestObject": { "roleRef": { "name": "banlieue-provider-vsphere" } } })), Some(false))]
    #[case(entry("create", "pods", "p", json!({ "responseStatus": { "code": 403 } })), Some(true))]
    #[case(entry("create", "roles", "banlieue-probe", json!({ "requestURI": "/x?dryRun=All" })), None)]
    #[case(entry("update", "leases", "banlieue-operator", json!({})), Some(false))]
    #[case(entry("update", "leases", "kube-scheduler", json!({})), Some(true))]
    #[case(entry("patch", "roles", "admin", json!({ "user": { "username": "kubernetes-admin" } })), None)]
    #[case(entry("patch", "roles", "banlieue-provider-x", json!({ "user": { "username": "a" }, "impersonatedUser": { "username": OPERATOR } })), Some(true))]
    #[case(entry("patch", "roles", "admin", json!({ "user": { "username": "a" }, "impersonatedUser": { "username": "b" } })), None)]
    #[case(entry("create", "clusterrolebindings", "banlieue-provider-x", json!({ "user": { "username": "a" }, "impersonatedUser": { "username": OPERATOR }, "requestObject": { "roleRef": { "name": "banlieue-provider-vsphere" } } })), Some(true))]
    #[case(entry("create", "clusterrolebindings", "theirs", json!({ "user": { "username": "a" }, "requestObject": { "roleRef": { "name": "cluster-admin" } } })), None)]
    fn verdicts(#[case] line: String, #[case] alarm: Option<bool>) {
        let found = findings(&line, OPERATOR).unwrap();
        assert_eq!(found.first().map(|f| f.alarm), alarm, "{found:?}");
    }

    #[test]
    fn a_line_that_is_no_entry_is_named() {
        let error = findings("\n{}\nx", OPERATOR).unwrap_err();
        assert!(format!("{error:#}").contains("line 3"), "{error:#}");
    }
}
