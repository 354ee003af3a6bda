//! The hands of an [`Election`]: GET and PUT, and a task that keeps the time.
use super::{Election, Meta, Next, Record, Timing, record};
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::jiff::Timestamp;
use kube::api::PostParams;
use kube::{Api, Client};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::timeout;

/// A candidate for a Lease.
///
/// It only gets and puts (a PUT of a Lease that is missing creates it), so `get`, `create` and `update` on that one name are all the rights it needs. Every PUT carries the
/// resourceVersion that was read, so of several candidates one wins.
pub struct Elector {
    api: Api<Lease>,
    name: String,
    identity: String,
    timing: Timing,
    meta: Meta,
    election: Election,
    until: Until,
}

/// Until when the leadership lasts unless it is renewed. Asked right before a write: a process that was asleep past its
/// deadline would write before its timers have told it.
#[derive(Clone, Debug, Default)]
pub struct Until(Arc<Mutex<Option<Instant>>>);

impl Until {
    /// Whether it leads at this instant.
    pub fn leads(&self) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).is_some_and(|end| Instant::now() < end)
    }

    fn set(&self, end: Option<Instant>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = end;
    }
}

/// A running candidacy.
#[derive(Debug)]
pub struct Leadership {
    leads: watch::Receiver<bool>,
    until: Until,
    task: JoinHandle<()>,
}

impl Leadership {
    /// Until when it lasts, to be asked right before a write.
    pub fn until(&self) -> Until {
        self.until.clone()
    }

    /// Whether it leads now.
    pub fn leads(&self) -> bool {
        *self.leads.borrow()
    }

    /// A receiver that follows it; closed once the candidacy is over.
    pub fn watch(&self) -> watch::Receiver<bool> {
        self.leads.clone()
    }

    /// Waits until the candidacy is over and the Lease given back; it ends by the shutdown that [`Elector::run`] was given.
    pub async fn released(self) {
        let _ = self.task.await;
    }
}

impl Elector {
    /// A candidate called `identity` (unique among the candidates, such as a pod's uid) for the Lease `name`.
    pub fn new(
        client: Client,
        namespace: &str,
        name: impl Into<String>,
        identity: impl Into<String>,
        timing: Timing,
        meta: Meta,
    ) -> Self {
        let identity = identity.into();
        Self {
            api: Api::namespaced(client, namespace),
            name: name.into(),
            election: Election::new(identity.clone(), timing),
            identity,
            timing,
            meta,
            until: Until::default(),
        }
    }

    /// Stands until `shutdown` is done, then gives the Lease back if it holds it.
    pub fn run(mut self, shutdown: impl Future<Output = ()> + Send + 'static) -> Leadership {
        let (tell, leads) = watch::channel(false);
        let until = self.until.clone();
        let task = tokio::spawn(async move {
            tokio::select! {
                () = self.stand(&tell) => {}
                () = shutdown => {}
            }
            self.until.set(None);
            let led = tell.send_replace(false);
            if led && let Err(error) = timeout(Duration::from_secs(2), self.release()).await.unwrap_or(Ok(())) {
                tracing::warn!(lease = self.name, %error, "the Lease was not given back; others wait until it expires");
            }
        });
        Leadership { leads, until, task }
    }

    async fn stand(&mut self, tell: &watch::Sender<bool>) {
        loop {
            let pause = match self.round().await {
                Ok(pause) => pause,
                Err(error) => {
                    tracing::warn!(lease = self.name, %error, "the Lease was not read or written");
                    self.timing.retry / 4
                }
            };
            self.tell(tell);
            self.rest(tell, jittered(pause)).await;
        }
    }

    /// One look and what it asks for. Bounded, so that a request that hangs does not outlive the leadership.
    async fn round(&mut self) -> Result<Duration, Error> {
        let now = Instant::now();
        let left = self.election.deadline().filter(|end| *end > now).map(|end| end - now);
        timeout(left.unwrap_or(self.timing.renew).min(self.timing.renew / 2), self.look())
            .await
            .map_err(|_| Error::TooLate)?
    }

    async fn look(&mut self) -> Result<Duration, Error> {
        let there = self.api.get_opt(&self.name).await?;
        let seen = there.as_ref().map(Record::from);
        let next = self.election.look(Instant::now(), seen.as_ref());
        let wanted = match (next, there) {
            (Next::Wait(pause), _) => return Ok(pause),
            (Next::Renew, Some(there)) if self.election.deadline().is_some() => {
                record::renewed(there, Timestamp::now())
            }
            (_, there) => {
                record::acquired(there, &self.name, &self.meta, &self.identity, self.timing.lease, Timestamp::now())
            }
        };
        let sent = Instant::now();
        self.api.replace(&self.name, &PostParams::default(), &wanted).await?;
        self.election.written(sent);
        Ok(self.timing.retry)
    }

    /// Sleeps, but not past the end of the leadership.
    async fn rest(&self, tell: &watch::Sender<bool>, pause: Duration) {
        let wake = Instant::now() + pause;
        if let Some(end) = self.election.deadline().filter(|end| *end < wake) {
            tokio::time::sleep_until(end.into()).await;
            self.tell(tell);
        }
        tokio::time::sleep_until(wake.into()).await;
    }

    fn tell(&self, tell: &watch::Sender<bool>) {
        self.until.set(self.election.deadline());
        let leads = self.election.leads(Instant::now());
        if tell.send_if_modified(|told| std::mem::replace(told, leads) != leads) {
            tracing::info!(lease = self.name, identity = self.identity, leads, "leadership changed");
        }
    }

    async fn release(&self) -> Result<(), Error> {
        if let Some(there) = self.api.get_opt(&self.name).await?
            && Record::from(&there).holder == self.identity
        {
            let wanted = record::released(there, Timestamp::now());
            self.api.replace(&self.name, &PostParams::default(), &wanted).await?;
        }
        Ok(())
    }
}

/// Up to a tenth less, so that candidates do not march in step.
fn jittered(pause: Duration) -> Duration {
    let nanos = u64::from(Timestamp::now().subsec_nanosecond().unsigned_abs());
    pause.saturating_sub(pause.mul_f64((nanos % 1000) as f64 / 10_000.0))
}

#[derive(Debug, thiserror::Error)]
enum Error {
    #[error(transparent)]
    Api(#[from] kube::Error),
    #[error("no answer in time")]
    TooLate,
}
