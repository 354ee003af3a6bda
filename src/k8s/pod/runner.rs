//! The loop of a pod: look at the API server, then at the backend, report, rest.
use super::home::{self, Home};
use super::meter::Meter;
use super::pace::Pace;
use super::reported::Reported;
use super::{Options, Probe, Seen, Target, sources, status};
use crate::effects::Refusal;
use crate::k8s::complaint::Complaint;
use crate::k8s::crd::{Aspect, Finding, FindingReason, Provider};
use crate::k8s::health::Health;
use crate::k8s::lease::{Elector, Leadership, Meta, Timing};
use crate::k8s::manifests::names;
use futures::{FutureExt, StreamExt};
use kube::{Client, Resource};
use prometheus_client::registry::Registry;
use std::pin::pin;
use std::time::{Duration, Instant};
use tokio::sync::{oneshot, watch};
use tokio::time::{sleep, timeout};

/// The check of `/readyz`: the backend was reached and let us in.
pub const READY: &str = "backend";
/// After trouble with the API server.
const API_TROUBLE: Duration = Duration::from_secs(5);
/// How long the login may take to be given back at the end.
const FAREWELL: Duration = Duration::from_secs(2);

/// What is tried; refused credentials are tried again once any of it has changed.
type Tried = Result<Target, Finding>;

/// A pod of one Provider.
pub struct Pod<P> {
    client: Client,
    options: Options,
    probe: P,
    health: Health,
    meter: Meter,
    pace: Pace<Tried>,
    /// What the last look at the backend has found.
    last: Seen,
    reported: Reported,
    candidacy: Option<Candidacy>,
    /// Of the API server.
    trouble: Complaint,
    /// Of the backend.
    failure: Complaint,
}

/// A candidacy for the Lease of one Provider.
struct Candidacy {
    of: Option<String>,
    leadership: Leadership,
    news: watch::Receiver<bool>,
    resign: oneshot::Sender<()>,
}

impl<P: Probe> Pod<P> {
    /// A pod at its start. `health` and `metrics` are to be served beside it: the one follows what it finds, the other takes
    /// what it measures.
    pub fn new(client: Client, options: Options, probe: P, health: Health, metrics: &mut Registry) -> Self {
        let meter = Meter::default();
        meter.register(metrics);
        Self {
            client,
            options,
            probe,
            health,
            meter,
            pace: Pace::new(),
            last: Seen::default(),
            reported: Reported::default(),
            candidacy: None,
            trouble: Complaint::default(),
            failure: Complaint::default(),
        }
    }

    /// Serves its Provider until `stop` is done; then the login and the Lease are given back, within seconds.
    pub async fn serve(mut self, stop: impl Future<Output = ()> + Send) {
        let mut stop = pin!(stop);
        let mut changes = Box::pin(home::changes(&self.client, &self.options));
        loop {
            let rest = tokio::select! {
                rest = self.look() => rest,
                () = &mut stop => break,
            };
            tokio::select! {
                () = sleep(rest) => {}
                Some(()) = changes.next() => {}
                () = news(&mut self.candidacy) => {}
                () = &mut stop => break,
            }
        }
        let farewell = timeout(FAREWELL, self.probe.logout());
        tokio::join!(farewell, resign(self.candidacy.take())).0.unwrap_or_default();
    }

    /// One look; how long to rest after it, if nothing happens.
    async fn look(&mut self) -> Duration {
        let looked = match home::look(&self.client, &self.options).await {
            Ok(Home::Serve(provider)) => {
                self.stand(&provider).await;
                self.look_at(&provider).await
            }
            Ok(Home::Paused(provider)) => {
                self.stand(&provider).await;
                if !self.pace.good() {
                    self.health.ready(READY, Err("paused since before the backend was reached".into()));
                }
                Ok(())
            }
            Ok(Home::Stranger(why)) => {
                self.health.ready(READY, Err(why.into()));
                self.pace = Pace::new();
                self.probe.logout().await;
                resign(self.candidacy.take()).await;
                Ok(())
            }
            Err(refusal) => Err(refusal),
        };
        match looked {
            Ok(()) => {
                if self.trouble.over() {
                    tracing::info!(provider = self.options.provider, "the trouble with the API server is over");
                }
                self.pace.next()
            }
            // It says nothing about the backend: readiness stays as it is.
            Err(refusal) => {
                if self.trouble.due(&refusal.words, Instant::now()) {
                    let provider = &self.options.provider;
                    tracing::warn!(provider, error = refusal.words, "trouble with the API server");
                }
                API_TROUBLE
            }
        }
    }

    async fn look_at(&mut self, provider: &Provider) -> Result<(), Refusal> {
        let what = sources::read(&self.client, &self.options.namespace, provider).await?;
        let leads = self.leads();
        self.reported.follow(provider);
        if self.pace.may_try(Instant::now(), &what) {
            self.last = match &what {
                Ok(target) => self.probe.probe(target, leads).await,
                Err(finding) => missing(finding),
            };
            self.meter.seen(&self.last);
            let failure = self.last.findings.last().filter(|_| !self.last.reached);
            self.pace.tried(Instant::now(), what, failure.map(|f| f.reason.retry()), fastrand::f64());
            complain(&mut self.failure, &self.options.provider, failure);
            let why = failure.map(ToString::to_string).unwrap_or_default();
            self.health.ready(READY, if self.pace.good() { Ok(()) } else { Err(why) });
        }
        // Only the holder reports, and only of a look that it made as the holder: that one saw the inventory too. Who becomes
        // the holder while the pace forbids a login reports the refusal that it remembers.
        if leads && self.leads() {
            let before = self.reported.of_this_backend(provider);
            status::write(&self.client, &self.options, provider, &self.last, before).await?;
            self.reported = Reported::of(provider);
        }
        Ok(())
    }

    fn leads(&self) -> bool {
        let leads = self.candidacy.as_ref().is_some_and(|c| c.leadership.leads());
        self.meter.leads(leads);
        leads
    }

    /// Stands for the Lease of this Provider, unless it does already.
    async fn stand(&mut self, provider: &Provider) {
        if self.candidacy.as_ref().is_some_and(|c| c.of == provider.metadata.uid) {
            return;
        }
        resign(self.candidacy.take()).await;
        let Options { namespace, provider: name, pod_uid, .. } = &self.options;
        let meta = Meta {
            annotations: [(names::PROVIDER.to_owned(), format!("{namespace}/{name}"))].into(),
            owner: provider.owner_ref(&()),
            ..Default::default()
        };
        let lease = names::lease(namespace, name);
        let elector = Elector::new(self.client.clone(), namespace, lease, pod_uid, Timing::POD, meta);
        let (sender, resigned) = oneshot::channel();
        let leadership = elector.run(resigned.map(drop));
        let news = leadership.watch();
        self.candidacy = Some(Candidacy { of: provider.metadata.uid.clone(), leadership, news, resign: sender });
    }
}

/// Tells of the backend what goes on failing, and when that is over.
fn complain(of: &mut Complaint, provider: &str, failure: Option<&Finding>) {
    match failure {
        Some(failure) if of.due(&failure.to_string(), Instant::now()) => {
            let Finding { reason, message } = failure;
            tracing::warn!(provider, reason = reason.as_str(), message, "cannot use the backend");
        }
        None if of.over() => tracing::info!(provider, "the backend can be used again"),
        _ => {}
    }
}

/// Done when the leadership has changed.
async fn news(candidacy: &mut Option<Candidacy>) {
    if let Some(candidacy) = candidacy
        && candidacy.news.changed().await.is_ok()
    {
        return;
    }
    std::future::pending().await
}

async fn resign(candidacy: Option<Candidacy>) {
    if let Some(candidacy) = candidacy {
        drop(candidacy.resign);
        candidacy.leadership.released().await;
    }
}

/// What is known where the Secret or the CA source is missing: nothing was tried.
fn missing(finding: &Finding) -> Seen {
    let mut findings = vec![finding.clone()];
    if finding.reason.aspect() > Aspect::CredentialsValid {
        findings.insert(0, FindingReason::CredentialsFound.into());
    }
    Seen { findings, ..Default::default() }
}
