//! [`Thing`]: any object of a cluster, of whatever kind.
use anyhow::Result;
use banlieue::k8s::kinds;
use kube::api::{ApiResource, DeleteParams, ListParams, Patch, PatchParams};
use kube::discovery::{Discovery, Scope, verbs};
use kube::{Client, ResourceExt};
use serde_json::json;
use std::fmt::{Display, Formatter};

/// Where an object is, and whether finalizers hold it.
pub(crate) struct Thing {
    kind: ApiResource,
    namespace: Option<String>,
    name: String,
    held: bool,
}

/// Every object there is, but for what moves by itself: Events, Leases of the cluster, and what Kubernetes makes anew.
pub(crate) async fn all(client: &Client) -> Result<Vec<Thing>> {
    let discovery = Discovery::new(client.clone()).run().await?;
    let mut found = Vec::new();
    for group in discovery.groups() {
        for (kind, may) in group.recommended_resources() {
            if kind.kind == "Event" || kind.kind == "Lease" || !may.supports_operation(verbs::LIST) {
                continue;
            }
            let namespaced = may.scope == Scope::Namespaced;
            let api = kinds::within(client, &kind, None);
            found.extend(api.list(&ListParams::default()).await?.items.into_iter().map(|object| Thing {
                kind: kind.clone(),
                namespace: object.namespace().filter(|_| namespaced),
                name: object.name_any(),
                held: !object.finalizers().is_empty(),
            }));
        }
    }
    Ok(found)
}

impl Thing {
    /// Whether Kubernetes may have made it by itself, and late.
    pub(crate) fn is_of_kubernetes(&self) -> bool {
        let within = self.namespace.as_deref().is_some_and(|n| n.starts_with("kube-"));
        within || self.name.starts_with("system:") || self.name == "kube-root-ca.crt"
    }

    /// Asks for its end, whoever holds it. What cannot be done now is asked for again.
    pub(crate) async fn remove(&self, client: &Client) {
        let api = kinds::within(client, &self.kind, self.namespace.as_deref());
        // without its own a kind would leave its objects behind, and have them again when it is made anew
        if self.held && self.kind.kind != "CustomResourceDefinition" {
            let free = Patch::Merge(json!({ "metadata": { "finalizers": null } }));
            let _ = api.patch(&self.name, &PatchParams::default(), &free).await;
        }
        let _ = api.delete(&self.name, &DeleteParams::background()).await;
    }
}

impl Display for Thing {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        let namespace = self.namespace.as_deref().unwrap_or_default();
        write!(f, "{}/{} {namespace}/{}", self.kind.group, self.kind.plural, self.name)
    }
}
