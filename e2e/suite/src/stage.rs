//! [`Stage`]: a cluster with the product installed on it.
use crate::{deploy, lab};
use anyhow::{Context, Result, bail, ensure};
use banlieue::k8s::manifests::names;
use banlieue_e2e::progress::Progress;
use banlieue_e2e::{Cluster, Options, image, logs, product, watch};
use k8s_openapi::api::apps::v1::Deployment;
use kube::{Api, Client};
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};
use std::time::Duration;

/// A cluster, and the product on it, installed by its own installer, or from the files under `deploy/` where `INSTALL=deploy`.
pub struct Stage {
    /// The cluster.
    pub cluster: Cluster,
    /// The administrator's client: it may do everything, so it proves nothing about rights.
    pub client: Client,
    /// The released program.
    pub program: PathBuf,
}

impl lab::Stage for Stage {
    /// Cluster up, image loaded, the product installed, both roles available.
    async fn start(name: &str) -> Result<Self> {
        let progress = Progress::loud();
        let cluster = Cluster::start_anywhere(Options::ephemeral(name)).await?;
        let made = async {
            let program = product::release(progress)?;
            cluster.load_image(&program, &[], progress)?;
            Ok((program, cluster.client().await?))
        };
        let (program, client) = made.await.or_else(|error| failed(&cluster, error))?;
        let stage = Stage { cluster, client, program };
        match stage.install().await {
            Ok(()) => Ok(stage),
            Err(error) => failed(&stage.cluster, error),
        }
    }

    fn into_cluster(self) -> Cluster {
        self.cluster
    }
}

impl Stage {
    async fn install(&self) -> Result<()> {
        match std::env::var("INSTALL").unwrap_or_default().as_str() {
            "" | "bootstrap" => {
                let done = self.bootstrap()?;
                ensure!(done.status.success(), "bootstrap operator failed:\n{}", text(&done));
            }
            "deploy" => deploy::apply(&self.cluster)?,
            other => bail!("INSTALL={other} is not known: use bootstrap or deploy"),
        }
        let api: Api<Deployment> = Api::namespaced(self.client.clone(), names::DEFAULT_NAMESPACE);
        for role in [names::OPERATOR, names::CONTROLLER] {
            watch::see(&api, role, "is available", Duration::from_secs(60), available).await?;
        }
        Ok(())
    }

    /// The product's program with arguments, and with no cluster to find by itself.
    pub fn banlieue<'a>(&self, args: impl IntoIterator<Item = &'a str>) -> Command {
        let mut command = Command::new(&self.program);
        command.args(args).stdin(Stdio::null()).env_remove("KUBECONFIG").env("HOME", "/nonexistent");
        command.env_remove("KUBERNETES_SERVICE_HOST").env("NO_PROXY", "*");
        command
    }

    /// `bootstrap operator` as a person runs it.
    pub fn bootstrap(&self) -> Result<Output> {
        let mut command = self.banlieue(["bootstrap", "operator", "--registry", registry()]);
        command.env("KUBECONFIG", self.cluster.kubeconfig_path()).output().context("cannot run the program")
    }
}

fn failed<T>(cluster: &Cluster, error: anyhow::Error) -> Result<T> {
    Err(error.context(logs::kept(cluster)))
}

/// What `--registry` is for an image that only the node has.
pub fn registry() -> &'static str {
    image::REPOSITORY.rsplit_once('/').map_or("", |(registry, _)| registry)
}

/// Whether a Deployment has rolled out and its pods are available.
pub fn available(deployment: &Deployment) -> bool {
    let status = deployment.status.clone().unwrap_or_default();
    let wanted = deployment.spec.replicas.unwrap_or(1);
    status.observed_generation == deployment.metadata.generation
        && status.updated_replicas.unwrap_or(0) == wanted
        && status.available_replicas.unwrap_or(0) == wanted
}

/// All that a program printed.
pub fn text(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}
