//! [`Operator`]: the operator as a process, under the token of its own account.
use crate::until::until;
use anyhow::{Context, Result, ensure};
use std::fs::File;
use std::net::TcpListener;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;

/// How long a start may take: caches, then a Lease that a killed predecessor still holds.
const START: Duration = Duration::from_secs(60);

/// A running operator; it is killed when this value is dropped.
pub struct Operator {
    child: Child,
    port: u16,
}

impl Operator {
    /// Starts it as candidate `holder`, with further arguments; the first one is its role, `operator` or `controller`.
    pub fn start(
        program: &Path,
        env: &[(&str, &str)],
        kubeconfig: &Path,
        holder: &str,
        log: &Path,
        args: &[&str],
    ) -> Result<Self> {
        let port = TcpListener::bind("[::]:0").or_else(|_| TcpListener::bind("0.0.0.0:0"))?.local_addr()?.port();
        let file = File::create(log)?;
        let mut command = Command::new(program);
        command.args(args).args(["--health-port", &port.to_string()]).arg("--kubeconfig").arg(kubeconfig);
        command.envs(env.iter().copied());
        command.env("POD_UID", holder).env("POD_NAME", holder).env("NO_PROXY", "*");
        command.env("BANLIEUE_LOG", "info").env("BANLIEUE_LOG_FORMAT", "json");
        command.stdin(Stdio::null()).stdout(file.try_clone()?).stderr(file);
        let child = command.spawn().with_context(|| format!("cannot run {}", program.display()))?;
        Ok(Self { child, port })
    }

    /// Waits until it leads.
    pub async fn leads(&self) -> Result<()> {
        until("the operator leads", START, async || {
            let leads = self.metric("leader_election_master_status").await?;
            Ok(if leads == Some(1.0) { Ok(()) } else { Err(format!("{leads:?}")) })
        })
        .await
    }

    /// Waits until it has complete caches and is fenced in.
    pub async fn ready(&self) -> Result<()> {
        until("the operator is ready", START, async || {
            let said = self.readyz().await;
            Ok(if said == "ok" { Ok(()) } else { Err(said) })
        })
        .await
    }

    /// What `/readyz` says; nothing before it is served.
    pub async fn readyz(&self) -> String {
        match reqwest::get(format!("http://127.0.0.1:{}/readyz", self.port)).await {
            Ok(answer) => answer.text().await.unwrap_or_default(),
            Err(_) => String::new(),
        }
    }

    /// Waits until it has ended this many reconciles.
    pub async fn reconciled(&self, times: f64) -> Result<()> {
        until("the operator has looked at every Provider", START, async || {
            let done = self.metric("controller_runtime_reconcile_total").await?.unwrap_or(0.0);
            Ok(if done >= times { Ok(()) } else { Err(format!("{done} of {times}")) })
        })
        .await
    }

    /// What it answers on a path of its health port: status and text.
    pub async fn get(&self, path: &str) -> Result<(u16, String)> {
        let answer = reqwest::get(format!("http://127.0.0.1:{}/{path}", self.port)).await?;
        Ok((answer.status().as_u16(), answer.text().await?))
    }

    /// The sum of a metric over its labels.
    pub async fn metric(&self, name: &str) -> Result<Option<f64>> {
        let Ok((_, text)) = self.get("metrics").await else { return Ok(None) };
        let of = |line: &str| {
            let rest = line.strip_prefix(name)?;
            let value = rest.starts_with(['{', ' ']).then(|| rest.rsplit(' ').next())??;
            value.parse::<f64>().ok()
        };
        Ok(text.lines().filter_map(of).reduce(|a, b| a + b))
    }

    /// Sends it a signal.
    pub fn signal(&self, name: &str) -> Result<()> {
        let done = Command::new("kill").args([&format!("-{name}"), &self.child.id().to_string()]).status()?;
        ensure!(done.success(), "it was gone already");
        Ok(())
    }

    /// Waits for its end.
    pub async fn ends(mut self, limit: Duration) -> Result<ExitStatus> {
        until("the operator ends", limit, async || Ok(self.ended()?.ok_or_else(|| "it runs".into()))).await
    }

    /// How it ended, if it has.
    pub fn ended(&mut self) -> Result<Option<ExitStatus>> {
        Ok(self.child.try_wait()?)
    }

    /// SIGTERM, and waits for its end.
    pub async fn stop(self) -> Result<()> {
        self.signal("TERM")?;
        let status = self.ends(Duration::from_secs(5)).await?;
        ensure!(status.success(), "it ended with {status}");
        Ok(())
    }

    /// SIGKILL.
    pub fn kill(mut self) -> Result<()> {
        self.child.kill()?;
        self.child.wait()?;
        Ok(())
    }
}

impl Drop for Operator {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
