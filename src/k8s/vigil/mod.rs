//! [`Vigil`]: whether the watches of this process are alive, and its end where one is not.
//!
//! A watch that is silent looks like a cluster at rest: a decision from its cache would be wrong without a sign. So signs of
//! life are taken where a quiet watch still has some, from HTTP: the API server sends a bookmark about once a minute, and
//! ends each watch after some minutes ([`Listener`]).
mod listener;

pub use listener::Listener;

use super::complaint::Complaint;
use super::failure;
use super::health::Health;
use kube::runtime::watcher;
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::registry::Registry;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Between two looks at the watches.
const LOOK: Duration = Duration::from_secs(1);
/// Between two starts of one watch, at the least: a server that ends each watch at once is not asked without a pause.
const RESTART: Duration = Duration::from_secs(1);
/// A watch that lived this long and was ended by the server is a sign of life.
const LIVED: Duration = Duration::from_secs(30);

/// The watches of this process. Clones share them.
#[derive(Clone, Debug)]
pub struct Vigil {
    patience: Duration,
    watches: Arc<Mutex<BTreeMap<String, Watch>>>,
    requests: Family<Request, Counter>,
}

/// The labels of one request, as client-go has them.
#[derive(Clone, Debug, EncodeLabelSet, Eq, Hash, PartialEq)]
struct Request {
    code: String,
    method: String,
    host: String,
}

/// What is known of one watch.
#[derive(Debug)]
struct Watch {
    /// Its last sign of life; at first its beginning.
    alive: Instant,
    /// When it was last begun.
    begun: Option<Instant>,
    /// Why it cannot be begun, or was cut.
    trouble: Option<String>,
    complaint: Complaint,
}

/// One watch, as who follows it speaks of it.
#[derive(Debug)]
pub struct Attended {
    vigil: Vigil,
    path: String,
}

impl Vigil {
    /// Ends who waits for [`Vigil::lost`] once a watch has given no sign of life for `patience`.
    pub fn new(patience: Duration) -> Self {
        Self { patience, watches: Arc::default(), requests: Family::default() }
    }

    /// Registers the count of requests.
    pub fn register(&self, registry: &mut Registry) {
        registry.register("rest_client_requests", "Requests to the API server by answer", self.requests.clone());
    }

    /// Begins to attend to the watch of this path, such as `/api/v1/pods`.
    pub fn attend(&self, path: &str) -> Attended {
        let watch = Watch { alive: Instant::now(), begun: None, trouble: None, complaint: Complaint::default() };
        self.lock().insert(path.to_owned(), watch);
        Attended { vigil: self.clone(), path: path.to_owned() }
    }

    /// Keeps one check of `/readyz` for each watch; done, with the reason, once one has been silent for too long.
    pub async fn lost(&self, health: &Health) -> String {
        loop {
            let now = Instant::now();
            for (check, state) in self.checks(now) {
                health.ready(check, state);
            }
            if let Some(words) = self.overdue(now) {
                return words;
            }
            tokio::time::sleep(LOOK).await;
        }
    }

    /// How each watch stands. One that is silent for half of what is allowed is doubted.
    fn checks(&self, now: Instant) -> Vec<(String, Result<(), String>)> {
        let state = |watch: &Watch| {
            let silent = now.saturating_duration_since(watch.alive);
            match &watch.trouble {
                Some(words) => Err(words.clone()),
                None if silent >= self.patience / 2 => Err(format!("silent for {} s", silent.as_secs())),
                None => Ok(()),
            }
        };
        self.lock().iter().map(|(path, watch)| (format!("watch-{}", plural(path)), state(watch))).collect()
    }

    fn overdue(&self, now: Instant) -> Option<String> {
        let watches = self.lock();
        let overdue = watches.iter().filter(|(_, w)| now.saturating_duration_since(w.alive) >= self.patience);
        // one that says why, if there is one
        let (path, watch) = overdue.min_by_key(|(_, w)| (w.trouble.is_none(), w.alive))?;
        let why = watch.trouble.as_deref().unwrap_or("it is silent");
        Some(format!(
            "the watch of {} gave no sign of life for {} s ({why}); this process ends, so that a new one starts anew",
            plural(path),
            self.patience.as_secs()
        ))
    }

    /// How long to wait before the watch of this path is begun.
    fn pause(&self, path: &str, now: Instant) -> Duration {
        let mut watches = self.lock();
        let Some(watch) = watches.get_mut(path) else { return Duration::ZERO };
        let at = watch.begun.map_or(now, |begun| now.max(begun + RESTART));
        watch.begun = Some(at);
        at - now
    }

    /// The server has begun to answer a watch. That alone is no sign of life: what comes after it is.
    fn begun(&self, path: &str) {
        self.watch(path, |watch| {
            watch.trouble = None;
            if watch.complaint.over() {
                tracing::info!(watch = plural(path), "the watch is there again");
            }
        });
    }

    fn alive(&self, path: &str, now: Instant) {
        self.watch(path, |watch| {
            watch.alive = now;
            watch.trouble = None;
        });
    }

    fn watch(&self, path: &str, go: impl FnOnce(&mut Watch)) {
        if let Some(watch) = self.lock().get_mut(path) {
            go(watch);
        }
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, Watch>> {
        self.watches.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Attended {
    /// Takes in an error of the watch: in one line, and not for each try.
    pub fn failed(&self, error: &watcher::Error) {
        let words = failure::of_watch(error);
        self.vigil.watch(&self.path, |watch| {
            if watch.complaint.due(&words, Instant::now()) {
                tracing::warn!(watch = plural(&self.path), error = words, "a watch failed and is started again");
            }
            watch.trouble = Some(words);
        });
    }
}

/// The plural of the kind that this path lists.
fn plural(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

#[cfg(test)]
mod tests;
