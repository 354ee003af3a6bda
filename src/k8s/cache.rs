//! [`Cache`]: what a watch has seen, by address and by one index.
//!
//! Own code: the reflector's store has no index, and cannot take in what our own writes answered. Taking it in means
//! that no plan is made from a state older than our own last write, without waiting for the watch.
use kube::runtime::watcher::Event;
use kube::{Resource, ResourceExt};
use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, PoisonError, RwLock};
use tokio::sync::watch;

/// Namespace (empty where there is none) and name.
pub type Key = (String, String);

/// What a watch of `K` has seen. `index` gives the key, such as the Provider's uid, that objects are also found by.
#[derive(Debug)]
pub struct Cache<K> {
    index: fn(&K) -> Option<String>,
    inner: RwLock<Inner<K>>,
    synced: watch::Sender<bool>,
}

#[derive(Debug)]
struct Inner<K> {
    objects: HashMap<Key, Arc<K>>,
    indexed: HashMap<String, BTreeSet<Key>>,
    /// What a relist has told so far.
    relist: Option<HashMap<Key, Arc<K>>>,
}

impl<K: Resource + Clone> Cache<K> {
    /// An empty cache.
    pub fn new(index: fn(&K) -> Option<String>) -> Self {
        let inner = Inner { objects: HashMap::new(), indexed: HashMap::new(), relist: None };
        Self { index, inner: RwLock::new(inner), synced: watch::Sender::new(false) }
    }

    /// Returns once the first list is complete.
    pub async fn synced(&self) {
        // the sender lives in self, so waiting cannot fail
        let _ = self.synced.subscribe().wait_for(|synced| *synced).await;
    }

    /// The object at this address.
    pub fn get(&self, namespace: &str, name: &str) -> Option<Arc<K>> {
        self.read(|inner| inner.objects.get(&(namespace.to_owned(), name.to_owned())).cloned())
    }

    /// The objects with this index key, in order of their addresses.
    pub fn indexed(&self, index: &str) -> Vec<Arc<K>> {
        self.read(|inner| {
            let keys = inner.indexed.get(index).into_iter().flatten();
            keys.filter_map(|key| inner.objects.get(key).cloned()).collect()
        })
    }

    /// Every object.
    pub fn all(&self) -> Vec<Arc<K>> {
        self.read(|inner| inner.objects.values().cloned().collect())
    }

    /// Takes a watch event in, and tells which objects it touched: after a relist also those that vanished unseen, for
    /// whose end no event ever came.
    pub fn handle(&self, event: Event<K>) -> Vec<Arc<K>> {
        self.write(|inner| match event {
            Event::Apply(object) => self.insert(inner, object),
            Event::Delete(object) => {
                let key = key(&object);
                // a delete of an older object of this name tells nothing about the one we know
                let same = inner.objects.get(&key).is_none_or(|known| known.uid() == object.uid());
                if same {
                    self.remove(inner, &key);
                }
                vec![Arc::new(object)]
            }
            Event::Init => {
                inner.relist = Some(HashMap::new());
                vec![]
            }
            Event::InitApply(object) => {
                inner.relist.get_or_insert_default().insert(key(&object), Arc::new(object));
                vec![]
            }
            Event::InitDone => {
                let listed = inner.relist.take().unwrap_or_default();
                let vanished: Vec<Key> = inner.objects.keys().filter(|k| !listed.contains_key(*k)).cloned().collect();
                let mut touched: Vec<Arc<K>> = vanished.iter().filter_map(|key| self.remove(inner, key)).collect();
                for object in listed.into_values() {
                    touched.extend(self.insert(inner, Arc::unwrap_or_clone(object)));
                }
                self.synced.send_replace(true);
                touched
            }
        })
    }

    /// Takes in what a write of our own answered.
    pub fn put(&self, object: K) {
        self.write(|inner| self.insert(inner, object));
    }

    /// Takes in that a delete of our own has ended the object of this uid.
    pub fn forget(&self, namespace: &str, name: &str, uid: &str) {
        self.write(|inner| {
            let key = (namespace.to_owned(), name.to_owned());
            if inner.objects.get(&key).is_some_and(|known| known.uid().as_deref() == Some(uid)) {
                self.remove(inner, &key);
            }
        });
    }

    fn insert(&self, inner: &mut Inner<K>, object: K) -> Vec<Arc<K>> {
        let key = key(&object);
        if inner.objects.get(&key).is_some_and(|known| revision(known.meta()) > revision(object.meta())) {
            return vec![];
        }
        let mut touched: Vec<Arc<K>> = self.remove(inner, &key).into_iter().collect();
        let object = Arc::new(object);
        if let Some(index) = (self.index)(&object) {
            inner.indexed.entry(index).or_default().insert(key.clone());
        }
        inner.objects.insert(key, object.clone());
        // an object that changed hands touches both
        touched.retain(|old| (self.index)(old) != (self.index)(&object));
        touched.push(object);
        touched
    }

    fn remove(&self, inner: &mut Inner<K>, key: &Key) -> Option<Arc<K>> {
        let old = inner.objects.remove(key)?;
        if let Some(index) = (self.index)(&old)
            && let Some(keys) = inner.indexed.get_mut(&index)
        {
            keys.remove(key);
            if keys.is_empty() {
                inner.indexed.remove(&index);
            }
        }
        Some(old)
    }

    fn read<T>(&self, go: impl FnOnce(&Inner<K>) -> T) -> T {
        go(&self.inner.read().unwrap_or_else(PoisonError::into_inner))
    }

    fn write<T>(&self, go: impl FnOnce(&mut Inner<K>) -> T) -> T {
        go(&mut self.inner.write().unwrap_or_else(PoisonError::into_inner))
    }
}

fn key<K: Resource>(object: &K) -> Key {
    (object.meta().namespace.clone().unwrap_or_default(), object.meta().name.clone().unwrap_or_default())
}

/// Revisions of one resource may be compared as numbers (KEP-5504).
pub(super) fn revision(meta: &kube::api::ObjectMeta) -> u64 {
    meta.resource_version.as_deref().and_then(|v| v.parse().ok()).unwrap_or(0)
}
