//! [`Stage`]: a cluster with the product installed on it.
pub use crate::hand::text;
use crate::until::SOON;
use crate::{deploy, lab};
use anyhow::{Context, Result, bail, ensure};
use banlieue::k8s::manifests::names;
use banlieue_e2e::progress::Progress;
use banlieue_e2e::{Cluster, Options, image, logs, product, watch};
use k8s_openapi::api::apps::v1::Deployment;
use kube::api::{Patch, PatchParams};
use kube::{Api, Client};
use serde_json::json;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

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
        for role in [names::OPERATOR, names::CONTROLLER] {
            watch::see(&self.deployments(), role, "is available", SOON, available).await?;
        }
        Ok(())
    }

    /// Scales the operator to nothing, and waits until it has no pods; says how many it had.
    pub async fn operator_leaves(&self) -> Result<i32> {
        let operators = self.deployments();
        let had = operators.get(names::OPERATOR).await?.spec.replicas.unwrap_or(1);
        self.scale_operator(0).await?;
        let gone = |d: &Deployment| d.status.as_ref().is_none_or(|s| s.replicas.unwrap_or(0) == 0);
        watch::see(&operators, names::OPERATOR, "has no pods", SOON, gone).await?;
        Ok(had)
    }

    /// Scales the operator to so many pods, and waits until they are available.
    pub async fn operator_returns(&self, replicas: i32) -> Result<()> {
        self.scale_operator(replicas).await?;
        watch::see(&self.deployments(), names::OPERATOR, "is back", SOON, available).await.map(drop)
    }

    async fn scale_operator(&self, replicas: i32) -> Result<()> {
        let patch = Patch::Merge(json!({ "spec": { "replicas": replicas } }));
        self.deployments().patch(names::OPERATOR, &PatchParams::default(), &patch).await?;
        Ok(())
    }

    /// The Deployments of the installation.
    fn deployments(&self) -> Api<Deployment> {
        Api::namespaced(self.client.clone(), names::DEFAULT_NAMESPACE)
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
