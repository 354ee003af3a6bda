//! The controller: sums up the fleet of each class in its status. It reads Providers and classes, and writes nothing else.
mod sum;

use super::cache::Cache;
use super::crd::{Provider, ProviderClass};
use super::health::Health;
use super::lease::{Elector, Meta, REWOUND, Timing, Until};
use super::manifests::names;
use super::refusal::bounded;
use super::vigil::Vigil;
use crate::fsm::Fault;
use chrono::Utc;
use futures::{FutureExt, TryStreamExt};
use kube::api::{Api, Patch, PatchParams};
use kube::runtime::{WatchStreamExt, watcher};
use kube::{Client, Resource, ResourceExt};
use prometheus_client::metrics::gauge::Gauge;
use serde::de::DeserializeOwned;
use serde_json::json;
use std::collections::HashMap;
use std::fmt::Debug;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{Notify, oneshot};
use tokio::task::JoinSet;

/// Events within this time of each other lead to one look: a rollout of a thousand Providers is not a thousand writes.
const GATHER: Duration = Duration::from_millis(500);
/// How long a request in hand may take at the end.
const GRACE: Duration = Duration::from_secs(3);
/// After a write that failed.
const AGAIN: Duration = Duration::from_secs(5);

/// As whom, and where, this replica stands.
#[derive(Clone, Debug)]
pub struct Candidate {
    /// The namespace of the installation: the Lease `banlieue-controller` is there.
    pub namespace: String,
    /// What the Lease is held by: the pod's uid.
    pub holder: String,
    /// How long things take.
    pub timing: Timing,
}

/// What is shown of a running controller.
#[derive(Debug)]
pub struct Monitoring {
    /// It gets the check `caches`, and one for each watch.
    pub health: Health,
    /// It attends to the watches.
    pub vigil: Vigil,
    /// Whether this replica leads.
    pub leads: Gauge,
}

/// Sums up until `stop` is done, while it holds its Lease.
///
/// # Errors
/// When a watch is dead, or the API server went back in time.
pub async fn run(
    client: Client,
    candidate: &Candidate,
    monitoring: Monitoring,
    stop: impl Future<Output = ()> + Send + 'static,
) -> anyhow::Result<()> {
    let stop = stop.shared();
    let Monitoring { health, vigil, leads: gauge } = monitoring;
    let fleet = Arc::new(Fleet::new(client.clone()));
    let _watches = fleet.watch(&vigil);
    let mut dead = std::pin::pin!(vigil.lost(&health));
    tokio::select! {
        () = fleet.synced() => health.ready("caches", Ok(())),
        words = &mut dead => anyhow::bail!(words),
        () = stop.clone() => return Ok(()),
    }
    tracing::info!("caches are complete");
    let Candidate { namespace, holder, timing } = candidate;
    let elector = Elector::new(client, namespace, names::CONTROLLER, holder, *timing, Meta::default());
    let (done, ended) = oneshot::channel::<()>();
    let leadership = elector.run(ended.map(drop));
    let (mut leads, mut rewound) = (leadership.watch(), std::pin::pin!(leadership.rewound()));
    let (until, ends) = (leadership.until(), leadership.until());
    let late = stop.clone().then(move |()| {
        ends.resign();
        tokio::time::sleep(GRACE)
    });
    let late = late.boxed().shared();
    let result = loop {
        let leader = *leads.borrow_and_update();
        gauge.set(leader.into());
        let failed = tokio::select! {
            all = fleet.report(&until) => leader && !all,
            () = late.clone() => break Ok(()),
        };
        tokio::select! {
            () = stop.clone() => break Ok(()),
            words = &mut dead => break Err(anyhow::anyhow!(words)),
            () = &mut rewound => break Err(anyhow::anyhow!(REWOUND)),
            Ok(()) = leads.changed() => {}
            () = fleet.moved.notified() => tokio::time::sleep(GATHER).await,
            () = tokio::time::sleep(AGAIN), if failed => {}
        }
    };
    drop(done);
    leadership.released().await;
    result
}

/// What the watches have seen, and who is to be told.
struct Fleet {
    client: Client,
    providers: Cache<Provider>,
    classes: Cache<ProviderClass>,
    moved: Notify,
}

impl Fleet {
    fn new(client: Client) -> Self {
        Self { client, providers: Cache::new(|_| None), classes: Cache::new(|_| None), moved: Notify::new() }
    }

    fn watch(self: &Arc<Self>, vigil: &Vigil) -> JoinSet<()> {
        let mut watches = JoinSet::new();
        watches.spawn(self.clone().follow(vigil.clone(), |fleet| &fleet.providers));
        watches.spawn(self.clone().follow(vigil.clone(), |fleet| &fleet.classes));
        watches
    }

    async fn synced(&self) {
        self.providers.synced().await;
        self.classes.synced().await;
    }

    /// Fills a cache for ever.
    async fn follow<K>(self: Arc<Self>, vigil: Vigil, cache: impl Fn(&Self) -> &Cache<K>)
    where
        K: Resource<DynamicType = ()> + Clone + Debug + DeserializeOwned + Send + 'static,
    {
        let api = Api::<K>::all(self.client.clone());
        let attended = vigil.attend(api.resource_url());
        let events = watcher(api, watcher::Config::default()).default_backoff();
        let mut events = std::pin::pin!(events.modify(|object| object.meta_mut().managed_fields = None));
        loop {
            match events.try_next().await {
                Ok(Some(event)) => {
                    if !cache(&self).handle(event).is_empty() {
                        self.moved.notify_one();
                    }
                }
                Ok(None) => return,
                Err(error) => attended.failed(&error),
            }
        }
    }

    /// Writes the status of each class that differs from what it should be, as long as this replica leads. Whether all that
    /// was due was written.
    async fn report(&self, until: &Until) -> bool {
        let providers = self.providers.all();
        let mut of_class: HashMap<&str, Vec<&Provider>> = HashMap::new();
        for provider in &providers {
            of_class.entry(&provider.spec.provider_class_ref.name).or_default().push(provider);
        }
        let mut all = true;
        for class in self.classes.all() {
            let mut members = of_class.remove(class.name_any().as_str()).unwrap_or_default();
            members.sort_by_key(|p| (p.namespace(), p.name_any()));
            all &= until.leads() && self.report_class(&class, &members).await;
        }
        all
    }

    async fn report_class(&self, class: &ProviderClass, members: &[&Provider]) -> bool {
        let wanted = sum::sum(class, members, Utc::now());
        if class.metadata.deletion_timestamp.is_some() || class.status.as_ref() == Some(&wanted) {
            return true;
        }
        let name = class.name_any();
        let body = json!({
            "apiVersion": ProviderClass::api_version(&()),
            "kind": ProviderClass::kind(&()),
            // what was summed up is this state of the class, and no later one
            "metadata": { "name": name, "resourceVersion": class.metadata.resource_version },
            "status": wanted,
        });
        let api: Api<ProviderClass> = Api::all(self.client.clone());
        let send = PatchParams::apply(names::MANAGER_CONTROLLER).force();
        match bounded("report the fleet", api.patch_status(&name, &send, &Patch::Apply(&body))).await {
            Ok(mut answer) => {
                answer.metadata.managed_fields = None;
                self.classes.put(answer);
                true
            }
            // the watch has not told yet what the API server knows; it will
            Err(refusal) if matches!(refusal.fault, Fault::NotFound | Fault::Conflict) => true,
            Err(refusal) => {
                tracing::warn!(class = name, error = refusal.words, "the status of a class was not written");
                false
            }
        }
    }
}
