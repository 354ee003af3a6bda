//! [`Scene`]: a Provider whose workload was minted, and one whose workload was not, with what the operator would write for it.
use crate::stage::Stage;
use anyhow::Result;
use banlieue::fsm::Part;
use banlieue::k8s::crd::{Backend, Provider, ProviderClass};
use banlieue::k8s::kinds;
use banlieue::k8s::manifests::{Workload, five, names};
use banlieue_e2e::watch;
use banlieue_suite::objects;
pub(crate) use banlieue_suite::until::SOON;
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::rbac::v1::RoleBinding;
use kube::api::{Api, PostParams};
use kube::{Client, ResourceExt};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// The namespace of both Providers, and the name of their class.
pub(crate) const HOME: &str = "fenced";

/// What the attacks are about.
pub(crate) struct Scene {
    /// It was minted for.
    pub(crate) minted: Provider,
    /// It is paused: nothing was minted for it.
    pub(crate) paused: Provider,
    bodies: BTreeMap<Part, Value>,
}

impl Scene {
    /// The scene of this stage, made at its first use.
    pub(crate) async fn of(stage: &Stage) -> Result<&Scene> {
        stage.scene.get_or_try_init(|| make(stage)).await
    }

    /// What the operator would write for the paused Provider, as a POST takes it.
    pub(crate) fn body(&self, part: Part) -> Value {
        self.bodies[&part].clone()
    }

    /// The name of the minted objects.
    pub(crate) fn name(&self, part: Part) -> String {
        let backend = Backend::Vsphere;
        match part {
            Part::ClusterRoleBinding => names::hashed(backend, HOME, &self.minted.name_any()),
            _ => names::own(backend, HOME, &self.minted.name_any()),
        }
    }
}

async fn make(stage: &Stage) -> Result<Scene> {
    let client = &stage.client;
    for object in [
        json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": HOME } }),
        json!({ "apiVersion": "v1", "kind": "Secret", "metadata": { "name": "creds", "namespace": HOME }, "stringData": { "username": "u" } }),
    ] {
        stage.cluster.apply(&object.to_string())?;
    }
    let class = class(client, HOME, json!({})).await?;
    let minted = provider(client, "minted", json!({})).await?;
    let paused = provider(client, "paused", json!({ "paused": true })).await?;
    let workload = Workload {
        provider: &paused,
        class: &class,
        install_namespace: names::DEFAULT_NAMESPACE,
        account_uid: Some("account"),
    };
    let mut bodies = BTreeMap::new();
    for manifest in five(&workload)? {
        let part = manifest.object.part;
        let kind = kinds::resource(part);
        let mut body = manifest.body;
        body["apiVersion"] = kind.api_version.into();
        body["kind"] = kind.kind.into();
        bodies.insert(part, body);
    }
    let scene = Scene { minted, paused, bodies };
    let deployments: Api<Deployment> = Api::namespaced(client.clone(), HOME);
    watch::see(&deployments, &scene.name(Part::Deployment), "it is minted", SOON, |_| true).await?;
    let bindings: Api<RoleBinding> = Api::namespaced(client.clone(), HOME);
    watch::see(&bindings, &scene.name(Part::RoleBinding), "it is minted", SOON, |_| true).await?;
    for object in strangers() {
        stage.cluster.apply(&object.to_string())?;
    }
    Ok(scene)
}

/// Objects of our names that carry no stamp: static installs make such, and so may anybody.
fn strangers() -> [Value; 7] {
    let rbac = "rbac.authorization.k8s.io";
    let shared = json!({ "apiGroup": rbac, "kind": "ClusterRole", "name": "banlieue-provider-vsphere" });
    let role = json!({ "apiGroup": rbac, "kind": "Role", "name": "banlieue-provider-stranger" });
    let labels = json!({ "a": "b" });
    let pods = json!({
        "metadata": { "labels": labels },
        "spec": { "containers": [{ "name": "c", "image": "i.invalid" }] },
    });
    let here = json!({ "name": "banlieue-provider-stranger", "namespace": HOME });
    [
        json!({ "apiVersion": "v1", "kind": "ServiceAccount", "metadata": here }),
        json!({ "apiVersion": format!("{rbac}/v1"), "kind": "Role", "metadata": here }),
        // the Role of the paused Provider: a binding is refused where there is none, whatever it is
        json!({ "apiVersion": format!("{rbac}/v1"), "kind": "Role", "metadata": { "name": "banlieue-provider-vsphere-paused", "namespace": HOME } }),
        json!({ "apiVersion": format!("{rbac}/v1"), "kind": "RoleBinding", "metadata": here, "roleRef": role }),
        json!({ "apiVersion": format!("{rbac}/v1"), "kind": "ClusterRoleBinding", "metadata": { "name": "banlieue-provider-stranger" }, "roleRef": shared }),
        json!({ "apiVersion": format!("{rbac}/v1"), "kind": "ClusterRole", "metadata": { "name": "banlieue-provider-evil" }, "rules": [{ "apiGroups": [""], "resources": ["pods"], "verbs": ["list"] }] }),
        json!({ "apiVersion": "apps/v1", "kind": "Deployment", "metadata": here, "spec": { "replicas": 0, "selector": { "matchLabels": labels }, "template": pods } }),
    ]
}

/// A class; `more` is merged into its spec.
pub(crate) async fn class(client: &Client, name: &str, more: Value) -> Result<ProviderClass> {
    objects::class(client, name, Backend::Vsphere, more).await
}

/// A Provider in [`HOME`] of the class of that name; `more` is merged into its spec.
pub(crate) async fn provider(client: &Client, name: &str, more: Value) -> Result<Provider> {
    let api: Api<Provider> = Api::namespaced(client.clone(), HOME);
    Ok(api.create(&PostParams::default(), &serde_json::from_value(draft(name, more))?).await?)
}

/// What such a Provider looks like.
pub(crate) fn draft(name: &str, more: Value) -> Value {
    let connection = json!({ "endpoint": "https://vcenter.invalid/sdk", "credentialsRef": { "name": "creds" } });
    let mut spec = json!({ "providerClassRef": { "name": HOME }, "connection": connection });
    merge(&mut spec, more);
    json!({ "apiVersion": "banlieue.io/v1alpha1", "kind": "Provider", "metadata": { "name": name }, "spec": spec })
}

fn merge(into: &mut Value, more: Value) {
    for (field, content) in more.as_object().into_iter().flatten() {
        into[field] = content.clone();
    }
}
