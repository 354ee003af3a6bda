//! When a cluster is up, and whether it still is.

use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use k8s_openapi::api::core::v1::{Node, ServiceAccount};
use kube::{Api, Client};

use crate::cluster::Cluster;
use crate::progress::Progress;
use crate::{launch, node, supervisor};

impl Cluster {
    /// Waits for the API server, starts what needs it, and waits for that.
    pub(crate) async fn bring_up(&self, progress: Progress, began: Instant) -> Result<()> {
        let client = self.client().await?;
        self.wait("kube-apiserver", 90, || ready(&client)).await?;
        progress.step("kube-apiserver", "ready", began);
        launch::start_rest(&self.run, &self.settings)?;
        let accounts: Api<ServiceAccount> = Api::namespaced(client.clone(), "default");
        self.wait("kube-controller-manager", 60, async || Ok(accounts.get_opt("default").await?.is_some())).await?;
        progress.step("kube-controller-manager", "ready", began);
        if self.settings.node {
            self.wait("the node", 90, || node_ready(&client)).await?;
            progress.step("kubelet", "node ready", began);
            launch::wait_for_part(&self.run, self.settings.slot(), "kube-proxy", node::PROXY_HEALTH_PORT)?;
            progress.step("kube-proxy", "ready", began);
        }
        Ok(())
    }

    /// Asks `check` until it says yes. Its errors count as no; a part that does not stay up ends the wait.
    async fn wait<F: Future<Output = Result<bool>>>(
        &self,
        what: &str,
        seconds: u64,
        check: impl Fn() -> F,
    ) -> Result<()> {
        let start = Instant::now();
        let mut last = String::new();
        while start.elapsed() < Duration::from_secs(seconds) {
            match tokio::time::timeout(Duration::from_secs(5), check()).await {
                Ok(Ok(true)) => return Ok(()),
                Ok(Ok(false)) => last = "not yet".into(),
                Ok(Err(error)) => last = format!("{error:#}"),
                Err(_) => last = "no answer".into(),
            }
            supervisor::check_parts(&self.run)?;
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        bail!("{what} is not ready after {seconds} s: {last}")
    }

    /// Whether every part runs, the API server is ready and so is the node.
    pub async fn check_health(&self) -> Result<()> {
        let states = self.status()?;
        for name in launch::expected(&self.settings) {
            if states.get(name).and_then(|s| s.pid).is_none() {
                bail!("{name} does not run");
            }
        }
        let client = self.client().await?;
        let limit = Duration::from_secs(3);
        tokio::time::timeout(limit, ready(&client)).await.context("the API server does not answer")??;
        if self.settings.node && !tokio::time::timeout(limit, node_ready(&client)).await.context("no answer")?? {
            bail!("the node is not ready");
        }
        Ok(())
    }

    /// Waits until the API server is ready, for instance after it was started again.
    pub async fn wait_ready(&self) -> Result<()> {
        let client = self.client().await?;
        self.wait("kube-apiserver", 90, || ready(&client)).await
    }
}

async fn ready(client: &Client) -> Result<bool> {
    let request = http::Request::get("/readyz").body(Vec::new())?;
    Ok(client.request_text(request).await? == "ok")
}

async fn node_ready(client: &Client) -> Result<bool> {
    let Some(node) = Api::<Node>::all(client.clone()).get_opt(node::NODE).await? else {
        return Ok(false);
    };
    let conditions = node.status.and_then(|s| s.conditions).unwrap_or_default();
    let tainted = node.spec.and_then(|s| s.taints).is_some_and(|t| t.iter().any(|t| t.effect == "NoSchedule"));
    Ok(!tainted && conditions.iter().any(|c| c.type_ == "Ready" && c.status == "True"))
}
