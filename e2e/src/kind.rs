//! kind, where Docker answers and `CLUSTER=kind` asked for it: the verbs, and the tests that need nothing but an API server and a node. No
//! simulator and no containment: those are the local cluster's.

use std::path::PathBuf;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

use crate::files::Cache;
use crate::options::Options;
use crate::packages::has_program;

/// Which kind of cluster is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The box of namespaces on this machine.
    Local,
    /// kind, in Docker.
    Kind,
}

impl Kind {
    /// What `CLUSTER` says; local where it says nothing.
    pub fn asked() -> Result<Self> {
        match std::env::var("CLUSTER").unwrap_or_default().as_str() {
            "" | "local" => Ok(Self::Local),
            "kind" => Ok(Self::Kind),
            other => bail!("CLUSTER={other} is not known: use local or kind"),
        }
    }

    /// What the end-to-end targets run on, and why in a few words: kind where it is asked for and can be used, else the local one.
    pub fn found() -> Result<(Self, String)> {
        Ok(match Self::asked()? {
            Self::Local => (Self::Local, "CLUSTER=kind takes kind".into()),
            Self::Kind => match require() {
                Ok(()) => (Self::Kind, "Docker answers".into()),
                Err(error) => (Self::Local, format!("{error:#}")),
            },
        })
    }
}

/// Fails with one line where kind cannot be used.
pub fn require() -> Result<()> {
    if !has_program("kind") {
        bail!("CLUSTER=kind needs the program kind (https://kind.sigs.k8s.io): install it, or use CLUSTER=local");
    }
    let docker = Command::new("docker").arg("info").stdout(Stdio::null()).stderr(Stdio::null()).status();
    if !docker.is_ok_and(|s| s.success()) {
        bail!("CLUSTER=kind needs Docker, which does not answer (docker info): start it, or use CLUSTER=local");
    }
    Ok(())
}

/// Makes the cluster where it is not there, and returns its kubeconfig.
pub fn up(cache: &Cache, options: &Options) -> Result<PathBuf> {
    require()?;
    let kubeconfig = cache.join(format!("kind-{}.kubeconfig", options.name));
    if clusters()?.contains(&options.name) {
        kind(&["export", "kubeconfig", "--name", &options.name, "--kubeconfig", &kubeconfig.display().to_string()])?;
    } else {
        let image = format!("kindest/node:{}", options.kubernetes_version()?);
        let file = kubeconfig.display().to_string();
        kind(&[
            "create",
            "cluster",
            "--name",
            &options.name,
            "--image",
            &image,
            "--wait",
            "120s",
            "--kubeconfig",
            &file,
        ])?;
    }
    Ok(kubeconfig)
}

/// Loads an OCI archive.
pub fn load(archive: &str, name: &str) -> Result<()> {
    require()?;
    kind(&["load", "image-archive", archive, "--name", name])
}

/// Deletes the cluster.
pub fn down(cache: &Cache, name: &str) -> Result<()> {
    require()?;
    kind(&["delete", "cluster", "--name", name])?;
    let _ = std::fs::remove_file(cache.join(format!("kind-{name}.kubeconfig")));
    Ok(())
}

/// Deletes the clusters of suites that were killed: their names end with the number of a process that is gone.
pub fn sweep() -> Result<()> {
    require()?;
    for name in clusters()? {
        let owner = name.strip_prefix("main-job-");
        if owner.is_some_and(|pid| !std::path::Path::new("/proc").join(pid).exists()) {
            kind(&["delete", "cluster", "--name", &name])?;
        }
    }
    Ok(())
}

/// The names of all clusters.
fn clusters() -> Result<Vec<String>> {
    let known = Command::new("kind").args(["get", "clusters"]).output().context("cannot run kind")?;
    Ok(String::from_utf8_lossy(&known.stdout).lines().map(str::to_owned).collect())
}

/// Writes all logs into a folder.
pub fn logs(cache: &Cache, name: &str) -> Result<PathBuf> {
    require()?;
    let folder = cache.join(format!("logs/kind-{name}"));
    kind(&["export", "logs", "--name", name, &folder.display().to_string()])?;
    Ok(folder)
}

fn kind(args: &[&str]) -> Result<()> {
    let status = Command::new("kind").args(args).stdin(Stdio::null()).status().context("cannot run kind")?;
    if !status.success() {
        bail!("kind {} failed (see above)", args.join(" "));
    }
    Ok(())
}
