//! The installer, run as a person runs it.
use crate::stage::{Stage, registry, text};
use anyhow::{Context, Result, ensure};
use banlieue::k8s::manifests::names;
use std::collections::BTreeMap;
use std::io::Write;
use std::process::Stdio;

/// What the installer would apply, as it is in the cluster: kind, namespace and name, with the resourceVersion.
fn installed(stage: &Stage) -> Result<BTreeMap<String, String>> {
    let dry = stage.banlieue(["bootstrap", "operator", "--dry-run", "--registry", registry()]).output()?;
    ensure!(dry.status.success(), "the dry run failed without a kubeconfig:\n{}", text(&dry));
    let mut kubectl = stage.cluster.kubectl_command();
    kubectl.args(["get", "-f", "-", "-o", "json"]).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = kubectl.spawn()?;
    child.stdin.take().context("kubectl has no input")?.write_all(&dry.stdout)?;
    let output = child.wait_with_output()?;
    ensure!(
        output.status.success(),
        "not all that the dry run names is there:\n{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let list: serde_json::Value = serde_json::from_slice(&output.stdout)?;
    let items = list["items"].as_array().context("kubectl printed no list")?;
    let field = |o: &serde_json::Value, pointer: &str| {
        o.pointer(pointer).and_then(|v| v.as_str()).unwrap_or_default().to_string()
    };
    let key = |o| format!("{} {}/{}", field(o, "/kind"), field(o, "/metadata/namespace"), field(o, "/metadata/name"));
    Ok(items.iter().map(|o| (key(o), field(o, "/metadata/resourceVersion"))).collect())
}

/// No resourceVersion moves: not one object is written. What a test before did to a Deployment is over by then.
pub(crate) async fn a_second_run_changes_nothing(stage: &Stage) -> Result<()> {
    for role in [names::OPERATOR, names::CONTROLLER] {
        let rolled =
            ["rollout", "status", "deployment", role, "--namespace", names::DEFAULT_NAMESPACE, "--timeout=60s"];
        stage.cluster.kubectl(rolled)?;
    }
    let before = installed(stage)?;
    ensure!(before.len() >= 15, "the installer names {} objects only: {before:?}", before.len());
    let run = stage.bootstrap()?;
    ensure!(run.status.success(), "the second run failed:\n{}", text(&run));
    let after = installed(stage)?;
    let moved: Vec<_> = before.iter().filter(|(key, version)| after.get(*key) != Some(version)).collect();
    ensure!(moved.is_empty() && before.len() == after.len(), "moved: {moved:?}\n{}", text(&run));
    Ok(())
}
