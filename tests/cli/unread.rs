//! Whoever read has left, as `head` does: each verb does what it would have done, and ends so.
use super::{audit, banlieue, file, plan};
use banlieue::cli::Cli;
use clap::CommandFactory;
use std::process::Stdio;

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
        (&["phases", "--format", "dot"], 0),
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
