//! [`Detour`]: an operator by way of a proxy that breaks what a test tells it to, and keeps count.
use crate::operator::Operator;
use crate::stage::{Stage, fresh};
use anyhow::Result;
use banlieue::k8s::manifests::names;
use banlieue_e2e::proxy::{Asked, Proxy, Rule, Way};
use http::Response;
use k8s_openapi::api::coordination::v1::Lease;
use kube::Api;
use kube::api::DeleteParams;
use kube::client::Body;
use serde_json::json;
use std::collections::BTreeMap;
use std::future::pending;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;
use tokio::sync::watch;

/// What is done to a request.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Fault {
    /// This status, with a Status object that says so; a 429 asks for patience of an hour.
    Refuse(u16),
    /// A 404 as of a server that does not know the path: no Status object.
    Bare,
    /// No answer, for ever.
    Hang,
    /// It is passed on once the test lets it.
    Held,
}

type Plot = Box<dyn Fn(&Asked) -> Option<Fault> + Send>;

/// What is to go wrong, and what was asked.
pub(crate) struct Faults {
    plot: Mutex<Plot>,
    asked: Mutex<Vec<(Instant, String)>>,
    held: watch::Sender<bool>,
}

/// The operator, its way to the API server, and its log.
pub(crate) struct Detour {
    /// What goes wrong on the way.
    pub(crate) faults: Arc<Faults>,
    /// The operator.
    pub(crate) operator: Operator,
    log: PathBuf,
    _proxy: Proxy,
}

impl Detour {
    /// Starts an operator with further arguments, with `plot` in force from its first request.
    pub(crate) async fn start(
        stage: &Stage,
        more: &[&str],
        plot: impl Fn(&Asked) -> Option<Fault> + Send + 'static,
    ) -> Result<Self> {
        Self::of_role("operator", &std::fs::read_to_string(&stage.kubeconfig)?, stage, more, plot).await
    }

    /// The same, for another role under another identity.
    pub(crate) async fn of_role(
        role: &str,
        identity: &str,
        stage: &Stage,
        more: &[&str],
        plot: impl Fn(&Asked) -> Option<Fault> + Send + 'static,
    ) -> Result<Self> {
        let held = watch::Sender::new(true);
        let faults = Arc::new(Faults { plot: Mutex::new(Box::new(plot)), asked: Mutex::default(), held });
        let proxy = Proxy::start(&stage.cluster, faults.clone()).await?;
        let holder = format!("detour-{}", fresh());
        let kubeconfig = proxy.kubeconfig(identity)?;
        let kubeconfig = stage.cluster.run_dir().write(&format!("{holder}.kubeconfig"), &kubeconfig)?;
        let operator = stage.role_by(role, &kubeconfig, &holder, more)?;
        Ok(Self { faults, operator, log: stage.cluster.run_dir().log(&holder), _proxy: proxy })
    }

    /// Everything it has logged.
    pub(crate) fn log(&self) -> Result<String> {
        Ok(std::fs::read_to_string(&self.log)?)
    }
}

/// Runs `test` while the stage's own operator is away, which comes back whatever becomes of it.
pub(crate) async fn alone(stage: &Stage, test: impl AsyncFnOnce() -> Result<()>) -> Result<()> {
    stage.stop_operator().await?;
    let tested = test().await;
    if tested.is_err() {
        // whoever held the Lease died with it, and it may last long
        let leases: Api<Lease> = Api::namespaced(stage.client.clone(), names::DEFAULT_NAMESPACE);
        drop(leases.delete(names::OPERATOR, &DeleteParams::default()).await);
    }
    let again = stage.start_operator().await;
    tested.and(again)
}

impl Faults {
    /// From now on this goes wrong.
    pub(crate) fn plot(&self, plot: impl Fn(&Asked) -> Option<Fault> + Send + 'static) {
        *locked(&self.plot) = Box::new(plot);
    }

    /// Passes on what is held.
    pub(crate) fn release(&self) {
        self.held.send_replace(false);
    }

    /// How often each object was asked about since, by method and path.
    pub(crate) fn counts(&self, since: Instant) -> BTreeMap<String, usize> {
        let mut counts = BTreeMap::new();
        for (_, what) in locked(&self.asked).iter().filter(|(at, _)| *at >= since) {
            *counts.entry(what.clone()).or_insert(0) += 1;
        }
        counts
    }

    /// That no object was asked about more than once a second since, while this many Providers are in trouble: what is
    /// created for each of them is asked for by one path.
    pub(crate) fn calm(&self, since: Instant, providers: usize) -> Result<()> {
        let seconds = since.elapsed().as_secs() as usize;
        let counts = self.counts(since);
        let shared = |what: &str| what.starts_with("POST ");
        let most = |what: &str| if shared(what) { (seconds + 1) * providers } else { seconds + 1 };
        let hot: Vec<_> = counts.iter().filter(|(what, n)| **n > most(what)).collect();
        anyhow::ensure!(hot.is_empty(), "more than one request a second in {seconds} s: {hot:?}; of {counts:?}");
        Ok(())
    }
}

impl Rule for Faults {
    async fn asked(&self, asked: &Asked) -> Way {
        locked(&self.asked).push((Instant::now(), format!("{} {}", asked.method, asked.uri.path())));
        let fault = locked(&self.plot)(asked);
        match fault {
            None => Way::On,
            Some(Fault::Refuse(code)) => {
                let message = format!("a planted {code}");
                let status = json!({ "kind": "Status", "apiVersion": "v1", "status": "Failure", "code": code, "message": message });
                answer(code, "application/json", status.to_string())
            }
            Some(Fault::Bare) => answer(404, "text/plain", "404 page not found\n".into()),
            Some(Fault::Hang) => pending().await,
            Some(Fault::Held) => {
                let _ = self.held.subscribe().wait_for(|held| !held).await;
                Way::On
            }
        }
    }
}

fn answer(code: u16, kind: &str, body: String) -> Way {
    let answer = Response::builder().status(code).header("content-type", kind);
    let answer = if code == 429 { answer.header("retry-after", "3600") } else { answer };
    answer.body(Body::from(body.into_bytes())).map_or(Way::Cut, Way::Answer)
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
