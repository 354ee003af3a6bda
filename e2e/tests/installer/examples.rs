//! The files under `examples/`, applied as a person applies them.
use crate::stage::{SOON, Stage};
use anyhow::{Context, Result, ensure};
use banlieue::k8s::crd::Provider;
use banlieue_e2e::watch;
use kube::ResourceExt;
use kube::api::{Api, ListParams};
use std::path::PathBuf;

/// In their order, each is taken; each Provider gets its workload. The class for a canary takes the one that is pointed at it.
pub(crate) async fn each_is_taken(stage: &Stage) -> Result<()> {
    stage.done(&["bootstrap", "operator", "--no-wait"])?;
    let operator = stage.operator().await?;
    let files = files()?;
    ensure!(files.len() >= 8, "{files:?}");
    for file in &files {
        stage.cluster.kubectl([std::ffi::OsStr::new("apply"), "-f".as_ref(), file.as_os_str()])?;
    }
    let all: Api<Provider> = Api::all(stage.client.clone());
    let providers = all.list(&ListParams::default()).await?.items;
    ensure!(providers.len() >= 4, "{} Providers", providers.len());
    for made in &providers {
        let api: Api<Provider> = Api::namespaced(stage.client.clone(), &made.namespace().context("no namespace")?);
        watch::see(&api, &made.name_any(), "it has a workload", SOON, |p| class(p).is_some()).await?;
    }

    // the patch as the last file gives it
    let canary = files.last().context("no file")?;
    let text = std::fs::read_to_string(canary)?;
    let patch = text.lines().find_map(|l| l.split_once("patch provider ")).context("it says no patch")?.1;
    let body = patch.split('\'').nth(1).context("it has no body")?;
    let name = patch.split(' ').next().unwrap_or_default();
    let home = ["-n", "banlieue-system", "patch", "provider", name, "--type=merge", "-p", body];
    stage.cluster.kubectl(home)?;
    let api: Api<Provider> = Api::namespaced(stage.client.clone(), "banlieue-system");
    watch::see(&api, name, "it is of the canary", SOON, |p| class(p).as_deref() == Some("vsphere-canary")).await?;

    stage.cluster.kubectl(["delete", "providers", "--all", "-A", "--timeout=60s"])?;
    operator.stop().await?;
    stage.cluster.kubectl(["delete", "namespace", "banlieue-workloads"])?;
    stage.done(&["uninstall", "--all", "--yes"])?;
    Ok(())
}

/// The class that a Provider's workload is of.
fn class(provider: &Provider) -> Option<String> {
    let workload = provider.status.as_ref()?.workload.as_ref()?;
    workload.deployment_name.as_ref()?;
    workload.provider_class.as_ref().map(|class| class.name.clone())
}

fn files() -> Result<Vec<PathBuf>> {
    let folder = std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../examples"))?;
    let paths = folder.map(|entry| entry.map(|e| e.path())).collect::<Result<Vec<_>, _>>()?;
    let mut files: Vec<_> = paths.into_iter().filter(|p| p.extension().is_some_and(|end| end == "yaml")).collect();
    files.sort();
    Ok(files)
}
