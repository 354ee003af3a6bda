//! The files under `deploy/`, applied as a person or a GitOps controller does.
use anyhow::Result;
use banlieue_e2e::Cluster;

/// The path of a part of `deploy/`.
pub fn path(part: &str) -> String {
    format!("{}/../../deploy/{part}", env!("CARGO_MANIFEST_DIR"))
}

/// The kinds, and what needs none of them to be known.
pub fn crds(cluster: &Cluster) -> Result<()> {
    cluster.kubectl(["apply", "-f", &path("crds/")])?;
    let kinds = ["crd/providers.banlieue.io", "crd/providerclasses.banlieue.io"];
    cluster.kubectl([&["wait", "--for=condition=Established"][..], &kinds].concat()).map(drop)
}

/// The platform without the operator.
pub fn controller(cluster: &Cluster) -> Result<()> {
    cluster.kubectl(["apply", "-R", "-f", &path("controller/")]).map(drop)
}

/// All that the installer installs.
pub fn apply(cluster: &Cluster) -> Result<()> {
    crds(cluster)?;
    controller(cluster)?;
    cluster.kubectl(["apply", "-R", "-f", &path("operator/")]).map(drop)
}
