//! A static installation: one process that serves every Provider of one backend in one namespace.
use super::{Options, Pod, Probe};
use crate::effects::Refusal;
use crate::k8s::complaint::Complaint;
use crate::k8s::crd::{Provider, ProviderClass};
use crate::k8s::health::Health;
use crate::k8s::refusal::bounded;
use futures::{FutureExt, StreamExt};
use kube::api::ListParams;
use kube::runtime::WatchStreamExt;
use kube::runtime::watcher::{self, Event, watcher};
use kube::{Api, Client, ResourceExt};
use prometheus_client::registry::Registry;
use std::collections::{BTreeMap, BTreeSet};
use std::pin::pin;
use std::time::Duration;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep_until};

/// The check of `/readyz`: the Providers of the namespace are known. Their backends are not its business: one that cannot
/// be reached is no reason to restart what serves the others.
pub const WATCHES: &str = "providers";
/// Classes are not watched: one that appears later, or moves, is seen within this time.
const LOOK: Duration = Duration::from_secs(20);

/// A Provider, told from a later one of its name.
type Key = (String, String);

/// What is served: a task for each Provider.
struct Herd<F> {
    client: Client,
    options: Options,
    probe: F,
    serving: BTreeMap<Key, (oneshot::Sender<()>, JoinHandle<()>)>,
}

/// Serves until `stop` is done; then all logins and Leases are given back. `probe` makes what looks at one backend.
///
/// # Errors
/// When the watch ends, which it does not by itself.
pub async fn serve<P, F>(
    client: Client,
    options: Options,
    probe: F,
    health: Health,
    stop: impl Future<Output = ()> + Send,
) -> anyhow::Result<()>
where
    P: Probe + 'static,
    F: Fn() -> P + Send,
{
    let mut herd = Herd { client: client.clone(), options, probe, serving: BTreeMap::new() };
    let api: Api<Provider> = Api::namespaced(client, &herd.options.namespace);
    let mut events = pin!(watcher(api, watcher::Config::default()).default_backoff());
    let mut stop = pin!(stop.fuse());
    let (mut known, mut listed) = (BTreeMap::new(), BTreeMap::new());
    let mut next = Instant::now();
    let mut trouble = Complaint::default();
    loop {
        tokio::select! {
            event = events.next() => match event {
                Some(Ok(event)) => {
                    if follow(&mut known, &mut listed, event) {
                        health.ready(WATCHES, Ok(()));
                        next = Instant::now();
                    }
                }
                Some(Err(error)) => tracing::warn!(error = crate::k8s::chain(&error), "the watch of Providers failed; it starts again"),
                None => anyhow::bail!("the watch of Providers ended"),
            },
            () = sleep_until(next) => {
                match herd.tend(&known).await {
                    Err(refusal) if trouble.due(&refusal.words, Instant::now().into_std()) => {
                        tracing::warn!(error = refusal.words, "trouble with the API server");
                    }
                    Ok(()) if trouble.over() => tracing::info!("the trouble with the API server is over"),
                    _ => {}
                }
                next = Instant::now() + LOOK;
            }
            () = &mut stop => break,
        }
    }
    herd.keep(&BTreeSet::new()).await;
    Ok(())
}

/// Takes an event in; whether Providers, or their choice of a class, are others now. Their status is written all the time.
fn follow(known: &mut BTreeMap<Key, String>, listed: &mut BTreeMap<Key, String>, event: Event<Provider>) -> bool {
    let entry = |p: Provider| ((p.name_any(), p.uid().unwrap_or_default()), p.spec.provider_class_ref.name);
    match event {
        Event::Apply(provider) => {
            let (key, class) = entry(provider);
            known.insert(key, class.clone()) != Some(class)
        }
        Event::Delete(provider) => known.remove(&entry(provider).0).is_some(),
        Event::Init => {
            listed.clear();
            false
        }
        Event::InitApply(provider) => {
            listed.extend([entry(provider)]);
            false
        }
        Event::InitDone => {
            *known = std::mem::take(listed);
            true
        }
    }
}

impl<P: Probe + 'static, F: Fn() -> P> Herd<F> {
    /// Serves who is to be served, and no longer who is gone. Who moved to a class of another backend stays: its task sees
    /// that by itself, and stands back.
    async fn tend(&mut self, known: &BTreeMap<Key, String>) -> Result<(), Refusal> {
        let api: Api<ProviderClass> = Api::all(self.client.clone());
        let classes = bounded("list ProviderClasses", api.list(&ListParams::default())).await?;
        let ours: BTreeSet<String> =
            classes.iter().filter(|c| c.spec.backend == self.options.backend).map(|c| c.name_any()).collect();
        let wanted = known.iter().filter(|(key, class)| ours.contains(*class) || self.serving.contains_key(*key));
        let wanted: BTreeSet<Key> = wanted.map(|(key, _)| key.clone()).collect();
        self.keep(&wanted).await;
        for key in wanted {
            if !self.serving.contains_key(&key) {
                let started = self.start(&key);
                self.serving.insert(key, started);
            }
        }
        Ok(())
    }

    /// Ends every task but these.
    async fn keep(&mut self, wanted: &BTreeSet<Key>) {
        let going: Vec<Key> = self.serving.keys().filter(|key| !wanted.contains(*key)).cloned().collect();
        let tasks: Vec<_> = going.iter().filter_map(|key| self.serving.remove(key)).collect();
        let ends = tasks.into_iter().map(|(stop, task)| {
            drop(stop);
            task
        });
        for end in futures::future::join_all(ends).await {
            if let Err(panic) = end {
                tracing::error!(error = %panic, "the task of a Provider ended badly");
            }
        }
    }

    fn start(&self, (name, uid): &Key) -> (oneshot::Sender<()>, JoinHandle<()>) {
        let options = Options { provider: name.clone(), provider_uid: Some(uid.clone()), ..self.options.clone() };
        let (health, mut metrics) = (Health::default(), Registry::default());
        let pod = Pod::new(self.client.clone(), options, (self.probe)(), health, &mut metrics);
        let (sender, stopped) = oneshot::channel::<()>();
        tracing::info!(provider = name, "a Provider to serve");
        (sender, tokio::spawn(pod.serve(stopped.map(drop))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn provider(name: &str, uid: &str, class: &str) -> Provider {
        serde_json::from_value(json!({
            "apiVersion": "banlieue.io/v1alpha1", "kind": "Provider", "metadata": {"name": name, "uid": uid},
            "spec": {"providerClassRef": {"name": class},
                "connection": {"endpoint": "https://vcenter", "credentialsRef": {"name": "s"}}},
        }))
        .unwrap()
    }

    #[test]
    fn only_who_there_is_and_of_which_class_counts() {
        let (mut known, mut listed) = (BTreeMap::new(), BTreeMap::new());
        let mut on = |event| follow(&mut known, &mut listed, event);
        assert!(!on(Event::Init));
        assert!(!on(Event::InitApply(provider("a", "1", "c"))));
        assert!(on(Event::InitDone));
        assert!(!on(Event::Apply(provider("a", "1", "c"))), "its status was written");
        assert!(on(Event::Apply(provider("a", "1", "d"))), "another class");
        assert!(on(Event::Apply(provider("a", "2", "d"))), "another Provider of that name");
        assert!(on(Event::Delete(provider("a", "1", "d"))));
        assert!(!on(Event::Delete(provider("a", "1", "d"))));
        // a relist forgets who is gone
        assert!(!on(Event::Init));
        assert!(on(Event::InitDone));
        assert!(known.is_empty());
    }
}
