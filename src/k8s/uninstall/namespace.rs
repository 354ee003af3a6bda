//! The operator's namespace: whose it is, and what of others is in it.
use super::{Found, Survey, fail};
use crate::k8s::bootstrap::{self, Failed};
use crate::k8s::client::Client;
use crate::k8s::kinds;
use crate::k8s::manifests::install::Stage;
use crate::k8s::manifests::{labels, names};
use k8s_openapi::api::core::v1::Namespace;
use kube::ResourceExt;
use kube::api::{ApiResource, DynamicObject, ListParams, Patch, PatchParams};
use kube::core::GroupVersionKind;
use serde_json::json;

/// Fails where the namespace of an installation is there, and it is another one. It says so also when operator and controller are
/// gone: what is left of it is not to be removed by a slip of the pen.
pub(super) async fn refuse_another(client: &Client, name: &str) -> Result<(), Failed> {
    let ours = ListParams::default().labels(&labels::of(labels::PLATFORM));
    let all = kinds::within(client, &namespaces(), None)
        .list_metadata(&ours)
        .await
        .map_err(|e| Failed::of("the Namespaces", &e))?;
    let all: Vec<_> = all.iter().map(ResourceExt::name_any).collect();
    match all.first() {
        Some(other) if !all.iter().any(|n| n == name) => {
            let why = format!("banlieue was not installed there: its namespace is {other}");
            Err(fail(&format!("Namespace {name}"), &why, &format!("give --namespace {other}")))
        }
        _ => Ok(()),
    }
}

/// What the end of the namespace would take along. One that somebody else made stays, without what the installer set on it.
pub(super) async fn look(client: &Client, name: &str, survey: &mut Survey) -> Result<(), Failed> {
    if survey.goes.iter().any(|found| found.stage == Stage::Namespace) {
        survey.others = others(client, name).await?;
        return Ok(());
    }
    let live = bootstrap::namespace(client, name).await.map_err(|e| Failed::of(&format!("Namespace {name}"), &e))?;
    let set = |live: &DynamicObject| {
        live.managed_fields().iter().any(|m| m.manager.as_deref() == Some(names::MANAGER_BOOTSTRAP))
    };
    if live.is_some_and(|live| set(&live)) {
        survey.stays.push(format!("Namespace {name}: it was there before banlieue, whose labels on it go"));
        survey.lent = Some(name.into());
    }
    Ok(())
}

/// Takes off what the installer set on a namespace that is not its own.
pub(super) async fn give_back(client: &Client, name: &str) -> Result<(), Failed> {
    let nothing = Patch::Apply(json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": name } }));
    let api = kinds::within(client, &namespaces(), None);
    let done = api.patch(name, &PatchParams::apply(names::MANAGER_BOOTSTRAP), &nothing).await;
    done.map(drop).map_err(|e| Failed::of(&format!("Namespace {name}"), &e))
}

fn namespaces() -> ApiResource {
    ApiResource::erase::<Namespace>(&())
}

/// Objects of the core kinds, Secrets and pods above all, that banlieue did not make.
async fn others(client: &Client, namespace: &str) -> Result<Vec<Found>, Failed> {
    let kinds = client.list_core_api_resources("v1").await.map_err(|e| Failed::of("the core kinds", &e))?;
    let lists = |verbs: &[String]| verbs.iter().any(|verb| verb == "list");
    let mut all = Vec::new();
    for kind in kinds.resources.into_iter().filter(|k| k.namespaced && lists(&k.verbs)) {
        // written by Kubernetes for what is there
        if matches!(kind.kind.as_str(), "Event" | "Endpoints") {
            continue;
        }
        let resource = ApiResource::from_gvk_with_plural(&GroupVersionKind::gvk("", "v1", &kind.kind), &kind.name);
        let live = kinds::within(client, &resource, Some(namespace)).list_metadata(&ListParams::default()).await;
        let live = live.map_err(|e| Failed::of(&format!("the {} in {namespace}", kind.name), &e))?;
        let by_itself = |name: &str| name == "kube-root-ca.crt" || (name == "default" && kind.kind == "ServiceAccount");
        let theirs =
            live.items.into_iter().filter(|o| o.labels().get(labels::PART_OF).is_none_or(|of| of != labels::BANLIEUE));
        all.extend(theirs.filter(|o| !by_itself(&o.name_any())).map(|o| Found {
            resource: resource.clone(),
            namespace: Some(namespace.into()),
            name: o.name_any(),
            uid: o.uid(),
            ending: false,
            stage: Stage::Namespace,
        }));
    }
    Ok(all)
}
