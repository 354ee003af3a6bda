//! Raw objects and manifests to an [`Observation`]. Pure: what is read here was fetched by [`look`](super::look).
use super::crd::{Backend, Provider, ProviderClass};
use super::diff::{diff, unchangeable};
use super::manifests::{Manifest, names};
use super::{rollout, stamp};
use crate::fsm::{
    Cause, Class, ClassRef, Deletion, Fence, Halt, Made, ObjectRef, Observation, Part, Paused, Phase, Place, Reason,
    Sight, Stray, Wanted, WorkloadStatus,
};
use chrono::{DateTime, Utc};
use k8s_openapi::api::core::v1::Pod;
use kube::ResourceExt;
use kube::api::DynamicObject;
use std::sync::Arc;

/// One of the five kinds of object, as it was seen.
#[derive(Clone, Debug)]
pub struct Found {
    /// Its address.
    pub object: ObjectRef,
    /// The object.
    pub raw: Arc<DynamicObject>,
}

/// Everything that was looked at.
#[derive(Clone, Debug)]
pub struct Raw {
    /// The Provider.
    pub provider: Arc<Provider>,
    /// Its class, where there is one.
    pub class: Option<Arc<ProviderClass>>,
    /// The objects at the wanted addresses, whoever's they are, and every object that carries this Provider's stamp.
    pub found: Vec<Found>,
    /// The pods that carry this Provider's label.
    pub pods: Vec<Arc<Pod>>,
    /// The worst of the namespaces that are needed.
    pub place: Place,
    /// Whether the operator is fenced in.
    pub fence: Fence,
    /// What last stopped the executor.
    pub halt: Option<Halt>,
}

/// What the class, with the Provider, can be made into.
pub fn class_of(provider: &Provider, class: Option<&ProviderClass>) -> Class {
    let Some(class) = class else { return Class::Absent };
    let backend = class.spec.backend;
    if !backend.compiled() {
        let there: Vec<_> = Backend::all_compiled().map(Backend::as_str).collect();
        let built = if there.is_empty() { "none".to_owned() } else { there.join(", ") };
        return Class::NotCompiled(format!(
            "class {} is for {backend}, which this operator was built without (it has: {built})",
            class.name_any()
        ));
    }
    let scheme = provider.spec.connection.endpoint.split("://").next().unwrap_or_default().to_ascii_lowercase();
    if !backend.schemes().contains(&scheme.as_str()) {
        return Class::EndpointInvalid(format!(
            "class {} is for {backend}, whose endpoints begin with {}://, not {scheme}://",
            class.name_any(),
            backend.schemes().join("://, ")
        ));
    }
    Class::Usable
}

/// From what was looked at and what is wanted to everything a decision may depend on. `wanted` is empty where the class
/// cannot be used and while the Provider is being deleted: then everything of ours is a stray.
pub fn observe(raw: &Raw, wanted: &[Manifest], now: DateTime<Utc>) -> Observation {
    let provider = &*raw.provider;
    let uid = provider.metadata.uid.as_deref().unwrap_or_default();
    let mine = |f: &&Found| stamp::uid(&f.raw.metadata) == Some(uid);
    let at = |object: &ObjectRef| raw.found.iter().find(|f| f.object == *object);
    let seen: Vec<Wanted> = wanted
        .iter()
        .map(|m| Wanted {
            object: m.object.clone(),
            sight: at(&m.object).map_or(Sight::Absent, |f| sight(provider, m, f)),
        })
        .collect();
    let strays: Vec<Stray> = raw
        .found
        .iter()
        .filter(mine)
        .filter(|f| !wanted.iter().any(|m| m.object == f.object))
        .map(|f| Stray {
            object: f.object.clone(),
            uid: f.raw.uid().unwrap_or_default(),
            owned: f.raw.owner_references().iter().any(|o| o.uid == uid),
            terminating: f.raw.metadata.deletion_timestamp.is_some(),
        })
        .collect();
    let deployment = wanted.iter().find(|m| m.object.part == Part::Deployment);
    let live = deployment.and_then(|m| at(&m.object)).filter(|f| mine(f));
    let recorded = provider.status.as_ref().and_then(|s| s.workload.as_ref());
    let made = made(raw, deployment);
    Observation {
        generation: provider.metadata.generation.unwrap_or_default(),
        deletion: deletion(provider),
        finalizer: provider.finalizers().iter().any(|f| f == names::FINALIZER),
        paused: paused(provider, raw.class.as_deref()),
        class: class_of(provider, raw.class.as_deref()),
        place: raw.place.clone(),
        fence: raw.fence,
        cause: cause(recorded, &seen, &strays, &made.class, wanted, raw),
        old_pods: old_pods(raw, &strays, deployment, now),
        rollout: live.map(|f| rollout::told_once(rollout::read(&f.raw, &raw.pods, now), recorded)).unwrap_or_default(),
        replicas: Some(
            raw.class
                .as_ref()
                .and_then(|c| c.spec.replicas)
                .or_else(|| live.and_then(|f| rollout::wanted_replicas(&f.raw)))
                .unwrap_or(1),
        ),
        ready_replicas: Some(live.map_or(0, |f| rollout::ready_replicas(&f.raw))),
        wanted: seen,
        strays,
        halt: raw.halt.clone(),
        made,
    }
}

fn sight(provider: &Provider, manifest: &Manifest, found: &Found) -> Sight {
    let meta = &found.raw.metadata;
    let ours = stamp::uid(meta) == provider.metadata.uid.as_deref();
    if !ours {
        let earlier = stamp::provider(meta) == Some((&provider.namespace().unwrap_or_default(), &provider.name_any()));
        return if stamp::uid(meta).is_some() && earlier { Sight::Earlier } else { Sight::Foreign };
    }
    if meta.deletion_timestamp.is_some() {
        return Sight::Terminating;
    }
    let fields = diff(&manifest.body, &stamp::whole(&found.raw));
    match fields {
        fields if fields.is_empty() => Sight::Matching,
        fields if fields.iter().any(|f| unchangeable(f)) => {
            Sight::Unchangeable { uid: found.raw.uid().unwrap_or_default(), fields }
        }
        fields => Sight::Drifted(fields),
    }
}

fn deletion(provider: &Provider) -> Deletion {
    match (&provider.metadata.deletion_timestamp, provider.finalizers().iter().any(|f| f == "orphan")) {
        (None, _) => Deletion::No,
        (Some(_), true) => Deletion::Orphaning,
        (Some(_), false) => Deletion::Requested,
    }
}

fn paused(provider: &Provider, class: Option<&ProviderClass>) -> Paused {
    match (provider.spec.paused, class.is_some_and(|c| c.spec.paused)) {
        (true, _) => Paused::ByProvider,
        (false, true) => Paused::ByClass,
        (false, false) => Paused::No,
    }
}

fn made(raw: &Raw, deployment: Option<&Manifest>) -> Made {
    Made {
        class: ClassRef {
            name: raw.provider.spec.provider_class_ref.name.clone(),
            generation: raw.class.as_ref().and_then(|c| c.metadata.generation),
        },
        image: raw.class.as_ref().map(|c| c.spec.image.reference()),
        namespace: deployment.and_then(|m| m.object.namespace.clone()),
        deployment: deployment.map(|m| m.object.name.clone()),
    }
}

/// Why the wanted objects differ, told from what the status last said and from the hash that each object carries.
fn cause(
    recorded: Option<&WorkloadStatus>,
    seen: &[Wanted],
    strays: &[Stray],
    class: &ClassRef,
    wanted: &[Manifest],
    raw: &Raw,
) -> Cause {
    let Some(recorded) = recorded else { return Cause::Creating };
    let missing = |w: &Wanted| matches!(w.sight, Sight::Absent | Sight::Earlier);
    let unfinished = recorded.phase == Phase::Pending && seen.iter().any(missing);
    // a move finds nothing where it goes, and what is to go where it comes from
    let nothing = seen.iter().all(missing) && strays.is_empty();
    if unfinished || recorded.reason == Some(Reason::Creating) || nothing {
        return Cause::Creating;
    }
    // a change that takes several plans stays what it was at the first: by then the status tells the new class
    if recorded.provider_class.as_ref() != Some(class) || recorded.reason == Some(Reason::ClassChanged) {
        return Cause::ClassChanged;
    }
    // a Deployment whose account was made anew is to roll, but nobody wants anything else
    let same_account = |f: &Found, m: &Manifest| {
        let account = |body: &serde_json::Value| {
            body["spec"]["template"]["metadata"]["annotations"][names::SERVICE_ACCOUNT_UID].clone()
        };
        account(&f.raw.data) == account(&m.body)
    };
    let changed = |f: &Found, m: &Manifest| stamp::hash(&f.raw.metadata) != stamp::wanted_hash(&m.body);
    let wants_changed =
        raw.found.iter().any(|f| wanted.iter().any(|m| m.object == f.object && changed(f, m) && same_account(f, m)));
    let told = recorded.observed_generation == raw.provider.metadata.generation;
    if !told || wants_changed || recorded.reason == Some(Reason::SpecChanged) {
        return Cause::SpecChanged;
    }
    Cause::Drift
}

/// Pods whose Deployment is gone or going: those outside the wanted Deployment's place or of another backend; while
/// deleting, those of a Deployment that garbage collection does not reach.
fn old_pods(raw: &Raw, strays: &[Stray], deployment: Option<&Manifest>, now: DateTime<Utc>) -> Vec<String> {
    let label = |pod: &Pod| pod.labels().get(names::BACKEND).cloned();
    let expected = |pod: &Pod| match deployment {
        Some(m) => {
            pod.namespace() == m.object.namespace
                && label(pod).as_deref() == m.body["metadata"]["labels"][names::BACKEND].as_str()
        }
        None => {
            strays.iter().any(|s| s.object.part == Part::Deployment && s.owned && s.object.namespace == pod.namespace())
        }
    };
    let mut names: Vec<String> = raw
        .pods
        .iter()
        .filter(|pod| !expected(pod) && !rollout::gone(pod, now))
        .map(|pod| format!("{}/{}", pod.namespace().unwrap_or_default(), pod.name_any()))
        .collect();
    names.sort();
    names
}
