//! `plan` from files: what it answers, and one clear line for each thing that is wrong.
use super::{banlieue, fails, file};
use serde_json::Value;
use std::io::Write;
use std::path::Path;
use std::process::Stdio;

const CLASS: &str = "
apiVersion: banlieue.io/v1alpha1
kind: ProviderClass
metadata: {name: c}
spec: {backend: vsphere, image: {repository: r, tag: t}}
";
const PROVIDER: &str = "
apiVersion: banlieue.io/v1alpha1
kind: Provider
metadata: {name: p, namespace: n}
spec: {providerClassRef: {name: c}, connection: {endpoint: 'https://x', credentialsRef: {name: s}}}
";

pub(crate) fn both() -> String {
    format!("{CLASS}---{PROVIDER}")
}

/// Its one line, after it failed.
#[track_caller]
fn refuses(name: &str, content: &str) -> String {
    let path = file(name, content);
    let said = fails(banlieue(&["plan", "-f", path.to_str().unwrap()]), 1);
    assert!(said.contains(name), "which file? {said}");
    said
}

#[test]
fn something_would_change() {
    let path = file("both.yaml", &both());
    let out = banlieue(&["plan", "-o", "json", "-f", path.to_str().unwrap()]).output().unwrap();
    assert_eq!(out.status.code(), Some(2), "{}", String::from_utf8_lossy(&out.stderr));
    let rounds: Value = serde_json::from_slice(&out.stdout).unwrap();
    assert_eq!(rounds[0]["effects"][0]["effect"], "hold finalizer");
}

#[test]
fn standard_input_and_a_list_as_kubectl_writes_it() {
    let options = serde_saphyr::options! { strict_booleans: true };
    let items: Vec<Value> = serde_saphyr::from_multiple_with_options(&both(), options).unwrap();
    let list = serde_json::json!({ "apiVersion": "v1", "kind": "List", "items": items }).to_string();
    let mut command = banlieue(&["plan", "-f", "-"]);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(list.as_bytes()).unwrap();
    let out = child.wait_with_output().unwrap();
    assert_eq!(out.status.code(), Some(2), "{}", String::from_utf8_lossy(&out.stderr));
    assert!(String::from_utf8(out.stdout).unwrap().contains("n/p · round 1 · Provisioning/Creating"));
}

/// Every file under `examples/`, with the classes that an installation brings: no fault, and each Provider gets its workload.
#[test]
fn the_examples() {
    let classes = banlieue(&["bootstrap", "operator", "--dry-run", "--part", "classes"]).output().unwrap().stdout;
    let classes = file("classes.yaml", &String::from_utf8(classes).unwrap());
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples");
    let files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let files: Vec<_> = files.filter(|path| path.extension().is_some_and(|end| end == "yaml")).collect();
    assert!(files.len() >= 8, "{files:?}");
    let mut command = banlieue(&["plan", "-o", "json", "-f"]);
    command.arg(&classes);
    let mut providers = 0;
    for path in &files {
        command.arg("-f").arg(path);
        providers += std::fs::read_to_string(path).unwrap().matches("\nkind: Provider\n").count();
    }
    let out = command.output().unwrap();
    assert_eq!(out.status.code(), Some(2), "{}", String::from_utf8_lossy(&out.stderr));
    let rounds: Vec<Value> = serde_json::from_slice(&out.stdout).unwrap();
    let begun = rounds.iter().filter(|round| round["round"] == 1 && round["reason"] == "Creating").count();
    assert!(providers >= 4 && begun == providers, "{begun} of {providers}: {rounds:#?}");
}

#[test]
fn what_is_no_manifest() {
    let folder = env!("CARGO_TARGET_TMPDIR");
    assert!(fails(banlieue(&["plan", "-f", folder]), 1).contains("is a folder"));
    assert!(fails(banlieue(&["plan", "-f", "/nonexistent.yaml"]), 1).contains("/nonexistent.yaml"));
    if Path::new("/dev/zero").exists() {
        assert!(fails(banlieue(&["plan", "-f", "/dev/zero"]), 1).contains("more than 16 MiB"));
    }
    for (content, says) in [
        ("kind: [\n  a: b\n", "noyaml.yaml:1:7: unclosed bracket"),
        ("kind: a\nkind: b\n", "noyaml.yaml:2:1: duplicate mapping key"),
        ("{\"kind\": \"a\",\n  \"spec\" 2}", "noyaml.yaml:2:10: "),
    ] {
        let said = refuses("noyaml.yaml", content);
        assert!(said.contains(says) && said.matches("error").count() == 1 && !said.contains('|'), "{said}");
    }
    assert!(refuses("text.yaml", "just words").contains("it is no object"));
    let said = fails(banlieue(&["plan", "-f", file("class.yaml", CLASS).to_str().unwrap()]), 64);
    assert!(said.contains("no Provider"), "{said}");
}

#[test]
fn what_is_not_what_its_kind_says() {
    let paused = both().replace("spec: {providerClassRef", "spec: {paused: 'yes', providerClassRef");
    assert!(refuses("type.yaml", &paused).contains("Provider n/p: spec.paused is to be a boolean, not a string"));
    let unknown = both().replace("spec: {providerClassRef", "spec: {pausd: true, providerClassRef");
    assert!(refuses("unknown.yaml", &unknown).contains("Provider n/p: spec.pausd is no field of a Provider"));
    let pod = format!("{}---\napiVersion: v1\nkind: Pod\nmetadata: {{name: x}}\nspec: 5\n", both());
    let said = fails(banlieue(&["plan", "-f", file("pod.yaml", &pod).to_str().unwrap()]), 1);
    assert!(said.contains("Pod x: invalid type"), "{said}");
}

#[test]
fn each_fault_has_a_line() {
    let two = both().replace("spec: {providerClassRef", "spec: {pausd: true, classs: c, providerClassRef");
    let out = banlieue(&["plan", "-f", file("two.yaml", &two).to_str().unwrap()]).output().unwrap();
    let said = String::from_utf8(out.stderr).unwrap();
    assert_eq!(out.status.code(), Some(1));
    assert!(said.lines().count() == 2 && said.lines().all(|line| line.starts_with("error: ")), "{said}");
}

/// 2 says that something would change: nothing else may end so.
#[test]
fn a_typing_error_is_no_difference() {
    for wrong in [
        &["plan"][..],
        &["plan", "--outptu", "json"],
        &["plan", "provider"],
        &["plan", "provider", "-f", "x.yaml"],
        &["plan", "provider", "x"],
        &["plan", "provider", "a/b/c"],
        &["plan", "provider", "a/"],
        &["plan", "provider", "A/b"],
        &["plan", "class", "a/b"],
        &["plan", "provider", "a/b", "-n", "Foo"],
        &["paln"],
    ] {
        let out = banlieue(wrong).output().unwrap();
        let said = String::from_utf8(out.stderr).unwrap();
        assert_eq!(out.status.code(), Some(64), "{wrong:?}: {said}");
        assert!(said.starts_with("error: ") && out.stdout.is_empty(), "{said}");
    }
    for asked in [&["plan", "--help"][..], &["plan", "provider", "--help"], &["plan", "provider", "a/b", "-h"]] {
        let help = banlieue(asked).output().unwrap();
        let text = String::from_utf8(help.stdout).unwrap();
        assert!(
            help.status.success() && text.contains("64") && text.contains("plan provider NAMESPACE/NAME"),
            "{text}"
        );
    }
}

/// Flags may stand before, between and after the words: what is missed then is the cluster, and nothing else.
#[test]
fn flags_stand_anywhere() {
    for args in [
        ["plan", "-o", "json", "provider", "a/b"],
        ["plan", "provider", "-o", "json", "a/b"],
        ["plan", "provider", "a/b", "-o", "json"],
    ] {
        assert!(fails(banlieue(&args), 1).contains("there is no kubeconfig"));
    }
}
