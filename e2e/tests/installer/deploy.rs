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

/// An API server that knows the kinds of Flux and Argo CD takes the trees; neither of the two runs here.
pub(crate) async fn the_gitops_trees_are_taken(stage: &Stage) -> Result<()> {
    let kinds = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/gitops/crds.yaml");
    stage.cluster.kubectl(["apply", "-f", kinds])?;
    stage.cluster.kubectl(["wait", "--for=condition=Established", "-f", kinds])?;
    let namespaces = ["flux-system", "argocd"];
    for namespace in namespaces {
        stage.cluster.kubectl(["create", "namespace", namespace])?;
    }
    let trees = ["-R", "-f", &deploy("gitops/")];
    crate::until::until("the trees are taken", crate::stage::SOON, async || {
        // a kind that was made a moment ago may not be served yet
        let applied = stage.cluster.kubectl([&["apply", "--validate=strict"][..], &trees].concat());
        Ok(applied.map_err(|error| format!("{error:#}")))
    })
    .await?;
    stage.cluster.kubectl([&["delete"][..], &trees].concat())?;
    stage.cluster.kubectl(["delete", "-f", kinds])?;
    stage.cluster.kubectl([&["delete", "namespace"][..], &namespaces].concat()).map(drop)
}
