//! What the operator made: workloads, finalizers and `status.workload`.
use super::{LOOK, PATIENCE, SILENCE, Scope, Step, Tell, fail, gone};
use crate::fsm::{ObjectRef, Part};
use crate::k8s::bootstrap::Failed;
use crate::k8s::client::Client;
use crate::k8s::crd::{Backend, Provider, ProviderClass};
use crate::k8s::kinds;
use crate::k8s::manifests::names;
use kube::api::{Api, ApiResource, DeleteParams, DynamicObject, ListParams, ObjectMeta, Patch, PatchParams};
use kube::{Resource, ResourceExt};
use serde_json::json;
use std::collections::BTreeSet;
use std::time::{Duration, Instant};

/// How long a kind made just before may not be served yet.
const SERVED: Duration = Duration::from_secs(30);
/// How long a policy may stay in force after it was removed.
const POLICY: Duration = Duration::from_secs(10);

/// The Providers that are concerned: those that carry our finalizer or status; where all goes, all.
pub(super) async fn providers(client: &Client, scope: Scope) -> Result<Vec<DynamicObject>, Failed> {
    let concerned = |p: &DynamicObject| scope == Scope::All || is_held(p) || has_workload(p);
    Ok(list(client, &kind::<Provider>()).await?.into_iter().filter(concerned).collect())
}

/// The Providers of a namespace for which the pods of a static provider spoke.
pub(super) async fn served(client: &Client, namespace: &str, backend: Backend) -> Result<Vec<DynamicObject>, Failed> {
    let all = list(client, &kind::<ProviderClass>()).await?;
    let of_it = all.iter().filter(|class| class.data["spec"]["backend"] == backend.as_str());
    let classes: BTreeSet<_> = of_it.map(ResourceExt::name_any).collect();
    let spoken_for = |p: &DynamicObject| {
        p.namespace().as_deref() == Some(namespace)
            && p.data["spec"]["providerClassRef"]["name"].as_str().is_some_and(|name| classes.contains(name))
            && !p.data["status"]["observedGeneration"].is_null()
            && !has_workload(p)
    };
    Ok(list(client, &kind::<Provider>()).await?.into_iter().filter(spoken_for).collect())
}

fn kind<K: Resource<DynamicType = ()>>() -> ApiResource {
    ApiResource::erase::<K>(&())
}

fn is_held(provider: &DynamicObject) -> bool {
    provider.finalizers().iter().any(|f| f == names::FINALIZER)
}

fn has_workload(provider: &DynamicObject) -> bool {
    !provider.data["status"]["workload"].is_null()
}

/// All objects of a kind of ours, none where the kind is gone. They are read as any object is: one that this version does not
/// understand goes like the others.
async fn list(client: &Client, kind: &ApiResource) -> Result<Vec<DynamicObject>, Failed> {
    let api = kinds::within(client, kind, None);
    let until = Instant::now() + SERVED;
    loop {
        match api.list(&ListParams::default()).await {
            Err(kube::Error::Api(status)) if status.code == 404 => return Ok(vec![]),
            // the kind was made a moment ago
            Err(kube::Error::Api(status)) if status.code == 429 && Instant::now() < until => {
                tokio::time::sleep(LOOK).await;
            }
            answer => return Ok(answer.map_err(|e| Failed::of(&format!("the {}", kind.plural), &e))?.items),
        }
    }
}

/// Removes every object that carries a Provider's stamp, grants first, and waits until none is left.
pub(super) async fn remove(client: &Client, tell: &mut Tell<'_>) -> Result<(), Failed> {
    let stamped = ListParams::default().labels(names::PROVIDER_UID);
    for part in [Part::ClusterRoleBinding, Part::Deployment, Part::RoleBinding, Part::Role, Part::ServiceAccount] {
        let (api, began, mut told) = (kinds::everywhere(client, part), Instant::now(), false);
        loop {
            let what = format!("the {}s of Providers", part.kind());
            let left = api.list_metadata(&stamped).await.map_err(|e| Failed::of(&what, &e))?.items;
            let Some(first) = left.first() else { break };
            if began.elapsed() > SILENCE && !std::mem::replace(&mut told, true) {
                tell(Step::Waiting(format!("{what} to be gone: {} of them, and their pods", left.len())));
            }
            if began.elapsed() > PATIENCE {
                let why = format!("{} is not gone after {} s", first.name_any(), PATIENCE.as_secs());
                return Err(fail(&what, &why, "see what holds it, then run the command again"));
            }
            for object in left {
                let at = address(part, &object.metadata);
                if object.metadata.deletion_timestamp.is_none() {
                    let answer = kinds::api(client, &at).delete(&at.name, &DeleteParams::foreground()).await;
                    passed(&at.to_string(), answer.map(drop))?;
                    tell(Step::Removed(at.to_string()));
                }
            }
            tokio::time::sleep(LOOK).await;
        }
    }
    Ok(())
}

fn address(part: Part, meta: &ObjectMeta) -> ObjectRef {
    ObjectRef { part, namespace: meta.namespace.clone(), name: meta.name.clone().unwrap_or_default() }
}

/// Takes our finalizer off; those of others stay.
pub(super) async fn release(client: &Client, provider: &DynamicObject) -> Result<(), Failed> {
    let (api, name) = api(client, provider);
    let live = api.get_opt(&name).await.map_err(|e| Failed::of(&of(provider), &e))?;
    let Some(live) = live.filter(is_held) else { return Ok(()) };
    let others: Vec<_> = live.finalizers().iter().filter(|f| *f != names::FINALIZER).collect();
    // the version guards the finalizers of others
    let metadata = json!({ "finalizers": others, "resourceVersion": live.resource_version() });
    let patch = Patch::Merge(json!({ "metadata": metadata }));
    passed(&of(provider), api.patch(&name, &PatchParams::default(), &patch).await.map(drop))
}

/// Takes off what was said of a Provider: nobody keeps it true any more. The policy that protects it was removed a moment ago.
pub(super) async fn forget(client: &Client, provider: &DynamicObject) -> Result<(), Failed> {
    let (api, name) = api(client, provider);
    unsay(&api, &name, &of(provider)).await
}

/// The same of every class: who counted its Providers is gone.
pub(super) async fn forget_classes(client: &Client) -> Result<(), Failed> {
    let kind = kind::<ProviderClass>();
    for class in list(client, &kind).await? {
        let name = class.name_any();
        unsay(&kinds::within(client, &kind, None), &name, &format!("ProviderClass {name}")).await?;
    }
    Ok(())
}

async fn unsay(api: &Api<DynamicObject>, name: &str, what: &str) -> Result<(), Failed> {
    let patch = Patch::Merge(json!({ "status": null }));
    let until = Instant::now() + POLICY;
    loop {
        match api.patch_status(name, &PatchParams::default(), &patch).await {
            Err(kube::Error::Api(status)) if status.code == 403 && Instant::now() < until => {
                tokio::time::sleep(LOOK).await;
            }
            answer => return passed(what, answer.map(drop)),
        }
    }
}

/// Deletes the Providers, whose workload is gone, and waits for each: the finalizers of others may hold one, and its kind with it.
pub(super) async fn delete(client: &Client, providers: &[DynamicObject], tell: &mut Tell<'_>) -> Result<(), Failed> {
    for provider in providers {
        let (api, name) = api(client, provider);
        passed(&of(provider), api.delete(&name, &DeleteParams::background()).await.map(drop))?;
    }
    for provider in providers {
        let (api, name) = api(client, provider);
        gone(&api, &name, provider.metadata.uid.as_deref(), &of(provider), tell).await?;
    }
    Ok(())
}

fn api(client: &Client, provider: &DynamicObject) -> (Api<DynamicObject>, String) {
    (kinds::within(client, &kind::<Provider>(), provider.namespace().as_deref()), provider.name_any())
}

fn of(provider: &DynamicObject) -> String {
    format!("Provider {}/{}", provider.namespace().unwrap_or_default(), provider.name_any())
}

/// What is gone by itself is as good.
fn passed(what: &str, answer: kube::Result<()>) -> Result<(), Failed> {
    match answer {
        Err(kube::Error::Api(status)) if status.code == 404 => Ok(()),
        answer => answer.map_err(|e| Failed::of(what, &e)),
    }
}
