//! The orphan sweep: objects whose Provider is gone though its finalizer was never released.
//!
//! It happens: a finalizer patch that the API server accepted can race a DELETE and be lost (design, section 5), and
//! people take finalizers off by hand. A leaked ClusterRoleBinding is a live grant.
use super::crd::Provider;
use super::operator::Operator;
use super::refusal::{PATIENCE, bounded};
use super::{kinds, stamp};
use crate::effects::Refusal;
use crate::fsm::{Fault, ObjectRef, Part};
use crate::k8s::manifests::names;
use kube::api::{Api, DeleteParams, DynamicObject, ListParams, Preconditions};
use kube::core::PartialObjectMeta;
use kube::{Error, ResourceExt};
use std::collections::HashMap;
use std::time::{Duration, Instant};

/// Between two sweeps.
const EVERY: Duration = Duration::from_secs(300);
/// A Provider counts as gone when it was found missing twice, this far apart.
const TWICE: Duration = Duration::from_secs(30);
/// Objects a page.
const PAGE: u32 = 500;

/// Sweeps at once and then every few minutes; again soon where it was stopped or something waits for its second look.
pub async fn run(operator: &Operator) {
    let mut suspects = Suspects::default();
    loop {
        let swept = sweep(operator, &mut suspects).await;
        if let Err(refusal) = &swept {
            operator.metrics.sweeps_stopped.inc();
            tracing::warn!(error = refusal.words, "the orphan sweep stopped");
        }
        let again = swept.is_err() || !suspects.0.is_empty();
        tokio::time::sleep(if again { TWICE } else { EVERY }).await;
    }
}

/// Objects of which the Provider was missing, and since when.
#[derive(Debug, Default)]
struct Suspects(HashMap<String, Instant>);

impl Suspects {
    /// Takes in that the Provider of this object is missing now; whether that was so long enough ago too.
    fn confirmed(&mut self, uid: &str, now: Instant) -> bool {
        now.saturating_duration_since(*self.0.entry(uid.to_owned()).or_insert(now)) >= TWICE
    }
}

async fn sweep(operator: &Operator, suspects: &mut Suspects) -> Result<(), Refusal> {
    let mut seen = HashMap::new();
    for part in Part::ALL {
        let api = kinds::everywhere(&operator.client, part);
        let mut params = ListParams::default().limit(PAGE);
        loop {
            let page = bounded("list for the sweep", api.list_metadata(&params)).await?;
            for object in page.items {
                if let Some(orphan) = orphan(operator, part, &object).await? {
                    let uid = object.uid().unwrap_or_default();
                    let confirmed = suspects.confirmed(&uid, Instant::now());
                    if confirmed && remove(operator, &orphan, &object).await? {
                        continue;
                    }
                    seen.insert(uid.clone(), suspects.0[&uid]);
                }
            }
            match page.metadata.continue_.filter(|token| !token.is_empty()) {
                Some(token) => params = params.continue_token(&token),
                None => break,
            }
        }
    }
    // whose Provider was found after all, or who went by itself, is no suspect any more
    suspects.0 = seen;
    Ok(())
}

/// The address of an object that carries a stamp (what static installs made carries none) of a Provider that is gone.
async fn orphan(
    operator: &Operator,
    part: Part,
    object: &PartialObjectMeta<DynamicObject>,
) -> Result<Option<ObjectRef>, Refusal> {
    let meta = &object.metadata;
    let (Some(uid), Some((namespace, name))) = (stamp::uid(meta), stamp::provider(meta)) else { return Ok(None) };
    if !object.name_any().starts_with(names::PREFIX) || meta.deletion_timestamp.is_some() {
        return Ok(None);
    }
    let known = operator.caches.providers.get(namespace, name);
    if known.is_some_and(|p| p.uid().as_deref() == Some(uid)) || !gone(operator, namespace, name, uid).await? {
        return Ok(None);
    }
    Ok(Some(ObjectRef { part, namespace: meta.namespace.clone(), name: object.name_any() }))
}

/// Whether the API says that this very Provider does not exist. A 404 counts only where it names the Provider: one from
/// a version that is not served, or from a proxy, names nothing, and stops the sweep.
async fn gone(operator: &Operator, namespace: &str, name: &str, uid: &str) -> Result<bool, Refusal> {
    let api: Api<Provider> = Api::namespaced(operator.client.clone(), namespace);
    let words = |why: &str| format!("read Provider {namespace}/{name}: {why}");
    match tokio::time::timeout(PATIENCE, api.get_metadata(name)).await {
        Ok(Ok(provider)) => Ok(provider.uid().as_deref() != Some(uid)),
        Ok(Err(Error::Api(status))) if status.code == 404 => {
            let named = status.details.as_ref().is_some_and(|d| d.kind == "providers" && d.name == name);
            let bare = || Refusal { fault: Fault::NotFound, words: words("a 404 that does not name it") };
            if named { Ok(true) } else { Err(bare()) }
        }
        Ok(Err(error)) => Err(super::refusal::classify(&words("failed"), &error)),
        Err(_) => Err(Refusal { fault: Fault::Transport, words: words("no answer") }),
    }
}

/// Deletes an orphan after a live read, by its uid. Returns whether it is gone.
async fn remove(
    operator: &Operator,
    object: &ObjectRef,
    listed: &PartialObjectMeta<DynamicObject>,
) -> Result<bool, Refusal> {
    let api = kinds::api(&operator.client, object);
    let Some(live) = bounded("read an orphan", api.get_metadata_opt(&object.name)).await? else { return Ok(true) };
    if live.uid() != listed.uid() || stamp::uid(&live.metadata) != stamp::uid(&listed.metadata) {
        return Ok(false);
    }
    let preconditions = Preconditions { uid: live.uid(), resource_version: None };
    let params = DeleteParams { preconditions: Some(preconditions), ..DeleteParams::background() };
    match operator.write(&format!("delete orphan {object}"), api.delete(&object.name, &params)).await {
        Err(refusal) if !matches!(refusal.fault, Fault::NotFound | Fault::Conflict) => Err(refusal),
        _ => {
            operator.metrics.swept(object.part.kind());
            let provider = stamp::provider(&live.metadata).map(|(ns, name)| format!("{ns}/{name}"));
            tracing::info!(target: "banlieue::audit", orphan = %object, provider, uid = stamp::uid(&live.metadata), "removed an orphan");
            Ok(true)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_once_is_not_gone() {
        let (mut suspects, now) = (Suspects::default(), Instant::now());
        assert!(!suspects.confirmed("a", now));
        assert!(!suspects.confirmed("a", now + TWICE / 2));
        assert!(suspects.confirmed("a", now + TWICE));
        assert!(!suspects.confirmed("b", now + TWICE));
    }
}
