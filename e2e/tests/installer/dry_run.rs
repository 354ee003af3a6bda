//! The dry run asks nobody: shown by what it asks of the kernel, and by a network that is not there.
use crate::stage::{Stage, text};
use anyhow::{Context, Result, ensure};
use banlieue_e2e::files::Cache;
use banlieue_e2e::packages;
use banlieue_e2e::progress::Progress;
use std::path::Path;
use std::process::{Command, Output, Stdio};

/// What a program does that talks to somebody, or looks for whom to talk to, as strace calls it.
const TALK: &str = "%network,%file";

/// Runs the program in a network namespace of its own, writes what it asks of the kernel to `trace`, and has every kubeconfig that it might find.
fn traced(stage: &Stage, home: &Path, trace: &Path, args: &[&str]) -> Result<Output> {
    let mut command = Command::new("unshare");
    command.args(["--net", "strace", "--follow-forks", "--string-limit=4096", "--trace", TALK, "--output"]);
    command.arg(trace).arg(stage.program()).args(args).stdin(Stdio::null());
    command.env("HOME", home).env("KUBECONFIG", home.join("kubeconfig"));
    command.env("KUBERNETES_SERVICE_HOST", "127.0.0.1").env("KUBERNETES_SERVICE_PORT", "6443");
    command.output().context("cannot run unshare")
}

/// The calls that show contact: a socket, or a file that says where a cluster is. A pair of sockets has both ends here.
fn contacts(trace: &Path) -> Result<Vec<String>> {
    let all = std::fs::read_to_string(trace)?;
    let tells = ["socket(", "connect(", "kubeconfig", "/.kube", "serviceaccount", "resolv.conf", "/etc/hosts"];
    Ok(all.lines().filter(|line| tells.iter().any(|told| line.contains(told))).map(str::to_owned).collect())
}

/// No socket, no kubeconfig, no token of a pod; the same text as with a cluster at hand. A plan is seen to do all of it.
pub(crate) async fn it_asks_nobody(stage: &Stage) -> Result<()> {
    packages::ensure_program(&Cache::locate()?, Progress::loud(), "strace", "strace")?;
    let home = stage.cluster.run_dir().path().join("dry-run");
    std::fs::create_dir_all(home.join(".kube"))?;
    for kubeconfig in ["kubeconfig", ".kube/config"] {
        std::fs::copy(stage.cluster.kubeconfig_path(), home.join(kubeconfig))?;
    }
    let trace = home.join("trace");
    for verb in [&["operator"][..], &["operator", "--part", "crds"], &["provider", "vsphere"]] {
        let args = [&["bootstrap"][..], verb, &["--dry-run"]].concat();
        let output = traced(stage, &home, &trace, &args)?;
        ensure!(output.status.success() && output.stderr.is_empty(), "{args:?}: {}", text(&output));
        let found = contacts(&trace)?;
        ensure!(found.is_empty(), "{args:?} asked somebody:\n{}", found.join("\n"));
        ensure!(output.stdout == stage.banlieue(&args)?.stdout, "{args:?} prints something else where a cluster is");
    }
    let output = traced(stage, &home, &trace, &["bootstrap", "operator", "--plan"])?;
    let found = contacts(&trace)?.join("\n");
    ensure!(!output.status.success(), "a network is there: {}", text(&output));
    ensure!(found.contains("socket(AF_INET") && found.contains("kubeconfig"), "a plan is not seen to ask:\n{found}");
    Ok(())
}
