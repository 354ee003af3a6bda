//! The files under `deploy/`, against what the installer does.
use crate::files;
use crate::stage::{SOON, Stage};
use crate::until::until;
use anyhow::{Result, ensure};

/// Applied as files, the installer finds nothing to create and nothing to change: both ways give the same objects.
pub(crate) async fn the_files_are_what_the_installer_installs(stage: &Stage) -> Result<()> {
    files::apply(&stage.cluster)?;
    stage.cluster.kubectl(["apply", "--dry-run=server", "-R", "-f", &files::path("network/")])?;
    let plan = stage.done(&["bootstrap", "operator", "--plan"])?;
    ensure!(plan.contains("0 created, 0 changed") && !plan.contains("kept"), "{plan}");
    for part in ["crds", "controller", "operator"] {
        stage.cluster.kubectl(["kustomize", &files::path(part)])?;
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
    let trees = ["-R", "-f", &files::path("gitops/")];
    until("the trees are taken", SOON, async || {
        // a kind that was made a moment ago may not be served yet
        let applied = stage.cluster.kubectl([&["apply", "--validate=strict"][..], &trees].concat());
        Ok(applied.map_err(|error| format!("{error:#}")))
    })
    .await?;
    stage.cluster.kubectl([&["delete"][..], &trees].concat())?;
    stage.cluster.kubectl(["delete", "-f", kinds])?;
    stage.cluster.kubectl([&["delete", "namespace"][..], &namespaces].concat()).map(drop)
}
