//! [`Stage`]: an empty control plane, and the program that installs on it.
use crate::lab;
use crate::operator::Operator;
use crate::things::{self, Thing};
use crate::until::until;
use anyhow::{Result, ensure};
use banlieue::k8s::crd::Provider;
use banlieue::k8s::manifests::labels::COMPONENT;
use banlieue::k8s::manifests::names;
use banlieue_e2e::{Cluster, Options, product};
use banlieue_suite::hand;
pub(crate) use banlieue_suite::hand::text;
pub(crate) use banlieue_suite::until::SOON;
use k8s_openapi::api::core::v1::Pod;
use kube::api::{Api, ListParams, Patch, PatchParams};
use kube::{Client, ResourceExt};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

/// An empty cluster without a node.
pub(crate) struct Stage {
    /// The cluster.
    pub(crate) cluster: Cluster,
    /// The administrator's client.
    pub(crate) client: Client,
    program: PathBuf,
    /// What was there before any test.
    at_first: BTreeSet<String>,
}

/// A process that is killed when this value is dropped.
pub(crate) struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl lab::Stage for Stage {
    /// Cluster up, nothing on it.
    async fn start(name: &str) -> Result<Self> {
        let cluster = Cluster::start(Options::ephemeral(name).control_plane_only().without_vcsim()).await?;
        let (program, client) = (product::debug()?, cluster.client().await?);
        let mut stage = Stage { cluster, client, program, at_first: BTreeSet::new() };
        stage.at_first = stage.objects().await?;
        Ok(stage)
    }

    /// Takes away what an earlier test has left, one that failed in its middle above all, and waits until nothing of it is there.
    async fn before(&self) -> Result<()> {
        let left = self.left().await?;
        if left.is_empty() {
            return Ok(());
        }
        println!("an earlier test left {} objects, the first: {}", left.len(), left[0]);
        until("the cluster is empty", SOON, async || {
            // a kind that is on its way out cannot be listed for a moment
            let left = match self.left().await {
                Ok(left) if left.is_empty() => return Ok(Ok(())),
                Ok(left) => left,
                Err(error) => return Ok(Err(format!("{error:#}"))),
            };
            for thing in &left {
                thing.remove(&self.client).await;
            }
            Ok(Err(left.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")))
        })
        .await
    }

    fn into_cluster(self) -> Cluster {
        self.cluster
    }
}

impl Stage {
    /// The program as an administrator runs it.
    pub(crate) fn banlieue(&self, args: &[&str]) -> Result<Output> {
        self.banlieue_with(&self.cluster.kubeconfig_path(), args)
    }

    /// The program as whoever has this kubeconfig runs it.
    pub(crate) fn banlieue_with(&self, kubeconfig: &Path, args: &[&str]) -> Result<Output> {
        hand::run(&self.program, kubeconfig, args)
    }

    /// The program, for who runs it otherwise.
    pub(crate) fn program(&self) -> &Path {
        &self.program
    }

    /// What it prints where it must not fail.
    pub(crate) fn done(&self, args: &[&str]) -> Result<String> {
        hand::done(&self.program, &self.cluster.kubeconfig_path(), args)
    }

    /// The operator, under the token of its account, once it leads and is fenced in.
    pub(crate) async fn operator(&self) -> Result<Operator> {
        self.operator_in(names::DEFAULT_NAMESPACE).await
    }

    /// The same, installed in this namespace.
    pub(crate) async fn operator_in(&self, namespace: &str) -> Result<Operator> {
        let account = format!("{namespace}/{}", names::OPERATOR);
        let operator = self.process(&account, "operator", &["operator", "--namespace", namespace]).await?;
        operator.leads().await?;
        operator.ready().await?;
        Ok(operator)
    }

    /// A role under the token of an account, as the pod `holder`, which is what its log is called.
    pub(crate) async fn process(&self, account: &str, holder: &str, args: &[&str]) -> Result<Operator> {
        let kubeconfig = self.kubeconfig(account).await?;
        Operator::start(&self.program, &[], &kubeconfig, holder, &self.cluster.run_dir().log(holder), args)
    }

    /// A role under the token of an account; its log has that name.
    pub(crate) async fn role(&self, account: &str, args: &[&str]) -> Result<Running> {
        let kubeconfig = self.kubeconfig(account).await?;
        let log = std::fs::File::create(self.cluster.run_dir().log(&account.replace('/', "-")))?;
        let mut command = Command::new(&self.program);
        command.args(args).arg("--kubeconfig").arg(kubeconfig).env("NO_PROXY", "*");
        command.stdin(Stdio::null()).stdout(log.try_clone()?).stderr(log);
        Ok(Running(command.spawn()?))
    }

    /// A kubeconfig with the token of an account.
    pub(crate) async fn kubeconfig(&self, account: &str) -> Result<PathBuf> {
        let text = self.cluster.kubeconfig_as(account).await?;
        self.cluster.run_dir().write(&format!("{}.kubeconfig", account.replace('/', "-")), &text)
    }

    /// Every object there is, but for what moves by itself: Events, Leases of the cluster, and what Kubernetes makes anew.
    pub(crate) async fn objects(&self) -> Result<BTreeSet<String>> {
        Ok(things::all(&self.client).await?.iter().map(ToString::to_string).collect())
    }

    /// Waits until there is what there was, no more and no less.
    pub(crate) async fn is_as_it_was(&self, before: &BTreeSet<String>) -> Result<()> {
        until("the cluster is as it was", SOON, async || {
            let after = self.objects().await?;
            let more: Vec<_> = after.symmetric_difference(before).cloned().collect();
            Ok(if more.is_empty() { Ok(()) } else { Err(more.join("\n")) })
        })
        .await
    }

    /// What `check` prints once that is among it; a kind that is made anew may be asked for only after a while.
    pub(crate) async fn told(&self, what: &str) -> Result<String> {
        until(&format!("check tells: {what}"), SOON, async || {
            let check = text(&self.banlieue(&["check"])?);
            Ok(if check.contains(what) { Ok(check) } else { Err(check) })
        })
        .await
    }

    /// Gives the pods with this label a status, as a kubelet would: there is no node.
    pub(crate) async fn pods(&self, namespace: &str, label: &str, status: Value) -> Result<()> {
        let api: Api<Pod> = Api::namespaced(self.client.clone(), namespace);
        let pods = until(&format!("there are pods with {label}"), SOON, async || {
            let pods = api.list(&ListParams::default().labels(label)).await?.items;
            Ok(if pods.is_empty() { Err("none".into()) } else { Ok(pods) })
        })
        .await?;
        let patch = Patch::Merge(json!({ "status": status }));
        for pod in pods {
            api.patch_status(&pod.name_any(), &PatchParams::default(), &patch).await?;
        }
        Ok(())
    }

    /// The pods of operator and controller are well, in the eyes of the cluster.
    pub(crate) async fn available(&self) -> Result<()> {
        for role in ["operator", "controller"] {
            self.pods(names::DEFAULT_NAMESPACE, &format!("{COMPONENT}={role}"), running()).await?;
        }
        Ok(())
    }

    async fn left(&self) -> Result<Vec<Thing>> {
        let all = things::all(&self.client).await?;
        Ok(all.into_iter().filter(|t| !t.is_of_kubernetes() && !self.at_first.contains(&t.to_string())).collect())
    }
}

/// The status of a pod that is well.
pub(crate) fn running() -> Value {
    let ready = json!({ "type": "Ready", "status": "True", "lastTransitionTime": "2026-01-01T00:00:00Z" });
    json!({ "phase": "Running", "conditions": [ready], "containerStatuses": [] })
}

/// Finalizer held, workload told.
pub(crate) fn minted(provider: &Provider) -> bool {
    provider.finalizers().iter().any(|f| f == names::FINALIZER)
        && provider.status.as_ref().and_then(|s| s.workload.as_ref()?.deployment_name.as_ref()).is_some()
}

/// The one line that a program which failed with exit code 1 left on standard error.
pub(crate) fn failure(output: &Output) -> Result<String> {
    let said = String::from_utf8_lossy(&output.stderr).trim_end().to_owned();
    let one = said.starts_with("error: ") && said.lines().count() == 1;
    ensure!(output.status.code() == Some(1) && one, "{}, not one line: {}", output.status, text(output));
    Ok(said)
}

/// A class for vSphere, and a Provider of it in this namespace, as YAML.
pub(crate) fn provider(namespace: &str, name: &str, class: &str) -> String {
    format!(
        "apiVersion: banlieue.io/v1alpha1
kind: Provider
metadata: {{name: {name}, namespace: {namespace}}}
spec:
  providerClassRef: {{name: {class}}}
  connection: {{endpoint: 'https://vcenter.invalid/sdk', credentialsRef: {{name: creds}}}}
"
    )
}
