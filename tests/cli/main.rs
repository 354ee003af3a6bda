//! The program as a person runs it, without a cluster: exit codes, one clear line, and nothing secret in it.
#![allow(clippy::unwrap_used)]
mod audit;
mod plan;
mod unread;

use std::net::TcpListener;
use std::path::PathBuf;
use std::process::{Command, Output};
use std::time::{Duration, Instant};

/// A value that must never be printed.
const MARKER: &str = "s3cret-marker";

/// The program in an environment of its own: no kubeconfig, no home, no pod.
fn banlieue(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_banlieue"));
    command.args(args).env_clear().env("HOME", "/nonexistent");
    command
}

fn file(name: &str, content: &str) -> PathBuf {
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::write(&path, content).unwrap();
    path
}

/// Its one line on standard error, after it failed with this code.
#[track_caller]
fn fails(mut command: Command, code: i32) -> String {
    let Output { status, stdout, stderr } = command.output().unwrap();
    let said = String::from_utf8(stderr).unwrap();
    assert_eq!(status.code(), Some(code), "{said}");
    assert!(said.starts_with("error: ") && said.trim_end().lines().count() == 1, "not one line: {said}");
    assert!(stdout.is_empty() && !said.contains(MARKER), "{said}");
    said
}

fn kubeconfig(server: &str) -> String {
    serde_json::json!({
        "apiVersion": "v1", "kind": "Config", "current-context": "c",
        "clusters": [{"name": "c", "cluster": {"server": server, "insecure-skip-tls-verify": true}}],
        "users": [{"name": "u", "user": {"token": MARKER}}],
        "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
    })
    .to_string()
}

#[test]
fn the_dry_run_needs_nothing_and_is_the_same_each_time() {
    let dry = ["bootstrap", "operator", "--dry-run"];
    let first = banlieue(&dry).output().unwrap();
    let again = banlieue(&dry).env("KUBECONFIG", "/nonexistent/kubeconfig").output().unwrap();
    assert!(first.status.success() && first.stderr.is_empty());
    assert!(first.stdout.starts_with(b"---\n# ") && first.stdout == again.stdout);
}

#[test]
fn classes_are_left_out_where_that_is_asked_for() {
    let classes = |more: &[&str]| {
        let args = [&["bootstrap", "operator", "--dry-run"], more].concat();
        let stream = String::from_utf8(banlieue(&args).output().unwrap().stdout).unwrap();
        assert!(stream.contains("\nkind: Deployment\n"));
        stream.matches("\nkind: ProviderClass\n").count()
    };
    assert!(classes(&[]) > 0);
    assert_eq!(classes(&["--skip-provider-classes"]), 0);
}

#[test]
fn a_flag_that_cannot_be_used() {
    for (flag, value) in [
        ("--namespace", "Foo"),
        ("--namespace", "kube-system"),
        ("--version", "v 1"),
        ("--registry", "https://registry.example.com"),
        ("--registry", "registry.example.com/"),
        ("--replicas", "0"),
        ("--allow-images", "registry.example.com"),
    ] {
        let said = fails(banlieue(&["bootstrap", "operator", "--dry-run", flag, value]), 64);
        // the value that was given, and what it is to be, in words: no placeholder
        assert!(said.contains(flag) && said.contains(value) && !said.contains('<'), "{said}");
    }
}

/// Flags that leave nothing to do, or nothing to do it to, are no installation.
#[test]
fn flags_that_contradict_each_other() {
    for (flags, says) in [
        (&["--part", "classes", "--skip-provider-classes"][..], "--skip-provider-classes leaves out"),
        (&["--part", "classes", "--skip-provider-classes", "--dry-run"], "--skip-provider-classes leaves out"),
        (&["--part", "crds", "--reset-classes"], "--reset-classes"),
        (&["--part", "platform", "--reset-classes"], "--reset-classes"),
        (&["--leader-elect-retry-period", "8s"], "--leader-elect-retry-period 8s"),
        (&["--leader-elect-renew-deadline", "15s"], "--leader-elect-renew-deadline 15s"),
        (&["--leader-elect-lease-duration", "10s"], "--leader-elect-lease-duration 10s"),
    ] {
        let said = fails(banlieue(&[&["bootstrap", "operator"], flags].concat()), 64);
        assert!(said.contains(says), "{said}");
    }
}

#[test]
fn wrong_usage_is_one_code_and_the_help_says_which() {
    for verb in [&["check"][..], &["check", "--pre"], &["uninstall"], &["bootstrap", "provider", "vsphere"]] {
        let said = fails(banlieue(&[verb, &["--namespace", "Foo"]].concat()), 64);
        assert!(said.contains("--namespace") && said.contains("Foo"), "{said}");
    }
    let unknown = fails(banlieue(&["uninstall", "--namespace", "kube-system"]), 64);
    assert!(unknown.contains("Kubernetes' own"), "{unknown}");
    for verb in [&[][..], &["audit"], &["check"], &["plan"]] {
        let help = banlieue(&[verb, &["--help"]].concat()).output().unwrap();
        let text = String::from_utf8(help.stdout).unwrap();
        assert!(text.contains("64 it was asked for wrongly") && !text.contains("2 it was asked for wrongly"), "{text}");
    }
}

/// What cannot be right whatever the cluster says: it is told before anything is asked, there being nothing to ask.
#[test]
fn words_that_cannot_be_right() {
    let long = "a".repeat(64);
    for (args, says) in [
        (&["operator", "--namespace", "Foo"][..], "--namespace"),
        (&["controller", "-n", "a.b"], "--namespace"),
        (&["controller", "-n", &long], "--namespace"),
        (&["provider", "vsphere", "-n", ""], "--namespace"),
        (&["provider", "vsphere", "-n", "a", "--provider-name", "B"], "--provider-name"),
        (&["provider", "vsphere", "-n", "a", "--provider-name", "b..c"], "--provider-name"),
        (&["provider", "kvm", "-n", "a"], "BACKEND"),
        (&["plan", "provider", "a/b/c"], "NAMESPACE/NAME"),
        (&["plan", "provider", "a/b", "-n", "Foo"], "--namespace"),
        (&["audit", "-", "-n", "Foo"], "--namespace"),
        (&["bootstrap", "operator", "--image-pull-secret", "A"], "--image-pull-secret"),
        (&["bootstrap", "operator", "--image-digest", "sha256:0"], "--image-digest"),
        (&["bootstrap", "operator", "--allow-images", "a b"], "--allow-images"),
        (&["operator", "--watch-patience", "5"], "--watch-patience"),
    ] {
        let out = banlieue(args).output().unwrap();
        let said = String::from_utf8(out.stderr).unwrap();
        assert!(out.status.code() == Some(64) && said.contains(says), "{args:?}: {said}");
    }
}

#[test]
fn a_level_of_the_log_that_is_none() {
    // a verb that ends by itself has no flag for it
    for (verb, flag) in [(&["check"][..], false), (&["controller"], true)] {
        let mut command = banlieue(verb);
        command.env("BANLIEUE_LOG", "loud");
        let said = fails(command, 64);
        assert!(said.contains("loud") && said.contains("BANLIEUE_LOG"), "{said}");
        assert_eq!(said.contains("--log-level"), flag, "{said}");
    }
}

#[test]
fn a_word_that_is_none_of_those_there_are() {
    for (args, there) in [
        (&["bootstrap", "operator", "--dry-run", "--log-format", "xml"][..], "json, text"),
        (&["bootstrap", "provider", "kvm", "--dry-run"], "vsphere, libvirt, proxmox"),
        (&["uninstall", "--provider", "kvm"], "vsphere, libvirt, proxmox"),
    ] {
        let out = banlieue(args).output().unwrap();
        let said = String::from_utf8(out.stderr).unwrap();
        assert!(out.status.code() == Some(64) && said.contains(there), "{said}");
    }
}

#[test]
fn a_kubeconfig_that_is_not_there() {
    let path = "/nonexistent/kubeconfig.yaml";
    let said = fails(banlieue(&["bootstrap", "operator", "--kubeconfig", path]), 1);
    assert!(said.contains(path) && said.contains("--kubeconfig"), "{said}");
    let mut command = banlieue(&["bootstrap", "operator"]);
    command.env("KUBECONFIG", path);
    assert!(fails(command, 1).contains(path));
    let said = fails(banlieue(&["bootstrap", "operator"]), 1);
    assert!(said.contains("there is no kubeconfig") && said.contains("/nonexistent/.kube/config"), "{said}");
}

#[test]
fn a_kubeconfig_that_cannot_be_used() {
    let good = kubeconfig("https://127.0.0.1:1");
    for (name, content, says) in [
        ("broken.yaml", format!("users: [ token: {MARKER}"), "line 1"),
        ("shape.yaml", format!("clusters: {MARKER}"), "line 1"),
        ("empty.yaml", String::new(), "current context"),
        ("context.yaml", good.replace(r#""current-context":"c""#, r#""current-context":"d""#), "\"d\""),
        ("server.yaml", good.replace("https://127.0.0.1:1", "a b"), "not a URL"),
    ] {
        let mut command = banlieue(&["bootstrap", "operator"]);
        command.env("KUBECONFIG", file(name, &content));
        let said = fails(command, 1);
        assert!(said.contains(name) && said.contains(says), "{said}");
    }
}

#[test]
fn an_api_server_that_does_not_answer() {
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let closed = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    for address in [closed, silent.local_addr().unwrap()] {
        for verb in [&["bootstrap", "operator"][..], &["controller", "--health-port=0", "--log-level=debug"]] {
            let mut command = banlieue(verb);
            let config = kubeconfig(&format!("https://{address}"));
            command.env("KUBECONFIG", file(&format!("{}-{}.json", address.port(), verb[0]), &config));
            let began = Instant::now();
            let Output { status, stderr, .. } = command.output().unwrap();
            let said = String::from_utf8(stderr).unwrap();
            assert!(began.elapsed() < Duration::from_secs(20), "it took {:?}", began.elapsed());
            assert_eq!(status.code(), Some(1), "{said}");
            let last = said.trim_end().lines().last().unwrap();
            assert!(last.starts_with("error: ") && last.contains(&address.to_string()), "{said}");
            assert!(!said.contains(MARKER), "{said}");
        }
    }
}

#[test]
fn a_server_that_speaks_no_tls_is_no_api_server() {
    let server = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = server.local_addr().unwrap();
    std::thread::spawn(move || {
        for stream in server.incoming() {
            let _ = std::io::Write::write_all(&mut stream.unwrap(), b"HTTP/1.1 400 Bad Request\r\n\r\n");
        }
    });
    let mut command = banlieue(&["bootstrap", "operator"]);
    command.env("KUBECONFIG", file("plain.json", &kubeconfig(&format!("https://{address}"))));
    assert!(fails(command, 1).contains(&address.to_string()));
}

/// `--format` is what the flag was called, and is still taken.
#[test]
fn the_words_are_printed_in_each_form() {
    for (verb, form) in [("phases", "dot"), ("conditions", "markdown")] {
        let printed = |flag| banlieue(&[verb, flag, form]).output().unwrap().stdout;
        assert!(!printed("-o").is_empty() && printed("-o") == printed("--format"), "{verb}");
    }
}

#[test]
fn the_kinds_are_printed() {
    let out = banlieue(&["crds"]).output().unwrap();
    let text = String::from_utf8(out.stdout).unwrap();
    assert!(out.status.success() && text.matches("kind: CustomResourceDefinition").count() == 2);
}
