//! [`Stage`]: a control plane with the product installed on it, and its operator as a process of this machine.
use crate::lab;
use crate::operator::Operator;
use anyhow::{Context, Result};
use banlieue::k8s::manifests::names;
use banlieue_e2e::{Cluster, Options, product};
use banlieue_suite::hand;
use kube::Client;
use std::path::{Path, PathBuf};
use std::process::Command;
use tokio::sync::{Mutex, OnceCell};

/// What the product tells people to record.
const AUDIT: &str = include_str!("../../../deploy/audit/policy.yaml");

/// A cluster without a node, the product installed, the operator running.
pub(crate) struct Stage {
    /// The cluster.
    pub(crate) cluster: Cluster,
    /// The administrator's client.
    pub(crate) client: Client,
    /// A client under the token of the operator's own account.
    pub(crate) taken_over: Client,
    /// The operator that runs; who stops it has the stage alone.
    pub(crate) operator: Mutex<Option<Operator>>,
    /// What the attacks are about.
    pub(crate) scene: OnceCell<crate::scene::Scene>,
    program: PathBuf,
    kubeconfig: PathBuf,
}

impl lab::Stage for Stage {
    /// Cluster up, `bootstrap operator` run, operator leading.
    async fn start(name: &str) -> Result<Self> {
        let options = Options::ephemeral(name).control_plane_only().without_vcsim().audit_policy(AUDIT);
        let cluster = Cluster::start(options).await?;
        let program = product::debug()?;
        let client = cluster.client().await?;
        let account = format!("{}/{}", names::DEFAULT_NAMESPACE, names::OPERATOR);
        bootstrap(&program, &cluster)?;
        let kubeconfig = cluster.run_dir().write("operator.kubeconfig", &cluster.kubeconfig_as(&account).await?)?;
        let taken_over = cluster.client_as(&account).await?;
        let (operator, scene) = Default::default();
        let stage = Stage { cluster, client, taken_over, operator, scene, program, kubeconfig };
        let operator = stage.operator("operator", &[])?;
        operator.leads().await?;
        operator.ready().await?;
        *stage.operator.lock().await = Some(operator);
        Ok(stage)
    }

    fn into_cluster(self) -> Cluster {
        self.cluster
    }
}

impl Stage {
    /// An operator as a process, with further flags; it may not lead yet.
    pub(crate) fn operator(&self, holder: &str, flags: &[&str]) -> Result<Operator> {
        let log = self.cluster.run_dir().log(holder);
        let args = [&["operator"][..], flags].concat();
        Operator::start(&self.program, &[], &self.kubeconfig, holder, &log, &args)
    }

    /// `bootstrap operator` as a person runs it.
    pub(crate) fn bootstrap(&self) -> Result<()> {
        bootstrap(&self.program, &self.cluster)
    }

    /// `banlieue audit` on the API server's log, as a person runs it.
    pub(crate) fn audit(&self, flags: &[&str]) -> Result<std::process::Output> {
        let mut command = Command::new(&self.program);
        command.arg("audit").arg(self.cluster.audit_log_path()).args(flags).output().context("cannot run the program")
    }
}

/// No node runs the Deployments that it makes, so nothing is waited for.
fn bootstrap(program: &Path, cluster: &Cluster) -> Result<()> {
    hand::done(program, &cluster.kubeconfig_path(), &["bootstrap", "operator", "--no-wait"]).map(drop)
}
