//! On Providers and Leases.
use super::{Attack, By, Write, delete};
use crate::scene::{HOME, Scene, draft};
use banlieue::k8s::manifests::names;
use serde_json::{Value, json};

fn at(name: &str) -> String {
    format!("/apis/banlieue.io/v1alpha1/namespaces/{HOME}/providers/{name}")
}

fn leases(namespace: &str) -> String {
    format!("/apis/coordination.k8s.io/v1/namespaces/{namespace}/leases")
}

fn lease(name: &str) -> Value {
    json!({ "apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": { "name": name }, "spec": { "holderIdentity": "me" } })
}

pub(super) fn attacks(scene: &Scene) -> Vec<Attack> {
    let change = |what: &str, patch| Write::new(&format!("change the Provider: {what}"), "PATCH", at("minted"), patch);
    let only = By::Fence("providers", "nothing of a Provider but its own finalizer");
    let owner = json!([{ "apiVersion": "v1", "kind": "ServiceAccount", "name": "default", "uid": "u" }]);
    let status = |what: &str, patch: Value| {
        let path = format!("{}/status", at("minted"));
        let write = Write::new(&format!("change the status: {what}"), "PATCH", path, json!({ "status": patch }));
        (write, By::Fence("providers/status", "status.workload"))
    };
    let condition = json!([{ "type": "Ready", "status": "True", "reason": "Fine", "message": "", "lastTransitionTime": "2026-01-01T00:00:00Z" }]);
    let others = By::Fence("leases", "no Lease but its own");
    let held = names::lease(HOME, scene.minted.metadata.name.as_deref().unwrap_or_default());
    vec![
        (
            change(
                "another endpoint",
                json!({ "spec": { "connection": { "endpoint": "https://mallory.invalid/sdk" } } }),
            ),
            only,
        ),
        (change("another Secret", json!({ "spec": { "connection": { "credentialsRef": { "name": "root" } } } })), only),
        (change("another class", json!({ "spec": { "providerClassRef": { "name": "other" } } })), only),
        (change("paused", json!({ "spec": { "paused": true } })), only),
        (change("a label", json!({ "metadata": { "labels": { "x": "y" } } })), only),
        (change("an annotation", json!({ "metadata": { "annotations": { "x": "y" } } })), only),
        (change("an owner", json!({ "metadata": { "ownerReferences": owner } })), By::Ownership),
        (
            change("another finalizer", json!({ "metadata": { "finalizers": ["x.io/y", names::FINALIZER] } })),
            By::Fence("providers", "finalizers of others"),
        ),
        (Write::new("create a Provider", "POST", at("").trim_end_matches('/'), draft("new", json!({}))), By::Rbac),
        (delete("delete a Provider", at("minted")), By::Rbac),
        status("conditions", json!({ "conditions": condition })),
        status("failure domains", json!({ "failureDomains": [{ "name": "a" }] })),
        status("the backend", json!({ "backend": { "product": "x" } })),
        status("the generation", json!({ "observedGeneration": 99 })),
        (Write::new("create a Lease", "POST", leases("kube-system"), lease("mine")), others),
        (Write::new("create the Lease of a provider's pod", "POST", leases(HOME), lease(&held)), others),
        (Write::new("take its own name elsewhere", "POST", leases(HOME), lease(names::OPERATOR)), others),
        (
            Write::new(
                "take the controller's Lease",
                "PUT",
                format!("{}/{}", leases("banlieue-system"), names::CONTROLLER),
                lease(names::CONTROLLER),
            ),
            others,
        ),
    ]
}

pub(super) fn legitimate() -> Vec<Write> {
    let finalizers = |name: &str, list: Value| {
        Write::new("write the finalizer", "PATCH", at(name), json!({ "metadata": { "finalizers": list } }))
    };
    let workload = json!({ "status": { "workload": { "phase": "Pending", "reason": "Refused", "message": "m" } } });
    vec![
        finalizers("paused", json!([names::FINALIZER])),
        finalizers("minted", json!([])),
        Write::new("report the workload", "PATCH", format!("{}/status", at("minted")), workload),
    ]
}
