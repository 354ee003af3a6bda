//! [`Stage`]: a control plane with the product installed on it, and nothing of it running.
use crate::lab;
use crate::operator::Operator;
use anyhow::{Context, Result};
use banlieue::k8s::manifests::names;
use banlieue_e2e::{Cluster, Options, product};
use banlieue_suite::hand;
pub(crate) use banlieue_suite::until::SOON;
use k8s_openapi::api::coordination::v1::Lease;
use kube::api::DeleteParams;
use kube::{Api, Client};
use std::path::PathBuf;
use std::process::Output;
use std::sync::atomic::{AtomicU32, Ordering};

/// A cluster without a node, and the product installed.
pub(crate) struct Stage {
    /// The cluster.
    pub(crate) cluster: Cluster,
    /// The administrator's client.
    pub(crate) client: Client,
    program: PathBuf,
    serial: AtomicU32,
}

impl lab::Stage for Stage {
    /// Cluster up, `bootstrap operator` run.
    async fn start(name: &str) -> Result<Self> {
        let cluster = Cluster::start(Options::ephemeral(name).control_plane_only()).await?;
        let (program, client) = (product::debug()?, cluster.client().await?);
        let stage = Stage { cluster, client, program, serial: AtomicU32::new(1) };
        stage.done(&["bootstrap", "operator", "--no-wait"])?;
        Ok(stage)
    }

    fn into_cluster(self) -> Cluster {
        self.cluster
    }
}

impl Stage {
    /// A number that nobody had before.
    pub(crate) fn fresh(&self) -> u32 {
        self.serial.fetch_add(1, Ordering::Relaxed)
    }

    /// A role as a process under the token of the account `namespace/name`; its first argument is the role.
    pub(crate) async fn role(&self, account: &str, args: &[&str]) -> Result<Operator> {
        let holder = format!("{}-{}", args.first().context("no role")?, self.fresh());
        let text = self.cluster.kubeconfig_as(account).await?;
        let kubeconfig = self.cluster.run_dir().write(&format!("{holder}.kubeconfig"), &text)?;
        Operator::start(&self.program, &[], &kubeconfig, &holder, &self.cluster.run_dir().log(&holder), args)
    }

    /// The program as a person runs it.
    pub(crate) fn banlieue(&self, args: &[&str]) -> Result<Output> {
        hand::run(&self.program, &self.cluster.kubeconfig_path(), args)
    }

    /// What it prints where it must not fail.
    pub(crate) fn done(&self, args: &[&str]) -> Result<String> {
        hand::done(&self.program, &self.cluster.kubeconfig_path(), args)
    }

    /// Takes a Lease away, so that whoever comes next has to make it.
    pub(crate) async fn no_lease(&self, namespace: &str, name: &str) -> Result<()> {
        let api: Api<Lease> = Api::namespaced(self.client.clone(), namespace);
        match api.delete(name, &DeleteParams::default()).await {
            Err(kube::Error::Api(status)) if status.code != 404 => Err(kube::Error::Api(status).into()),
            _ => Ok(()),
        }
    }
}

/// An account as the API server knows it.
pub(crate) fn user(account: &str) -> String {
    format!("system:serviceaccount:{}", account.replace('/', ":"))
}

/// The account of a role of the installation.
pub(crate) fn installed(role: &str) -> String {
    format!("{}/{role}", names::DEFAULT_NAMESPACE)
}
