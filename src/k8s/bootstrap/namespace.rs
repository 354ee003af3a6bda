//! A namespace that was there before: on its way out, or somebody else's.
use super::Failed;
use crate::k8s::client::Client;
use crate::k8s::crd::Provider;
use crate::k8s::kinds;
use crate::k8s::manifests::{labels, names};
use k8s_openapi::api::core::v1::Namespace;
use kube::ResourceExt;
use kube::api::{Api, ApiResource, DynamicObject, ListParams};
use serde_json::Value;

/// A namespace as it is.
///
/// # Errors
/// When it cannot be read.
pub async fn namespace(client: &Client, name: &str) -> kube::Result<Option<DynamicObject>> {
    kinds::within(client, &ApiResource::erase::<Namespace>(&()), None).get_opt(name).await
}

/// What keeps a namespace that is being deleted, in the API server's words, and what to do about it; nothing of one that stays.
///
/// A Provider with our finalizer may wait for an operator that was in there: for ever, since none can be made there any more.
pub async fn ending(client: &Client, namespace: &DynamicObject) -> Option<Failed> {
    namespace.metadata.deletion_timestamp.as_ref()?;
    let name = namespace.name_any();
    let mut conditions = namespace.data["status"]["conditions"].as_array().into_iter().flatten();
    let held = conditions.find(|c| c["type"] == "NamespaceFinalizersRemaining" && c["status"] == "True");
    let held = held.and_then(|c| c["message"].as_str());
    let why = held.map_or("it is being deleted".into(), |held| format!("it is being deleted: {held}"));
    let providers: Api<Provider> = Api::namespaced(client.clone(), &name);
    // where they cannot be listed, the kind is gone as a rule, and they with it
    let providers = providers.list(&ListParams::default()).await.map(|list| list.items).unwrap_or_default();
    let todo = if providers.iter().any(|p| p.finalizers().iter().any(|f| f == names::FINALIZER)) {
        format!(
            "run `banlieue uninstall --namespace {name}`, which lets go the Providers in it, then the command again"
        )
    } else {
        "wait until it is gone, then run the command again".into()
    };
    Some(Failed { object: format!("Namespace {name}"), why, todo })
}

/// What is sent of a namespace that somebody else made: it is not said to be made by the installer, which would remove it.
pub(super) fn lent(live: &DynamicObject, body: &Value) -> Value {
    let mut body = body.clone();
    if live.labels().get(labels::MANAGED_BY).is_none_or(|by| by != labels::INSTALLER)
        && let Some(labels) = body["metadata"]["labels"].as_object_mut()
    {
        labels.remove(labels::MANAGED_BY);
    }
    body
}
