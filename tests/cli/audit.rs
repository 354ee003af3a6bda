//! `audit` as a script runs it: what is on which stream, and how it ends.
use super::{banlieue, file};
use serde_json::{Value, json};
use std::io::Write;
use std::process::{Output, Stdio};

/// A line of a log: the operator of this namespace does that.
pub(super) fn entry(namespace: &str, verb: &str, resource: &str) -> String {
    let entry = json!({
        "apiVersion": "audit.k8s.io/v1", "kind": "Event", "stage": "ResponseComplete", "verb": verb, "requestURI": "/x",
        "user": { "username": format!("system:serviceaccount:{namespace}:banlieue-operator") },
        "objectRef": { "resource": resource, "name": "banlieue-operator" }, "responseStatus": { "code": 200 },
    });
    format!("{entry}\n")
}

fn log(name: &str, text: &str) -> String {
    file(&format!("audit-{name}.log"), text).to_str().unwrap().to_owned()
}

/// Exit code, standard output and standard error, with this on standard input.
fn run(args: &[&str], input: &str) -> (Option<i32>, String, String) {
    let mut command = banlieue(&[&["audit"], args].concat());
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    let Output { status, stdout, stderr } = child.wait_with_output().unwrap();
    (status.code(), String::from_utf8(stdout).unwrap(), String::from_utf8(stderr).unwrap())
}

#[test]
fn a_log_without_the_operator_is_no_success() {
    for (name, text, says) in [
        ("empty", String::new(), "none of 0 entries is of system:serviceaccount:banlieue-system:banlieue-operator: "),
        ("foreign", "{}\n".into(), "line 1: it is no entry of an audit log"),
        ("elsewhere", entry("infra", "update", "leases"), "give --namespace infra"),
    ] {
        let path = log(name, &text);
        let (code, out, err) = run(&[&path, "--output", "json"], "");
        assert_eq!((code, out.as_str()), (Some(1), "[]\n"), "{err}");
        assert!(err.starts_with("error: ") && err.lines().count() == 1 && err.contains(says), "{err}");
    }
    let (code, _, err) = run(&[&log("infra", &entry("infra", "update", "leases")), "--namespace", "infra"], "");
    assert_eq!((code, err.as_str()), (Some(0), ""));
}

#[test]
fn several_logs_and_standard_input_are_one() {
    let lease = entry("banlieue-system", "update", "leases");
    let (older, newer) = (log("older", &lease.repeat(3)), log("newer", &lease));
    let (code, out, err) = run(&[&older, &newer, "-"], &lease);
    assert_eq!((code, err.as_str()), (Some(0), ""));
    assert_eq!(out, "ok     5 in all: its Lease\n5 entries, 5 of them of the operator, 0 alarming\n");
    let (code, out, _) = run(&["-", "--output", "json"], &(lease + &entry("banlieue-system", "get", "secrets")));
    let found: Vec<Value> = serde_json::from_str(&out).unwrap();
    assert_eq!((code, found.len(), &found[1]["alarm"]), (Some(1), 2, &json!(true)), "{out}");
    assert_eq!(run(&[], "").0, Some(64));
    let (code, out, err) = run(&[&older, "/nonexistent/audit.log"], "");
    assert!(code == Some(1) && out.is_empty() && err.contains("cannot read /nonexistent/audit.log"), "{out}{err}");
}

#[test]
fn what_was_found_is_told_whatever_the_log_ends_with() {
    let lease = entry("banlieue-system", "update", "leases");
    for (end, code, says) in [
        (&lease[..lease.len() / 2], 0, "warning: standard input: line 2, the last, is cut short"),
        ("no entry\n", 1, "error: standard input: line 2: "),
    ] {
        let (ended, out, err) = run(&["-"], &format!("{lease}{end}"));
        assert_eq!(ended, Some(code), "{err}");
        assert!(out.contains("1 in all: its Lease") && err.lines().count() == 1 && err.starts_with(says), "{out}{err}");
    }
}
