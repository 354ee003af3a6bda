//! The dry run's stream, applied by kubectl: what is there then is what the installer puts there, field for field.
use crate::stage::{SOON, Stage, text};
use crate::until::until;
use anyhow::{Context, Result, ensure};
use serde_json::Value;
use std::collections::BTreeMap;
use std::process::Output;

/// kubectl apply --server-side of what a dry run prints.
fn apply(stage: &Stage, more: &[&str]) -> Result<Output> {
    let dry = stage.banlieue(&[&["bootstrap", "operator", "--dry-run"][..], more].concat())?;
    ensure!(dry.status.success(), "{}", text(&dry));
    let file = stage.cluster.run_dir().write("stream.yaml", &String::from_utf8(dry.stdout)?)?;
    let mut kubectl = stage.cluster.kubectl_command();
    kubectl.args(["apply", "--server-side", "-f"]).arg(file).output().context("cannot run kubectl")
}

/// What is applied without a word of complaint, at once or as soon as the kinds are served.
async fn applied(stage: &Stage, more: &[&str]) -> Result<()> {
    until(&format!("the stream {more:?} is taken"), SOON, async || {
        let output = apply(stage, more)?;
        Ok(if output.status.success() { Ok(()) } else { Err(text(&output)) })
    })
    .await
}

/// Every installed object as it is in the cluster, without what the API server and its controllers add by themselves.
fn installed(stage: &Stage) -> Result<BTreeMap<String, Value>> {
    let file = stage.cluster.run_dir().join("stream.yaml");
    let whole = stage.done(&["bootstrap", "operator", "--dry-run"])?;
    std::fs::write(&file, whole)?;
    let text = stage.cluster.kubectl(["get", "--output", "json", "-f", &file.display().to_string()])?;
    let list: Value = serde_json::from_str(&text)?;
    let objects = list["items"].as_array().context("no list")?.iter().map(|object| {
        let mut object = object.clone();
        let key = format!("{} {}", object["kind"], object["metadata"]["name"]);
        let fields = object.as_object_mut().context("no object")?;
        fields.remove("status");
        let metadata = fields.get_mut("metadata").and_then(Value::as_object_mut).context("no metadata")?;
        for own in ["uid", "resourceVersion", "creationTimestamp", "generation", "managedFields"] {
            metadata.remove(own);
        }
        // the Deployment's own controller counts there
        metadata.get_mut("annotations").and_then(|a| a.as_object_mut()?.remove("deployment.kubernetes.io/revision"));
        if metadata.get("annotations").is_some_and(|a| a.as_object().is_some_and(|a| a.is_empty())) {
            metadata.remove("annotations");
        }
        Ok((key, object))
    });
    objects.collect()
}

/// In one stream, again where its classes came before their kind was known; in parts, once. Both are what `bootstrap operator` makes.
pub(crate) async fn it_is_the_installation(stage: &Stage) -> Result<()> {
    let first = apply(stage, &[])?;
    let (code, said) = (first.status.code(), text(&first));
    // which of the two depends on kubectl, and on who is faster
    let early =
        code == Some(1) && said.contains("\"ProviderClass\"") && said.contains("deployment.apps/banlieue-controller");
    ensure!(code == Some(0) || early, "at first: {code:?}, {said}");
    applied(stage, &[]).await?;
    let by_stream = installed(stage)?;
    stage.done(&["uninstall", "--all", "--yes"])?;

    let crds = apply(stage, &["--part", "crds"])?;
    ensure!(crds.status.success(), "{}", text(&crds));
    let kinds = ["crd/providers.banlieue.io", "crd/providerclasses.banlieue.io"];
    stage.cluster.kubectl([&["wait", "--for=condition=Established"][..], &kinds].concat())?;
    let platform = apply(stage, &["--part", "platform"])?;
    ensure!(platform.status.success(), "{}", text(&platform));
    applied(stage, &["--part", "classes"]).await?;
    let by_parts = installed(stage)?;
    stage.done(&["uninstall", "--all", "--yes"])?;

    stage.done(&["bootstrap", "operator", "--no-wait"])?;
    let by_installer = installed(stage)?;
    stage.done(&["uninstall", "--all", "--yes"])?;
    ensure!(by_installer.len() > 30, "{} objects only", by_installer.len());
    for (key, object) in &by_installer {
        for (way, other) in [("stream", &by_stream), ("parts", &by_parts)] {
            ensure!(other.get(key) == Some(object), "{key} by {way}: {:?}\nby the installer: {object}", other.get(key));
        }
    }
    Ok(())
}
