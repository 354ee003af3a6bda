//! Whoever read has left, as `head` does: each verb does what it would have done, and ends so.
use super::{audit, banlieue, fails, file, plan};
use banlieue::cli::Cli;
use clap::CommandFactory;
use std::path::Path;
use std::process::Stdio;

/// Standard output on a disk that is full: one line says so, and nothing is taken for done.
#[test]
fn output_that_cannot_be_written() {
    if !Path::new("/dev/full").exists() {
        return;
    }
    let path = |name: &str, content: &str| file(name, content).to_str().unwrap().to_owned();
    let (good, log) = (
        path("unwritten.yaml", &plan::both()),
        path("unwritten.log", &audit::entry("banlieue-system", "update", "leases")),
    );
    for args in [
        &["--help"][..],
        &["--version"],
        &["plan", "--help"],
        &["bootstrap", "operator", "--dry-run"],
        &["bootstrap", "provider", "vsphere", "--dry-run"],
        &["crds"],
        &["phases"],
        &["conditions"],
        &["audit", &log],
        &["plan", "-f", &good],
        &["plan", "-f", &good, "-o", "json"],
    ] {
        let full = std::fs::File::create("/dev/full").unwrap();
        let out = banlieue(args).stdout(full).output().unwrap();
        let said = String::from_utf8(out.stderr).unwrap();
        let whole = "error: cannot write standard output: No space left on device (os error 28)\n";
        assert!(out.status.code() == Some(1) && said == whole, "{args:?}: {}: {said}", out.status);
    }
}

#[test]
fn a_file_that_cannot_be_written() {
    let folder = file("no-folder", "");
    let said = fails(banlieue(&["manifests", folder.to_str().unwrap()]), 1);
    assert!(said.contains(&format!("cannot write {}/crds/", folder.display())), "{said}");
}

/// A pipe that nobody reads.
fn unread() -> Stdio {
    let (_, writer) = std::io::pipe().unwrap();
    writer.into()
}

#[test]
fn every_verb_ends_as_it_does_where_somebody_reads() {
    let path = |name: &str, content: &str| file(name, content).to_str().unwrap().to_owned();
    let (good, log) =
        (path("unread.yaml", &plan::both()), path("unread.log", &audit::entry("banlieue-system", "update", "leases")));
    let faults = path("unread-faults.yaml", &plan::both().replace("spec: {", "spec: {pausd: true, "));
    let folder = concat!(env!("CARGO_TARGET_TMPDIR"), "/unread");
    let lines: [(&[&str], i32); 19] = [
        (&["--help"], 0),
        (&["--version"], 0),
        (&["paln"], 64),
        (&["bootstrap", "operator", "--dry-run"], 0),
        (&["bootstrap", "operator"], 1),
        (&["bootstrap", "provider", "vsphere", "--dry-run"], 0),
        (&["conditions"], 0),
        (&["audit", &log], 0),
        (&["check"], 1),
        (&["uninstall"], 1),
        (&["crds"], 0),
        (&["manifests", folder], 0),
        (&["plan", "-f", &good], 2),
        (&["plan", "-f", &faults], 1),
        (&["phases"], 0),
        (&["phases", "-o", "dot"], 0),
        (&["operator", "--log-level=trace"], 1),
        (&["controller", "--health-port=0", "--log-level=trace"], 1),
        (&["provider", "vsphere", "--namespace=n", "--health-port=0", "--log-level=trace"], 1),
    ];
    for (args, code) in lines {
        for closed in ["", "stdout", "stderr", "stdout and stderr"] {
            let mut command = banlieue(args);
            command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
            if closed.contains("stdout") {
                command.stdout(unread());
            }
            if closed.contains("stderr") {
                command.stderr(unread());
            }
            let status = command.status().unwrap();
            assert_eq!(status.code(), Some(code), "{args:?} without {closed:?}: {status}");
        }
    }
    let told = |verb: &str| lines.iter().any(|(args, _)| args[0] == verb);
    let verbs: Vec<_> = Cli::command().get_subcommands().map(|c| c.get_name().to_owned()).collect();
    let missing: Vec<_> = verbs.iter().filter(|verb| !told(verb)).collect();
    assert!(missing.is_empty(), "nothing was asked of {missing:?}");
}
