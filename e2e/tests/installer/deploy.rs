//! The files under `deploy/`, applied as a person or a GitOps controller does.
use crate::stage::Stage;
use anyhow::{Result, ensure};

fn deploy(part: &str) -> String {
    format!("{}/../deploy/{part}", env!("CARGO_MANIFEST_DIR"))
}

/// The kinds, and what needs none of them to be known.
pub(crate) fn crds(stage: &Stage) -> Result<()> {
    stage.cluster.kubectl(["apply", "-f", &deploy("crds/")])?;
    let kinds = ["crd/providers.banlieue.io", "crd/providerclasses.banlieue.io"];
    stage.cluster.kubectl([&["wait", "--for=condition=Established"][..], &kinds].concat()).map(drop)
}

/// The platform without the operator.
pub(crate) fn controller(stage: &Stage) -> Result<()> {
    stage.cluster.kubectl(["apply", "-R", "-f", &deploy("controller/")]).map(drop)
}

/// Applied as files, the installer finds nothing to create and nothing to change: both ways give the same objects.
pub(crate) async fn the_files_are_what_the_installer_installs(stage: &Stage) -> Result<()> {
    crds(stage)?;
    controller(stage)?;
    stage.cluster.kubectl(["apply", "-R", "-f", &deploy("operator/")])?;
    stage.cluster.kubectl(["apply", "--dry-run=server", "-R", "-f", &deploy("network/")])?;
    let plan = stage.done(&["bootstrap", "operator", "--plan"])?;
    ensure!(plan.contains("0 created, 0 changed") && !plan.contains("kept"), "{plan}");
    for part in ["crds", "controller", "operator"] {
        stage.cluster.kubectl(["kustomize", &deploy(part)])?;
    }
    stage.done(&["uninstall", "--all", "--yes"])?;
    Ok(())
}
