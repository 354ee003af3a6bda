//! The hands of an [`Election`]: GET and PUT, and a task that keeps the time.
use super::{Election, Meta, Next, Record, Timing, Until, record};
use crate::k8s::cache::revision;
use crate::k8s::complaint::Complaint;
use crate::k8s::failure;
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::jiff::Timestamp;
use kube::api::PostParams;
use kube::{Api, Client};
use std::time::{Duration, Instant};
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::timeout;

/// Between two looks while requests fail: whatever fails, nobody asks for one Lease more than once a second.
const TROUBLE: Duration = Duration::from_secs(2);

/// How long giving the Lease back may take at the end.
const FAREWELL: Duration = Duration::from_secs(1);

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
    /// The newest revision of the Lease that was seen or written.
    revision: u64,
    /// Whether it was ever seen to go back.
    rewound: watch::Sender<bool>,
    complaint: Complaint,
}

/// A running candidacy.
#[derive(Debug)]
pub struct Leadership {
    leads: watch::Receiver<bool>,
    until: Until,
    rewound: watch::Receiver<bool>,
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

    /// Done when the Lease was seen in an older state than before: the API server's store was put back to an earlier time,
    /// and what caches and watches know is of a future that will not come.
    pub fn rewound(&self) -> impl Future<Output = ()> + Send + 'static {
        let mut rewound = self.rewound.clone();
        async move {
            if rewound.wait_for(|rewound| *rewound).await.is_err() {
                std::future::pending().await
            }
        }
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
            revision: 0,
            rewound: watch::Sender::new(false),
            complaint: Complaint::default(),
        }
    }

    /// Stands until `shutdown` is done, then gives the Lease back if it holds it.
    pub fn run(mut self, shutdown: impl Future<Output = ()> + Send + 'static) -> Leadership {
        let (tell, leads) = watch::channel(false);
        let (until, rewound) = (self.until.clone(), self.rewound.subscribe());
        let task = tokio::spawn(async move {
            tokio::select! {
                () = self.stand(&tell) => {}
                () = shutdown => {}
            }
            self.until.set(None);
            let led = tell.send_replace(false);
            let given_back = async { timeout(FAREWELL, self.release()).await.map_err(|_| Error::TooLate)? };
            if led && let Err(error) = given_back.await {
                let error = error.words();
                tracing::warn!(lease = self.name, error, "the Lease was not given back; others wait until it expires");
            }
        });
        Leadership { leads, until, rewound, task }
    }

    async fn stand(&mut self, tell: &watch::Sender<bool>) {
        loop {
            let pause = match self.round().await {
                Ok(pause) => {
                    if self.complaint.over() {
                        tracing::info!(lease = self.name, "the Lease is read and written again");
                    }
                    jittered(pause)
                }
                Err(error) => {
                    let error = error.words();
                    if self.complaint.due(&error, Instant::now()) {
                        tracing::warn!(lease = self.name, error, "the Lease was not read or written");
                    }
                    self.timing.retry.max(TROUBLE)
                }
            };
            self.tell(tell);
            self.rest(tell, pause).await;
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
        if let Some(lease) = &there {
            self.notice(revision(&lease.metadata));
        }
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
        let answer = self.api.replace(&self.name, &PostParams::default(), &wanted).await?;
        self.revision = revision(&answer.metadata);
        self.election.written(sent);
        Ok(self.timing.retry)
    }

    /// Takes in the revision that was read. Where it is older than one before, whatever this candidate knew is void.
    fn notice(&mut self, revision: u64) {
        if revision < self.revision {
            tracing::error!(lease = self.name, "the Lease is older than it was: was the API server's store restored?");
            self.election = Election::new(self.identity.clone(), self.timing);
            self.until.set(None);
            self.rewound.send_replace(true);
        }
        self.revision = revision;
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
            let wanted = record::released(there);
            self.api.replace(&self.name, &PostParams::default(), &wanted).await?;
        }
        Ok(())
    }
}

/// Up to a tenth less, so that candidates do not march in step.
fn jittered(pause: Duration) -> Duration {
    pause.saturating_sub(pause.mul_f64(fastrand::f64() / 10.0))
}

#[derive(Debug, thiserror::Error)]
enum Error {
    #[error(transparent)]
    Api(#[from] kube::Error),
    #[error("no answer in time")]
    TooLate,
}

impl Error {
    /// The API's own words, in one line.
    fn words(&self) -> String {
        match self {
            Error::Api(error) => failure::words(error),
            Error::TooLate => self.to_string(),
        }
    }
}
