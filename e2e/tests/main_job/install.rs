//! The installer, run as a person runs it.
use crate::stage::{Stage, registry, text};
use anyhow::{Context, Result, ensure};
use banlieue::k8s::manifests::names;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::io::Write;
use std::process::Stdio;

/// What the installer would apply, as it is in the cluster: kind, namespace and name, with what moves at a write. That is the
/// resourceVersion, but where others write a status at any time it is all that was written beside that, and when.
fn installed(stage: &Stage) -> Result<BTreeMap<String, String>> {
    let dry = stage.banlieue(["bootstrap", "operator", "--dry-run", "--registry", registry()]).output()?;
    ensure!(dry.status.success(), "the dry run failed without a kubeconfig:\n{}", text(&dry));
    let mut kubectl = stage.cluster.kubectl_command();
    let json = ["get", "-f", "-", "-o", "json", "--show-managed-fields"];
    kubectl.args(json).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = kubectl.spawn()?;
    child.stdin.take().context("kubectl has no input")?.write_all(&dry.stdout)?;
    let output = child.wait_with_output()?;
    ensure!(
        output.status.success(),
        "not all that the dry run names is there:\n{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let list: Value = serde_json::from_slice(&output.stdout)?;
    let items = list["items"].as_array().context("kubectl printed no list")?;
    let field = |o: &Value, pointer: &str| o.pointer(pointer).and_then(|v| v.as_str()).unwrap_or_default().to_string();
    let version = |o: &Value| {
        if o.get("status").is_none() {
            return field(o, "/metadata/resourceVersion");
        }
        let managers = o.pointer("/metadata/managedFields").and_then(Value::as_array).into_iter().flatten();
        let beside: Vec<_> = managers.filter(|m| m["subresource"] != "status").collect();
        json!([o["metadata"]["generation"], beside]).to_string()
    };
    let key = |o| format!("{} {}/{}", field(o, "/kind"), field(o, "/metadata/namespace"), field(o, "/metadata/name"));
    Ok(items.iter().map(|o| (key(o), version(o))).collect())
}

/// Nothing moves: not one object is written. What a test before did to a Deployment is over by then.
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
