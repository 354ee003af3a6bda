//! [`Stage`]: a control plane with the product installed on it, and its operator as a process of this machine.
use crate::kubelet::Kubelet;
use crate::lab;
use crate::operator::Operator;
use anyhow::{Context, Result, ensure};
use banlieue::k8s::manifests::names;
use banlieue_e2e::options::AUDIT_ANSWERS;
use banlieue_e2e::{Cluster, Options, product};
use banlieue_suite::hand;
use kube::Client;
use std::path::{Path, PathBuf};
use std::process::Output;
use tokio::sync::Mutex;

/// The account of the operator, which its process runs under.
pub(crate) const OPERATOR: &str = "system:serviceaccount:banlieue-system:banlieue-operator";

/// A cluster without a node, the product installed, the operator running, and a stand-in for the kubelet.
pub(crate) struct Stage {
    /// The cluster.
    pub(crate) cluster: Cluster,
    /// The administrator's client.
    pub(crate) client: Client,
    /// What makes pods ready.
    pub(crate) kubelet: Kubelet,
    /// The operator that runs; who stops it has the stage alone.
    pub(crate) operator: Mutex<Option<Operator>>,
    /// The kubeconfig of the operator's account.
    pub(crate) kubeconfig: PathBuf,
    /// The product's program.
    pub(crate) program: PathBuf,
}

impl lab::Stage for Stage {
    /// Cluster up, `bootstrap operator` run, operator leading.
    async fn start(name: &str) -> Result<Self> {
        let options = Options::ephemeral(name).control_plane_only().without_vcsim().audit_policy(AUDIT_ANSWERS);
        let cluster = Cluster::start(options).await?;
        // nothing is scheduled: no pod is called unschedulable before a test makes it ready
        cluster.stop_component("kube-scheduler")?;
        let program = product::debug()?;
        // no node runs the Deployments that it makes
        hand::done(&program, &cluster.kubeconfig_path(), &["bootstrap", "operator", "--no-wait"])?;
        let account = format!("{}/{}", names::DEFAULT_NAMESPACE, names::OPERATOR);
        let kubeconfig = cluster.run_dir().write("operator.kubeconfig", &cluster.kubeconfig_as(&account).await?)?;
        let client = cluster.client().await?;
        let kubelet = Kubelet::start(client.clone()).await?;
        let stage = Stage { cluster, client, kubelet, operator: Mutex::default(), kubeconfig, program };
        stage.start_operator().await?;
        Ok(stage)
    }

    fn into_cluster(self) -> Cluster {
        self.cluster
    }
}

impl Stage {
    /// A further operator: its process, which may not lead yet.
    pub(crate) fn another_operator(&self, holder: &str) -> Result<Operator> {
        self.operator_by(&self.kubeconfig, holder, &[])
    }

    /// A further operator by another way to the API server, with further arguments.
    pub(crate) fn operator_by(&self, kubeconfig: &Path, holder: &str, more: &[&str]) -> Result<Operator> {
        self.role_by("operator", kubeconfig, holder, more)
    }

    /// The process of a role.
    pub(crate) fn role_by(&self, role: &str, kubeconfig: &Path, holder: &str, more: &[&str]) -> Result<Operator> {
        self.role_in(&[], role, kubeconfig, holder, more)
    }

    /// The process of a role, in an environment.
    pub(crate) fn role_in(
        &self,
        env: &[(&str, &str)],
        role: &str,
        kubeconfig: &Path,
        holder: &str,
        more: &[&str],
    ) -> Result<Operator> {
        let args: Vec<&str> = [role].into_iter().chain(more.iter().copied()).collect();
        Operator::start(&self.program, env, kubeconfig, holder, &self.cluster.run_dir().log(holder), &args)
    }

    /// Starts the operator, and waits until it leads.
    pub(crate) async fn start_operator(&self) -> Result<()> {
        let mut slot = self.operator.lock().await;
        ensure!(slot.is_none(), "an operator runs already");
        let operator = self.another_operator(&format!("operator-{}", fresh()))?;
        operator.leads().await?;
        *slot = Some(operator);
        Ok(())
    }

    /// The operator that runs, to be given back; a new one where a test that failed left none.
    pub(crate) async fn take_operator(&self) -> Result<Operator> {
        if self.operator.lock().await.is_none() {
            self.start_operator().await?;
        }
        self.operator.lock().await.take().context("no operator runs")
    }

    /// Ends the operator as Kubernetes ends a pod, and waits for its end.
    pub(crate) async fn stop_operator(&self) -> Result<()> {
        self.take_operator().await?.stop().await
    }

    /// The product's program as a person runs it, until it ends.
    pub(crate) fn banlieue(&self, arguments: &[&str]) -> Result<Output> {
        hand::run(&self.program, &self.cluster.kubeconfig_path(), arguments)
    }
}

/// A number that nobody had before.
pub(crate) fn fresh() -> u32 {
    static NEXT: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(1);
    NEXT.fetch_add(1, std::sync::atomic::Ordering::Relaxed)
}
