//! On everything else: what RBAC alone stops, since no policy sees it; and what nothing stops.
use super::{Attack, By, Write, delete};
use crate::scene::HOME;
use banlieue::k8s::manifests::names;
use serde_json::{Value, json};

fn object(version: &str, kind: &str, more: Value) -> Value {
    let mut object = json!({ "apiVersion": version, "kind": kind, "metadata": { "name": "mine" } });
    for (field, content) in more.as_object().into_iter().flatten() {
        object[field] = content.clone();
    }
    object
}

pub(super) fn attacks() -> Vec<Attack> {
    let rbac = "/apis/rbac.authorization.k8s.io/v1";
    let admission = "/apis/admissionregistration.k8s.io/v1";
    let core = format!("/api/v1/namespaces/{HOME}");
    let apps = format!("/apis/apps/v1/namespaces/{HOME}");
    let fence = names::fence("deployments");
    let container = json!({ "spec": { "containers": [{ "name": "c", "image": "i" }] } });
    let aggregated = json!({
        "metadata": { "name": "mine", "labels": { "rbac.authorization.k8s.io/aggregate-to-admin": "true" } },
        "rules": [],
    });
    let token = json!({ "apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {} });
    let nothing = || json!({});
    let post = |what: &str, path: String, body| Write::new(what, "POST", path, body);
    let patch = |what: &str, path: String, body| Write::new(what, "PATCH", path, body);
    let all = vec![
        post(
            "ask for a token of another account",
            "/api/v1/namespaces/kube-system/serviceaccounts/default/token".into(),
            token,
        ),
        post("create a bare pod", format!("{core}/pods"), object("v1", "Pod", container)),
        post("run in a pod", format!("{core}/pods/p/exec?command=sh&stdin=true"), nothing()),
        patch("an ephemeral container", format!("{core}/pods/p/ephemeralcontainers"), nothing()),
        patch("scale a Deployment", format!("{apps}/deployments/d/scale"), json!({ "spec": { "replicas": 0 } })),
        delete("delete all accounts", format!("{core}/serviceaccounts")),
        delete("delete all Deployments", format!("{apps}/deployments")),
        Write::new(
            "replace a Deployment",
            "PUT",
            format!("{apps}/deployments/banlieue-provider-vsphere-minted"),
            object("apps/v1", "Deployment", nothing()),
        ),
        post("create a DaemonSet", format!("{apps}/daemonsets"), object("apps/v1", "DaemonSet", nothing())),
        post("create a Job", format!("/apis/batch/v1/namespaces/{HOME}/jobs"), object("batch/v1", "Job", nothing())),
        post("create a Secret", format!("{core}/secrets"), object("v1", "Secret", nothing())),
        patch("change a Secret", format!("{core}/secrets/creds"), nothing()),
        Write::new("list Secrets", "GET", format!("{core}/secrets"), nothing()),
        post(
            "create a ClusterRole",
            format!("{rbac}/clusterroles"),
            object("rbac.authorization.k8s.io/v1", "ClusterRole", json!({ "rules": [] })),
        ),
        post(
            "create one that is aggregated to admin",
            format!("{rbac}/clusterroles"),
            object("rbac.authorization.k8s.io/v1", "ClusterRole", aggregated),
        ),
        patch("widen its own ClusterRole", format!("{rbac}/clusterroles/{}", names::OPERATOR), json!({ "rules": [] })),
        patch(
            "widen the shared ClusterRole",
            format!("{rbac}/clusterroles/banlieue-provider-vsphere"),
            json!({ "rules": [] }),
        ),
        delete("delete a policy", format!("{admission}/validatingadmissionpolicies/{fence}")),
        patch(
            "change a policy",
            format!("{admission}/validatingadmissionpolicies/{fence}"),
            json!({ "spec": { "validations": [] } }),
        ),
        delete("delete a policy's binding", format!("{admission}/validatingadmissionpolicybindings/{fence}")),
        patch(
            "make it warn",
            format!("{admission}/validatingadmissionpolicybindings/{fence}"),
            json!({ "spec": { "validationActions": ["Warn"] } }),
        ),
        post(
            "create a webhook",
            format!("{admission}/mutatingwebhookconfigurations"),
            object("admissionregistration.k8s.io/v1", "MutatingWebhookConfiguration", nothing()),
        ),
        patch(
            "change a kind",
            "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/providers.banlieue.io".into(),
            nothing(),
        ),
        delete("delete a kind", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/providers.banlieue.io"),
        patch(
            "change a class",
            format!("/apis/banlieue.io/v1alpha1/providerclasses/{HOME}"),
            json!({ "spec": { "paused": true } }),
        ),
        post("create a namespace", "/api/v1/namespaces".into(), object("v1", "Namespace", nothing())),
        patch(
            "lower the Pod Security of a namespace",
            format!("/api/v1/namespaces/{HOME}"),
            json!({ "metadata": { "labels": { "pod-security.kubernetes.io/enforce": "privileged" } } }),
        ),
        post(
            "sign a certificate",
            "/apis/certificates.k8s.io/v1/certificatesigningrequests".into(),
            object("certificates.k8s.io/v1", "CertificateSigningRequest", nothing()),
        ),
        Write::new("read through a node", "GET", "/api/v1/nodes/n/proxy/pods", nothing()),
        post(
            "add an API service",
            "/apis/apiregistration.k8s.io/v1/apiservices".into(),
            object("apiregistration.k8s.io/v1", "APIService", nothing()),
        ),
    ];
    all.into_iter().map(|write| (write, By::Rbac)).collect()
}

pub(super) fn accepted() -> Vec<Write> {
    vec![
        // who grants a read has to hold it, and reads are not admitted: an alert is all there is
        Write::new("read any Secret", "GET", "/api/v1/namespaces/fenced/secrets/creds", json!({})),
        Write::new(
            "read any ConfigMap",
            "GET",
            "/api/v1/namespaces/kube-system/configmaps/extension-apiserver-authentication",
            json!({}),
        ),
        Write::new(
            "send an Event about anything",
            "POST",
            "/apis/events.k8s.io/v1/namespaces/kube-system/events",
            json!({
                "apiVersion": "events.k8s.io/v1", "kind": "Event", "metadata": { "name": "e", "namespace": "kube-system" },
                "eventTime": "2026-01-01T00:00:00.000000Z", "type": "Normal", "reason": "R", "action": "A", "note": "n",
                "reportingController": "banlieue.io/operator", "reportingInstance": "i",
                "regarding": { "kind": "Namespace", "name": "kube-system", "namespace": "kube-system" },
            }),
        ),
    ]
}
