//! A ProviderClass that is there belongs to who runs the fleet.
use crate::stage::Stage;
use anyhow::{Result, ensure};
use banlieue::k8s::crd::ProviderClass;
use kube::Api;

/// Installed part by part, of which each says what it did. One that differs is kept, and told; so are all where another version is installed. `--reset-classes` overwrites it.
pub(crate) async fn one_that_differs_is_kept(stage: &Stage) -> Result<()> {
    for (part, says) in [
        ("crds", "established: the kinds; 2 objects: 2 created, 0 changed, 0 unchanged"),
        ("platform", " in banlieue-system; "),
        ("classes", "applied: the ProviderClasses; 3 objects: 3 created, 0 changed, 0 unchanged"),
    ] {
        let done = stage.done(&["bootstrap", "operator", "--no-wait", "--part", part])?;
        ensure!(done.contains(says) && !done.contains("available"), "{part}: {done}");
    }
    let api: Api<ProviderClass> = Api::all(stage.client.clone());
    let installed = api.get("vsphere").await?;
    let edit = r#"{"spec":{"image":{"tag":"v9"}}}"#;
    stage.cluster.kubectl(["patch", "providerclass", "vsphere", "--type=merge", "-p", edit])?;
    let edited = api.get("vsphere").await?;
    ensure!(edited.spec.image.tag.as_deref() == Some("v9"), "{edited:?}");

    let again = stage.done(&["bootstrap", "operator", "--no-wait"])?;
    ensure!(again.contains("0 created, 0 changed") && again.contains("1 kept") && kept(&again, "vsphere"), "{again}");
    ensure!(again.contains("--reset-classes overwrites it"), "nobody is told how: {again}");
    let newer = stage.done(&["bootstrap", "operator", "--no-wait", "--version", "v10"])?;
    ensure!(newer.contains("3 kept") && ["vsphere", "libvirt", "proxmox"].iter().all(|c| kept(&newer, c)), "{newer}");
    ensure!(api.get("vsphere").await? == edited, "a second run rolled a fleet");

    let plan = stage.done(&["bootstrap", "operator", "--plan", "--reset-classes"])?;
    ensure!(plan.contains("would change  ProviderClass vsphere") && plan.contains("spec.image.tag"), "{plan}");
    ensure!(api.get("vsphere").await? == edited, "a plan overwrote it");
    let reset = stage.done(&["bootstrap", "operator", "--no-wait", "--reset-classes"])?;
    ensure!(reset.contains("changed    ProviderClass vsphere") && !reset.contains("kept"), "{reset}");
    let after = api.get("vsphere").await?;
    ensure!(after.spec.image == installed.spec.image, "it is not as it was installed: {after:?}");
    stage.done(&["uninstall", "--all", "--yes"])?;
    Ok(())
}

/// Whether the installer says that it kept a class.
fn kept(told: &str, class: &str) -> bool {
    told.lines().any(|line| line == format!("kept       ProviderClass {class}"))
}
