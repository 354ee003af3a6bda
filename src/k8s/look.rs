//! Reading the world: caches while a Provider lives, live reads where a decision must not rest on a cache.
use super::crd::Backend;
use super::known::Known;
use super::manifests::names;
use super::observe::{Found, Raw};
use super::operator::Operator;
use super::refusal::bounded;
use super::{kinds, stamp};
use crate::effects::Refusal;
use crate::fsm::{Fault, Halt, ObjectRef, Part, Place, Reason};
use crate::k8s::crd::{Provider, ProviderClass};
use futures::stream::{self, StreamExt, TryStreamExt};
use k8s_openapi::api::core::v1::{Namespace, Pod};
use kube::ResourceExt;
use kube::api::{Api, DynamicObject, ListParams};
use std::collections::BTreeSet;
use std::sync::Arc;

/// How many live reads of one Provider are under way at once.
const READS: usize = 8;

/// Looks at everything that a decision about this Provider may depend on.
pub async fn look(operator: &Operator, provider: Arc<Provider>, halt: Option<Halt>) -> Result<Raw, Refusal> {
    let class = class(operator, &provider).await?;
    let deleting = provider.metadata.deletion_timestamp.is_some();
    let (found, pods) = if deleting {
        (everything(operator, &provider, class.as_deref()).await?, pods_now(operator, &provider).await?)
    } else {
        let uid = provider.uid().unwrap_or_default();
        (known(operator, &provider, class.as_deref(), halt.as_ref()).await?, operator.caches.pods.indexed(&uid))
    };
    let place = if deleting { Place::There } else { place(operator, &provider, class.as_deref()).await? };
    let fence = operator.fence.state(&operator.client, &provider).await;
    Ok(Raw { provider, class, found, pods, place, fence, halt })
}

/// The class. One that is not there is read live before that is told: the watches of a Provider and of a class that were
/// made together may tell of the Provider first.
async fn class(operator: &Operator, provider: &Provider) -> Result<Option<Arc<ProviderClass>>, Refusal> {
    let name = &provider.spec.provider_class_ref.name;
    if let Some(known) = operator.caches.classes.get("", name) {
        return Ok(Some(known));
    }
    let api = Api::<ProviderClass>::all(operator.client.clone());
    Ok(bounded(&format!("read ProviderClass {name}"), api.get_opt(name)).await?.map(Arc::new))
}

/// What the caches know. What they do not know is read live where something of another hand may stand there: after a
/// conflict, while one lasts, and before a move takes anything down.
async fn known(
    operator: &Operator,
    provider: &Provider,
    class: Option<&ProviderClass>,
    halt: Option<&Halt>,
) -> Result<Vec<Found>, Refusal> {
    let Known { mut found, unknown } = Known::of(&operator.caches, &operator.identity.namespace, provider, class);
    let recorded = provider.status.as_ref().and_then(|s| s.workload.as_ref()).and_then(|w| w.reason);
    let conflict = halt.is_some_and(|h| h.fault == Fault::Conflict) || recorded == Some(Reason::NameConflict);
    let missing = unknown.iter().any(|o| o.part == Part::Deployment);
    let moving = missing && found.iter().any(|f| f.object.part == Part::Deployment);
    if conflict || moving {
        found.extend(read(operator, unknown).await?);
    }
    Ok(found)
}

/// While deleting: everything of ours, live. A list by our label finds what still carries it; reading every name we
/// could have used finds what lost it.
async fn everything(
    operator: &Operator,
    provider: &Provider,
    class: Option<&ProviderClass>,
) -> Result<Vec<Found>, Refusal> {
    let uid = provider.uid().unwrap_or_default();
    let labelled = ListParams::default().labels(&format!("{}={uid}", names::PROVIDER_UID));
    let mut found: Vec<Found> = Vec::new();
    for part in Part::ALL {
        let list = bounded("list what is left", kinds::everywhere(&operator.client, part).list(&labelled)).await?;
        found
            .extend(list.items.into_iter().map(|raw| Found { object: kinds::address(part, &raw), raw: Arc::new(raw) }));
    }
    // the last thing before the finalizer is released: as long as anything is known to be left, that is enough to know
    if found.iter().any(|f| f.raw.owner_references().iter().all(|o| o.uid != uid)) {
        return Ok(found);
    }
    let (home, name) = (provider.namespace().unwrap_or_default(), provider.name_any());
    let recorded = provider.status.as_ref().and_then(|s| s.workload.as_ref()).and_then(|w| w.namespace.clone());
    let places: BTreeSet<String> =
        [Some(home.clone()), class.and_then(|c| c.spec.workload_namespace.clone()), recorded]
            .into_iter()
            .flatten()
            .collect();
    let mut unread = BTreeSet::new();
    for name in Backend::ALL.into_iter().flat_map(|b| [names::own(b, &home, &name), names::hashed(b, &home, &name)]) {
        for part in Part::ALL {
            let at = |namespace| ObjectRef { part, namespace, name: name.clone() };
            match part {
                Part::ClusterRoleBinding => unread.extend([at(None)]),
                _ => unread.extend(places.iter().map(|p| at(Some(p.clone())))),
            }
        }
    }
    let unread = unread.into_iter().filter(|o| found.iter().all(|f| f.object != *o)).collect();
    // a foreign object of such a name counts as gone
    found.extend(read(operator, unread).await?.into_iter().filter(|f| stamp::uid(&f.raw.metadata) == Some(&uid)));
    Ok(found)
}

async fn read(operator: &Operator, objects: Vec<ObjectRef>) -> Result<Vec<Found>, Refusal> {
    let reads = objects.into_iter().map(|object| async move {
        let api: Api<DynamicObject> = kinds::api(&operator.client, &object);
        let raw = bounded(&format!("read {object}"), api.get_opt(&object.name)).await?;
        Ok(raw.map(|raw| Found { object, raw: Arc::new(raw) }))
    });
    let found: Vec<Option<Found>> = stream::iter(reads).buffer_unordered(READS).try_collect().await?;
    Ok(found.into_iter().flatten().collect())
}

async fn pods_now(operator: &Operator, provider: &Provider) -> Result<Vec<Arc<Pod>>, Refusal> {
    let ours = ListParams::default().labels(&format!("{}={}", names::PROVIDER_UID, provider.uid().unwrap_or_default()));
    let list = bounded("list pods", Api::all(operator.client.clone()).list(&ours)).await?;
    Ok(list.items.into_iter().map(Arc::new).collect())
}

/// The worse of the Provider's namespace and the workload's. The Provider's own is there, as the Provider is; another that
/// is not there is read live before that is told.
async fn place(operator: &Operator, provider: &Provider, class: Option<&ProviderClass>) -> Result<Place, Refusal> {
    let home = provider.namespace().unwrap_or_default();
    let terminating = |name: &str| {
        let known = operator.caches.namespaces.get("", name);
        known.is_some_and(|namespace| namespace.metadata.deletion_timestamp.is_some())
    };
    if let Some(away) = class.and_then(|c| c.spec.workload_namespace.clone()) {
        if operator.caches.namespaces.get("", &away).is_none() {
            let api = Api::<Namespace>::all(operator.client.clone());
            if bounded(&format!("read Namespace {away}"), api.get_metadata_opt(&away)).await?.is_none() {
                return Ok(Place::Missing(away));
            }
        }
        if terminating(&away) {
            return Ok(Place::Terminating(away));
        }
    }
    Ok(if terminating(&home) { Place::Terminating(home) } else { Place::There })
}
