//! Waiting for conditions: each wait watches one object, has a limit, and shows the last it saw when it gives up.
use anyhow::{Result, bail};
use futures::StreamExt;
use kube::runtime::{WatchStreamExt, watcher};
use kube::{Api, Resource};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::fmt::Debug;
use std::time::Duration;

/// Any kind of object.
pub trait Object: Resource<DynamicType = ()> + Clone + Debug + DeserializeOwned + Serialize + Send + 'static {}
impl<K: Resource<DynamicType = ()> + Clone + Debug + DeserializeOwned + Serialize + Send + 'static> Object for K {}

/// Follows one object until `decide` answers, and gives the last state seen where it does not within `limit`.
async fn follow<K: Object, T>(
    api: &Api<K>,
    name: &str,
    limit: Duration,
    mut decide: impl FnMut(Option<&K>) -> Option<T>,
) -> Result<T, Option<K>> {
    let mut last = None;
    let seen = async {
        let mut states = std::pin::pin!(watcher::watch_object(api.clone(), name).default_backoff());
        while let Some(state) = states.next().await {
            let Ok(state) = state else { continue };
            last = state;
            if let Some(answer) = decide(last.as_ref()) {
                return Some(answer);
            }
        }
        None
    };
    match tokio::time::timeout(limit, seen).await {
        Ok(Some(answer)) => Ok(answer),
        _ => Err(last),
    }
}

/// Waits until the object is there and `check` holds, and returns it so.
pub async fn see<K: Object>(
    api: &Api<K>,
    name: &str,
    what: &str,
    limit: Duration,
    check: impl Fn(&K) -> bool,
) -> Result<K> {
    match follow(api, name, limit, |state| state.filter(|o| check(o)).cloned()).await {
        Ok(object) => Ok(object),
        Err(last) => bail!(
            "{} {name}: \"{what}\" not seen within {} s; last seen:\n{}",
            kind::<K>(),
            limit.as_secs(),
            show(&last)
        ),
    }
}

/// Waits until the object is not there.
pub async fn gone<K: Object>(api: &Api<K>, name: &str, limit: Duration) -> Result<()> {
    match follow(api, name, limit, |state| state.is_none().then_some(())).await {
        Ok(()) => Ok(()),
        Err(last) => bail!("{} {name}: still there after {} s:\n{}", kind::<K>(), limit.as_secs(), show(&last)),
    }
}

/// Watches for all of `span`, and fails as soon as `fault` holds of the object or it is gone.
pub async fn never<K: Object>(
    api: &Api<K>,
    name: &str,
    what: &str,
    span: Duration,
    fault: impl Fn(&K) -> bool,
) -> Result<()> {
    match follow(api, name, span, |state| match state {
        Some(object) => fault(object).then(|| show(&Some(object))),
        None => Some("gone".into()),
    })
    .await
    {
        Ok(found) => bail!("{} {name}: {what}:\n{found}", kind::<K>()),
        Err(Some(_)) => Ok(()),
        Err(None) => bail!("{} {name}: it was never seen", kind::<K>()),
    }
}

fn kind<K: Object>() -> String {
    K::kind(&()).into_owned()
}

/// An object as a person reads it: without the book-keeping of its fields, and not endless.
pub fn show<K: Serialize>(object: &Option<K>) -> String {
    let Some(object) = object else { return "nothing".into() };
    let mut value = serde_json::to_value(object).unwrap_or_default();
    if let Some(metadata) = value.pointer_mut("/metadata").and_then(|m| m.as_object_mut()) {
        metadata.remove("managedFields");
    }
    let text = serde_json::to_string_pretty(&value).unwrap_or_default();
    text.chars().take(6000).collect()
}
