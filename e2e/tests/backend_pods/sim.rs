//! [`Sim`]: a vCenter simulator of a test's own, and the faults that it is asked for.
use crate::stage::Stage;
use crate::until::until;
use anyhow::{Context, Result, ensure};
use banlieue_e2e::Vcsim;
use banlieue_e2e::vcsim::Model;
use serde::Deserialize;
use serde_json::Value;
use std::collections::BTreeMap;
use std::ops::Deref;
use std::sync::atomic::{AtomicU16, Ordering};
use std::time::Duration;

/// The ports of the simulators of this suite: two for each.
static PORT: AtomicU16 = AtomicU16::new(9100);
/// How long a pod may take to do what it was woken for.
pub(crate) const AT_ONCE: Duration = Duration::from_secs(15);

/// A simulator; it dereferences to how it is reached.
pub(crate) struct Sim(Vcsim);

/// What a simulator has counted since its start, or its last reset.
#[derive(Clone, Debug, Deserialize, PartialEq)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Counts {
    /// Who is logged in now.
    pub(crate) sessions: u64,
    /// Logins that were let in.
    pub(crate) logins: u64,
    /// Logins that were not.
    pub(crate) refused: u64,
    /// When one was last let in, in seconds since 1970.
    pub(crate) last_login: f64,
    calls: BTreeMap<String, u64>,
}

impl Counts {
    /// How often a method was called.
    pub(crate) fn of(&self, method: &str) -> u64 {
        self.calls.get(method).copied().unwrap_or(0)
    }
}

impl Deref for Sim {
    type Target = Vcsim;
    fn deref(&self) -> &Vcsim {
        &self.0
    }
}

impl Sim {
    /// Starts one.
    pub(crate) fn start(stage: &Stage, name: &str, model: Model) -> Result<Self> {
        Ok(Sim(stage.cluster.start_vcsim(name, PORT.fetch_add(2, Ordering::Relaxed), model)?))
    }

    /// Asks its control port for something; `body` is of e2e/tools/vcsim/api.go.
    pub(crate) async fn ask(&self, path: &str, body: Value) -> Result<()> {
        let request = reqwest::Client::new().post(format!("{}{path}", self.control_url)).body(body.to_string());
        let answer = request.send().await?;
        let status = answer.status();
        ensure!(status.is_success(), "{path} {body}: {status} {}", answer.text().await?);
        Ok(())
    }

    /// What it has counted.
    pub(crate) async fn counts(&self) -> Result<Counts> {
        let text = reqwest::get(format!("{}/counts", self.control_url)).await?.text().await?;
        serde_json::from_str(&text).with_context(|| format!("the counts of {}: {text}", self.component))
    }

    /// Waits until its counts are so.
    pub(crate) async fn count(&self, what: &str, limit: Duration, good: impl Fn(&Counts) -> bool) -> Result<Counts> {
        until(&format!("{}: {what}", self.component), limit, async || {
            let counts = self.counts().await?;
            Ok(if good(&counts) { Ok(counts) } else { Err(format!("{counts:?}")) })
        })
        .await
    }

    /// Waits until so many are logged in.
    pub(crate) async fn sessions(&self, number: u64) -> Result<Counts> {
        self.count(&format!("{number} sessions"), AT_ONCE, |c| c.sessions == number).await
    }
}
