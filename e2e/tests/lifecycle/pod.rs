//! [`Pod`]: the program as a pod of a Provider runs it, as a process under the token of the pod's account.
use crate::five::SOON;
use crate::place::Place;
use crate::stage::{Stage, fresh};
use crate::until::until;
use anyhow::{Context, Result};
use banlieue::k8s::crd::{Condition, ConditionStatus, Provider};
use banlieue_e2e::watch;
use std::fs::File;
use std::net::TcpListener;
use std::process::{Child, Command, Stdio};

/// A running pod; it is killed when this value is dropped.
pub(crate) struct Pod {
    child: Child,
    port: u16,
}

impl Pod {
    /// Starts one for the Provider `namespace/provider` of this uid, as the account `namespace/name`.
    pub(crate) async fn start(
        stage: &Stage,
        account: &str,
        namespace: &str,
        provider: &str,
        uid: &str,
    ) -> Result<Self> {
        let holder = format!("pod-{}", fresh());
        let kubeconfig = stage.cluster.kubeconfig_as(account).await?;
        let kubeconfig = stage.cluster.run_dir().write(&format!("{holder}.kubeconfig"), &kubeconfig)?;
        let port = TcpListener::bind("[::]:0").or_else(|_| TcpListener::bind("0.0.0.0:0"))?.local_addr()?.port();
        let log = File::create(stage.cluster.run_dir().log(&holder))?;
        let mut command = Command::new(&stage.program);
        command.args(["provider", "vsphere", "--namespace", namespace, "--provider-name", provider]);
        command.args(["--provider-uid", uid, "--health-port", &port.to_string()]).arg("--kubeconfig").arg(kubeconfig);
        command.env("POD_UID", &holder).env("POD_NAME", &holder).env("NO_PROXY", "*");
        command.stdin(Stdio::null()).stdout(log.try_clone()?).stderr(log);
        let child = command.spawn().with_context(|| format!("cannot run {}", stage.program.display()))?;
        Ok(Self { child, port })
    }

    /// Waits until it says of itself what `words` are part of.
    pub(crate) async fn says(&self, words: &str) -> Result<()> {
        until(&format!("the pod says {words:?}"), SOON, async || {
            let url = format!("http://127.0.0.1:{}/readyz?verbose", self.port);
            let text = match reqwest::get(url).await {
                Ok(answer) => answer.text().await.unwrap_or_default(),
                Err(error) => error.to_string(),
            };
            Ok(if text.contains(words) { Ok(()) } else { Err(text) })
        })
        .await
    }

    /// Waits until a pod has said of its backend that it cannot be used: none can in these tests.
    pub(crate) async fn is_heard(place: &Place<'_>, provider: &str) -> Result<()> {
        let told = |p: &Provider| {
            let conditions = p.status.as_ref().map(|s| s.conditions.as_slice()).unwrap_or_default();
            Condition::find(conditions, "Ready").is_some_and(|c| c.status == ConditionStatus::False)
        };
        watch::see(&place.providers, provider, "what its pod says", SOON, told).await.map(drop)
    }
}

impl Drop for Pod {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
