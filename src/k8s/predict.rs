//! What the operator would do, by its own functions: `step` on its own predicted outcome until nothing is owed.
use super::caches::Caches;
use super::crd::{Provider, ProviderClass};
use super::diff::diff;
use super::files::applied;
use super::kinds;
use super::known::{Known, addresses};
use super::manifests::{Manifest, names};
use super::observe::{Raw, observe};
use super::reconcile::wanted;
use super::refusal::bounded;
use crate::effects::Refusal;
use crate::fsm::{Effect, Fault, Fence, ObjectRef, Part, Place, Plan, Sight, step};
use chrono::{DateTime, Utc};
use k8s_openapi::api::core::v1::{Namespace, Pod};
use kube::api::{Api, DynamicObject, ListParams};
use kube::{Client, ResourceExt};
use serde_json::json;
use std::sync::Arc;

/// How many rounds a prediction may take.
const ROUNDS: usize = 16;
/// What stands for a uid that the API server has yet to give.
pub(super) const UNKNOWN: &str = "known after the create";

/// One round: the plan, and in which fields each object differs.
#[derive(Debug)]
pub struct Round {
    /// What `step` decided.
    pub plan: Plan,
    /// The objects that would be changed, and their fields.
    pub fields: Vec<(ObjectRef, Vec<String>)>,
    /// The wanted objects' addresses, by part.
    pub objects: Vec<ObjectRef>,
}

/// The rounds until nothing is owed, from what the caches hold. They are changed by the prediction.
pub fn rounds(
    caches: &Caches,
    install_namespace: &str,
    mut provider: Provider,
    now: DateTime<Utc>,
) -> Result<Vec<Round>, Refusal> {
    let mut rounds = Vec::new();
    while rounds.len() < ROUNDS {
        let class = caches.classes.get("", &provider.spec.provider_class_ref.name);
        let found = Known::of(caches, install_namespace, &provider, class.as_deref()).found;
        let pods = caches.pods.indexed(&provider.uid().unwrap_or_default());
        let place = place(caches, class.as_deref());
        let (fence, halt) = (Fence::Closed, None);
        let raw = Raw { provider: Arc::new(provider.clone()), class, found, pods, place, fence, halt };
        let manifests = wanted(&raw, install_namespace)?;
        let seen = observe(&raw, &manifests, now);
        let recorded = provider.status.as_ref().and_then(|s| s.workload.as_ref());
        let plan = step(recorded, &seen, now);
        let effects = plan.effects().to_vec();
        let fields = seen.wanted.iter().filter_map(|w| match &w.sight {
            Sight::Drifted(fields) | Sight::Unchangeable { fields, .. } => Some((w.object.clone(), fields.clone())),
            _ => None,
        });
        let fields = fields.collect();
        rounds.push(Round { plan, fields, objects: seen.wanted.into_iter().map(|w| w.object).collect() });
        if effects.is_empty() || !effects.iter().all(|effect| imagine(caches, &mut provider, &manifests, effect)) {
            break;
        }
    }
    Ok(rounds)
}

fn place(caches: &Caches, class: Option<&ProviderClass>) -> Place {
    match class.and_then(|c| c.spec.workload_namespace.clone()) {
        Some(away) if caches.namespaces.get("", &away).is_none() => Place::Missing(away),
        _ => Place::There,
    }
}

/// Takes an effect as carried out. Returns whether the Provider is still there.
fn imagine(caches: &Caches, provider: &mut Provider, manifests: &[Manifest], effect: &Effect) -> bool {
    match effect {
        Effect::HoldFinalizer => provider.finalizers_mut().push(names::FINALIZER.into()),
        Effect::Apply(part, _) => {
            let manifest = manifests.iter().find(|m| m.object.part == *part);
            if let Some(mut object) = manifest.and_then(|m| serde_json::from_value(m.body.clone()).ok()) {
                given(caches, *part, &mut object);
                caches.part(*part).put(object);
            }
        }
        Effect::Delete(doomed) => {
            let namespace = doomed.object.namespace.as_deref().unwrap_or("");
            caches.part(doomed.object.part).forget(namespace, &doomed.object.name, &doomed.uid);
            if doomed.object.part == Part::Deployment {
                for pod in caches.pods.indexed(&provider.uid().unwrap_or_default()) {
                    caches.pods.forget(namespace, &pod.name_any(), &pod.uid().unwrap_or_default());
                }
            }
        }
        Effect::Announce(_) => {}
        Effect::ReportWorkload(status) => {
            provider.status.get_or_insert_default().workload = Some((**status).clone());
        }
        Effect::ReleaseFinalizer => return false,
    }
    true
}

/// What the API server gives an object: the uid it had, or one that is not known yet, and a generation for each spec. What a
/// controller said of an earlier generation stays, and is out of date by it.
fn given(caches: &Caches, part: Part, object: &mut DynamicObject) {
    let known = caches.part(part).get(&object.namespace().unwrap_or_default(), &object.name_any());
    object.metadata.uid = Some(known.as_ref().and_then(|k| k.uid()).unwrap_or_else(|| UNKNOWN.into()));
    object.metadata.resource_version = known.as_ref().and_then(|k| k.resource_version());
    object.metadata.generation = Some(1);
    if let Some(known) = known {
        let spec = |o: &DynamicObject| json!({ "spec": o.data.get("spec") });
        let changed = !diff(&spec(object), &spec(&known)).is_empty();
        object.metadata.generation = known.metadata.generation.map(|last| last + i64::from(changed));
        if let Some(status) = known.data.get("status") {
            object.data["status"] = status.clone();
        }
    }
}

/// Fills caches with what a prediction for one Provider depends on, by reads alone; `file` is its class as a file has it.
pub async fn read(
    client: &Client,
    install_namespace: &str,
    provider: &Provider,
    file: Option<ProviderClass>,
) -> Result<Arc<Caches>, Refusal> {
    let caches = Caches::new();
    let uid = provider.uid().unwrap_or_default();
    let ours = ListParams::default().labels(&format!("{}={uid}", names::PROVIDER_UID));
    let name = &provider.spec.provider_class_ref.name;
    let class = bounded("read the class", Api::<ProviderClass>::all(client.clone()).get_opt(name)).await?;
    let class = match (class, file) {
        (Some(live), Some(file)) => Some(applied(live, file)),
        (live, file) => live.or(file),
    };
    if let Some(class) = class {
        caches.classes.put(class);
    }
    let class = caches.classes.get("", name);
    for part in Part::ALL {
        let list = bounded("list the objects", kinds::everywhere(client, part).list(&ours)).await?;
        list.items.into_iter().for_each(|object| caches.part(part).put(object));
    }
    for object in addresses(install_namespace, provider, class.as_deref()) {
        if let Some(there) = bounded("read an object", kinds::api(client, &object).get_opt(&object.name)).await? {
            caches.part(object.part).put(there);
        }
    }
    let pods = bounded("list pods", Api::<Pod>::all(client.clone()).list(&ours)).await?;
    pods.items.into_iter().for_each(|pod| caches.pods.put(pod));
    if let Some(away) = class.and_then(|c| c.spec.workload_namespace.clone()) {
        let api = Api::<Namespace>::all(client.clone());
        if let Some(there) = bounded("read the namespace", api.get_metadata_opt(&away)).await? {
            caches.namespaces.put(there);
        }
    }
    Ok(caches)
}

/// Reads one Provider.
pub async fn provider(client: &Client, namespace: &str, name: &str) -> Result<Option<Provider>, Refusal> {
    match bounded("read the Provider", Api::namespaced(client.clone(), namespace).get_opt(name)).await {
        // a bare 404 in place of one that names the object: the path is not served
        Err(refusal) if refusal.fault == Fault::NotFound => {
            let words = "this API server has no kind Provider (banlieue.io/v1alpha1); `banlieue bootstrap operator` installs it";
            Err(Refusal { words: words.into(), ..refusal })
        }
        read => read,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::k8s::files::{from_files, typed};

    fn file(kind: &str, name: &str, spec: serde_json::Value) -> DynamicObject {
        let metadata = json!({ "name": name });
        let object = json!({ "apiVersion": "banlieue.io/v1alpha1", "kind": kind, "metadata": metadata, "spec": spec });
        serde_json::from_value(object).expect("an object")
    }

    #[test]
    fn two_providers_of_one_file_do_not_meet() {
        let spec = json!({
            "providerClassRef": { "name": "c" },
            "connection": { "endpoint": "https://x", "credentialsRef": { "name": "s" } },
        });
        let class = json!({ "backend": "vsphere", "image": { "repository": "r", "tag": "t" } });
        let files = vec![
            file("ProviderClass", "c", class),
            file("Provider", "one", spec.clone()),
            file("Provider", "two", spec),
        ];
        let (caches, providers) = from_files(files, "default").expect("read");
        for provider in providers {
            let rounds = rounds(&caches, "banlieue-system", provider, DateTime::UNIX_EPOCH).expect("planned");
            let effects = || rounds.iter().flat_map(|r| r.plan.effects());
            assert_eq!(effects().filter(|e| matches!(e, Effect::Apply(..))).count(), 5);
            assert_eq!(effects().filter(|e| matches!(e, Effect::Delete(_))).count(), 0);
            assert!(rounds.last().is_some_and(|r| r.plan.effects().is_empty()), "it comes to rest");
        }
    }

    /// A class edit rolls the Deployment: what its controller said of the old one is no word on the new one.
    #[test]
    fn a_change_is_not_taken_for_its_rollout() {
        let spec = json!({
            "providerClassRef": { "name": "c" },
            "connection": { "endpoint": "https://x", "credentialsRef": { "name": "s" } },
        });
        let class = |tag: &str| {
            let spec = json!({ "backend": "vsphere", "image": { "repository": "r", "tag": tag } });
            typed(&file("ProviderClass", "c", spec)).expect("a class")
        };
        let files = vec![file("Provider", "p", spec)];
        let (caches, mut providers) = from_files(files, "default").expect("read");
        let mut provider = providers.remove(0);
        caches.classes.put(class("1"));
        let plan = |provider: &Provider| {
            rounds(&caches, "banlieue-system", provider.clone(), DateTime::UNIX_EPOCH).expect("planned")
        };
        let mut reported =
            plan(&provider).into_iter().flat_map(|r| r.plan.effects().to_vec()).filter_map(|e| match e {
                Effect::ReportWorkload(status) => Some(*status),
                _ => None,
            });
        provider.status.get_or_insert_default().workload = reported.next_back();
        provider.finalizers_mut().push(names::FINALIZER.into());
        let mut there = (*caches.part(Part::Deployment).all().remove(0)).clone();
        let counts = json!({ "observedGeneration": 1, "replicas": 1, "updatedReplicas": 1, "availableReplicas": 1 });
        there.data["status"] = counts;
        caches.part(Part::Deployment).put(there);
        assert!(
            plan(&provider).iter().any(|r| r.plan.phase() == crate::fsm::Phase::Ready),
            "it is ready with the first"
        );
        caches.classes.put(class("2"));
        let after = plan(&provider);
        let rests = after.last().expect("a round");
        assert_ne!(rests.plan.phase(), crate::fsm::Phase::Ready, "{after:#?}");
        assert!(rests.plan.effects().is_empty());
    }
}
