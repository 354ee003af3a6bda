//! The operator's watches: each fills a cache and wakes the Providers that an event concerns.
use super::cache::Cache;
use super::crd::{Provider, ProviderClass};
use super::manifests::names;
use super::vigil::{Attended, Vigil};
use super::{kinds, stamp};
use crate::fsm::Part;
use futures::StreamExt;
use k8s_openapi::api::core::v1::{Namespace, Pod};
use kube::api::{Api, DynamicObject, PartialObjectMeta};
use kube::runtime::WatchStreamExt;
use kube::runtime::reflector::ObjectRef;
use kube::runtime::reflector::store::Writer;
use kube::runtime::watcher::{self, watcher};
use kube::{Client, Resource, ResourceExt};
use serde::de::DeserializeOwned;
use std::collections::HashMap;
use std::fmt::Debug;
use std::sync::Arc;
use tokio::sync::mpsc::UnboundedSender;
use tokio::task::JoinSet;

/// A Provider to look at.
pub type Wake = ObjectRef<Provider>;

/// What the operator's watches have seen.
#[derive(Debug)]
pub struct Caches {
    /// Every Provider, also by the name of its class.
    pub providers: Cache<Provider>,
    /// Every class.
    pub classes: Cache<ProviderClass>,
    /// Every namespace, its metadata alone.
    pub namespaces: Cache<PartialObjectMeta<Namespace>>,
    /// The pods of our Deployments, also by the uid of their Provider.
    pub pods: Cache<Pod>,
    parts: HashMap<Part, Cache<DynamicObject>>,
}

impl Caches {
    /// Empty caches.
    pub fn new() -> Arc<Self> {
        Arc::new(Self {
            providers: Cache::new(|p: &Provider| Some(p.spec.provider_class_ref.name.clone())),
            classes: Cache::new(|_| None),
            namespaces: Cache::new(|_| None),
            pods: Cache::new(|p: &Pod| stamp::uid(&p.metadata).map(str::to_owned)),
            parts: Part::ALL
                .into_iter()
                .map(|part| (part, Cache::new(|o: &DynamicObject| stamp::uid(&o.metadata).map(str::to_owned))))
                .collect(),
        })
    }

    /// The objects of one of the five kinds that carry our label.
    pub fn part(&self, part: Part) -> &Cache<DynamicObject> {
        &self.parts[&part]
    }

    /// Returns once every first list is complete: before that, absence means nothing.
    pub async fn synced(&self) {
        for part in Part::ALL {
            self.part(part).synced().await;
        }
        self.providers.synced().await;
        self.classes.synced().await;
        self.namespaces.synced().await;
        self.pods.synced().await;
    }

    /// Starts the watches, which `vigil` attends to. They end with the set. `store` is the work queue's own view of the Providers.
    pub fn watch(
        self: &Arc<Self>,
        client: &Client,
        mut store: Writer<Provider>,
        wake: &UnboundedSender<Wake>,
        vigil: &Vigil,
    ) -> JoinSet<()> {
        let mut watches = JoinSet::new();
        let ours = watcher::Config::default().labels(names::PROVIDER_UID);
        for part in Part::ALL {
            let pick = move |caches: &Caches, event| stamped(caches.part(part).handle(event));
            watches.spawn(self.clone().follow(
                kinds::everywhere(client, part),
                ours.clone(),
                wake.clone(),
                vigil.clone(),
                pick,
            ));
        }
        let pick = |caches: &Caches, event| stamped(caches.pods.handle(event));
        watches.spawn(self.clone().follow(Api::<Pod>::all(client.clone()), ours, wake.clone(), vigil.clone(), pick));
        let every = watcher::Config::default;
        let pick = move |caches: &Caches, event| {
            store.apply_watcher_event(&event);
            caches.providers.handle(event).iter().map(|p| ObjectRef::from_obj(&**p)).collect::<Vec<_>>()
        };
        watches.spawn(self.clone().follow(
            Api::<Provider>::all(client.clone()),
            every(),
            wake.clone(),
            vigil.clone(),
            pick,
        ));
        let pick = |caches: &Caches, event| {
            let classes = caches.classes.handle(event);
            classes.iter().flat_map(|class| caches.of_class(&class.name_any())).collect::<Vec<_>>()
        };
        watches.spawn(self.clone().follow(
            Api::<ProviderClass>::all(client.clone()),
            every(),
            wake.clone(),
            vigil.clone(),
            pick,
        ));
        let pick = |caches: &Caches, event| {
            let namespaces = caches.namespaces.handle(event);
            namespaces.iter().flat_map(|namespace| caches.in_namespace(&namespace.name_any())).collect::<Vec<_>>()
        };
        watches.spawn(self.clone().follow(
            Api::<PartialObjectMeta<Namespace>>::all(client.clone()),
            every(),
            wake.clone(),
            vigil.clone(),
            pick,
        ));
        watches
    }

    /// The Providers of a class, from the index.
    fn of_class(&self, class: &str) -> Vec<Wake> {
        self.providers.indexed(class).iter().map(|p| ObjectRef::from_obj(&**p)).collect()
    }

    /// The Providers that live or run in a namespace.
    fn in_namespace(&self, namespace: &str) -> Vec<Wake> {
        let away = self.classes.all().into_iter().filter(|c| c.spec.workload_namespace.as_deref() == Some(namespace));
        let here = self.providers.all().into_iter().filter(|p| p.namespace().as_deref() == Some(namespace));
        here.map(|p| ObjectRef::from_obj(&*p)).chain(away.flat_map(|c| self.of_class(&c.name_any()))).collect()
    }

    async fn follow<K, F>(
        self: Arc<Self>,
        api: Api<K>,
        config: watcher::Config,
        wake: UnboundedSender<Wake>,
        vigil: Vigil,
        pick: F,
    ) where
        K: Resource + Clone + DeserializeOwned + Debug + Send + 'static,
        F: FnMut(&Caches, watcher::Event<K>) -> Vec<Wake>,
    {
        let attended = vigil.attend(api.resource_url());
        let events = watcher(api, config).default_backoff().modify(prune);
        self.drain(events, wake, attended, pick).await;
    }

    async fn drain<K, F>(
        &self,
        events: impl futures::Stream<Item = watcher::Result<watcher::Event<K>>>,
        wake: UnboundedSender<Wake>,
        attended: Attended,
        mut pick: F,
    ) where
        F: FnMut(&Caches, watcher::Event<K>) -> Vec<Wake>,
    {
        let mut events = std::pin::pin!(events);
        while let Some(event) = events.next().await {
            match event {
                Ok(event) => {
                    for provider in pick(self, event) {
                        // the receiver is gone only when the operator is ending
                        let _ = wake.send(provider);
                    }
                }
                Err(error) => attended.failed(&error),
            }
        }
    }
}

/// What no decision depends on is not kept: it is the larger part of most objects.
fn prune<K: Resource>(object: &mut K) {
    object.meta_mut().managed_fields = None;
}

/// The Providers that these objects were made for, by their annotation.
fn stamped<K: Resource>(objects: Vec<Arc<K>>) -> Vec<Wake> {
    let of = |object: &Arc<K>| {
        let (namespace, name) = stamp::provider(object.meta())?;
        Some(ObjectRef::new(name).within(namespace))
    };
    objects.iter().filter_map(of).collect()
}
