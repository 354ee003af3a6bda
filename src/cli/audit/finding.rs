//! [`Finding`]: what was done, and what to think of it.
use super::entry::{Entry, Target};
use crate::k8s::manifests::names;
use serde::Serialize;

/// What the operator does all day: it is counted, and told one by one in JSON and YAML alone.
const LEASE: &str = "its Lease";

/// A write, or the read of a Secret.
#[derive(Debug, Serialize)]
pub(super) struct Finding {
    time: String,
    verb: String,
    object: String,
    code: u16,
    pub(super) alarm: bool,
    verdict: &'static str,
}

impl Finding {
    /// What there is to say of an entry of this identity, if anything.
    pub(super) fn of(entry: Entry, operator: &str) -> Option<Self> {
        let probe = entry.uri.contains("dryRun=");
        if entry.stage != "ResponseComplete" || probe {
            return None;
        }
        let judged = judge(&entry)?;
        let feigned = entry.impersonated_user.username == operator;
        let (alarm, verdict) = if feigned { (true, "somebody else did it under its name") } else { judged };
        let Target { resource, subresource, namespace, name } = entry.object_ref;
        let kind = [resource, subresource].into_iter().filter(|p| !p.is_empty()).collect::<Vec<_>>().join("/");
        let at = [namespace, name].into_iter().filter(|p| !p.is_empty()).collect::<Vec<_>>().join("/");
        let (time, verb, code) = (entry.stage_timestamp, entry.verb, entry.response_status.code);
        Some(Finding { time, verb, object: format!("{kind} {at}").trim_end().to_owned(), code, alarm, verdict })
    }

    const fn mark(&self) -> &'static str {
        if self.alarm { "ALARM" } else { "ok" }
    }
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
        "leases" if name == names::OPERATOR => (false, LEASE),
        "events" => (false, "an Event"),
        _ => (true, "this is none of its work"),
    })
}

/// For people: alarms first, then what else is worth a line, then how often each was said.
pub(super) fn table(found: &[Finding]) -> String {
    let each =
        |f: &Finding| format!("{:<5}  {}  {:<6}  {}  {}: {}\n", f.mark(), f.time, f.verb, f.object, f.code, f.verdict);
    let (alarms, work): (Vec<_>, Vec<_>) = found.iter().partition(|f| f.alarm);
    let (mut text, mut counts) = (String::new(), Vec::<(&Finding, usize)>::new());
    for finding in alarms.into_iter().chain(work) {
        if finding.verdict != LEASE {
            text += &each(finding);
        }
        match counts.iter_mut().find(|(other, _)| other.verdict == finding.verdict) {
            Some((_, count)) => *count += 1,
            None => counts.push((finding, 1)),
        }
    }
    for (one, count) in counts {
        text += &format!("{:<5}  {count} in all: {}\n", one.mark(), one.verdict);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::super::tests::{OPERATOR, entry, read};
    use super::table;
    use rstest::rstest;
    use serde_json::json;

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
        let found = read(&line, OPERATOR).found;
        assert_eq!(found.first().map(|f| f.alarm), alarm, "{found:?}");
    }

    #[test]
    fn what_alarms_comes_first_and_renewals_are_counted() {
        let renewal = entry("update", "leases", "banlieue-operator", json!({}));
        let work = entry("patch", "roles", "banlieue-provider-vsphere-p", json!({}));
        let alarm = entry("get", "secrets", "creds", json!({}));
        let found = read(&[&renewal[..], &work, &renewal, &alarm].join("\n"), OPERATOR).found;
        assert_eq!(found.len(), 4, "JSON has each");
        let table = table(&found);
        let lines: Vec<_> = table.lines().map(|l| l.replace("2026-01-01T00:00:00Z  ", "")).collect();
        let expected = [
            "ALARM  get     secrets creds  200: it reads no Secret in the course of its work",
            "ok     patch   roles banlieue-provider-vsphere-p  200: the workload of a Provider",
            "ALARM  1 in all: it reads no Secret in the course of its work",
            "ok     2 in all: its Lease",
            "ok     1 in all: the workload of a Provider",
        ];
        assert_eq!(lines, expected);
    }
}
