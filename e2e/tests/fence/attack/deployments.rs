//! On Deployments: out of the pod, and to Secrets.
use super::{Attack, By, Write, change, create_but, hands_off};
use crate::scene::Scene;
use banlieue::fsm::Part::Deployment;
use banlieue::k8s::manifests::names;
use serde_json::{Value, json};

const POD: &str = "/spec/template/spec";

/// A create with one thing more in the pod or in its first container.
fn with(scene: &Scene, what: &str, pointer: &str, value: Value) -> Write {
    create_but(scene, Deployment, what, |o| {
        let (at, field) = pointer.rsplit_once('/').unwrap_or(("", pointer));
        let parent = o.pointer_mut(&format!("{POD}{at}")).expect("the manifest has it");
        parent[field] = value;
    })
}

pub(super) fn attacks(scene: &Scene) -> Vec<Attack> {
    let by = |words| By::Fence("deployments", words);
    let volume = |what: &str, source: Value| {
        let mut volume = json!({ "name": "v" });
        for (kind, content) in source.as_object().into_iter().flatten() {
            volume[kind] = content.clone();
        }
        (with(scene, what, "/volumes", json!([volume])), by("mount no Secret"))
    };
    let pod = |what: &str, field: &str, value: Value, words| (with(scene, what, field, value), by(words));
    let secret = |kind: &str| json!([{ "name": "E", "valueFrom": { kind: { "name": "root", "key": "k" } } }]);
    let mut all = vec![
        pod("as another account", "/serviceAccountName", "default".into(), "account of the Deployment's own name"),
        pod(
            "as another Provider's account",
            "/serviceAccountName",
            "banlieue-provider-vsphere-minted".into(),
            "account of the Deployment's own name",
        ),
        pod("as no account", "/serviceAccountName", Value::Null, "account of the Deployment's own name"),
        pod("on the host's network", "/hostNetwork", true.into(), "off the host"),
        pod("among the host's processes", "/hostPID", true.into(), "off the host"),
        pod("in the host's IPC", "/hostIPC", true.into(), "off the host"),
        pod("past the scheduler", "/nodeName", "control-plane".into(), "off the host"),
        volume("a path of the host", json!({ "hostPath": { "path": "/" } })),
        volume("a Secret", json!({ "secret": { "secretName": "root" } })),
        volume("a projected Secret", json!({ "projected": { "sources": [{ "secret": { "name": "root" } }] } })),
        volume(
            "a further token",
            json!({ "projected": { "sources": [{ "serviceAccountToken": { "path": "t", "audience": "vault" } }] } }),
        ),
        volume("a driver of Secrets", json!({ "csi": { "driver": "secrets-store.csi.k8s.io" } })),
        volume("somebody's storage", json!({ "persistentVolumeClaim": { "claimName": "data" } })),
        volume("a network's storage", json!({ "nfs": { "server": "s", "path": "/" } })),
        pod("a Secret in the environment", "/containers/0/env", secret("secretKeyRef"), "into their environment"),
        pod(
            "Secrets as the environment",
            "/containers/0/envFrom",
            json!([{ "secretRef": { "name": "root" } }]),
            "into their environment",
        ),
        pod("privileged", "/containers/0/securityContext", json!({ "privileged": true }), "unprivileged"),
        pod(
            "may gain privileges",
            "/containers/0/securityContext/allowPrivilegeEscalation",
            true.into(),
            "unprivileged",
        ),
        pod("a capability", "/containers/0/securityContext/capabilities/add", json!(["SYS_ADMIN"]), "unprivileged"),
        pod("as root", "/containers/0/securityContext/runAsUser", 0.into(), "unprivileged"),
        pod(
            "without seccomp",
            "/containers/0/securityContext/seccompProfile",
            json!({ "type": "Unconfined" }),
            "unprivileged",
        ),
        pod("without a security context", "/containers/0/securityContext", Value::Null, "unprivileged"),
        pod("all as root", "/securityContext/runAsUser", 0.into(), "nobody in particular"),
        pod("perhaps as root", "/securityContext/runAsNonRoot", false.into(), "nobody in particular"),
        pod("all without seccomp", "/securityContext/seccompProfile", Value::Null, "nobody in particular"),
        pod(
            "a sysctl",
            "/securityContext/sysctls",
            json!([{ "name": "kernel.msgmax", "value": "1" }]),
            "nobody in particular",
        ),
        pod(
            "a port of the host",
            "/containers/0/ports",
            json!([{ "containerPort": 8080, "hostPort": 8080 }]),
            "no port",
        ),
        (
            create_but(scene, Deployment, "an init container that is privileged", |o| {
                let mut init = o["spec"]["template"]["spec"]["containers"][0].clone();
                for probe in ["livenessProbe", "readinessProbe"] {
                    init.as_object_mut().map(|c| c.remove(probe));
                }
                init["name"] = "init".into();
                init["securityContext"]["privileged"] = true.into();
                init["securityContext"]["allowPrivilegeEscalation"] = true.into();
                o["spec"]["template"]["spec"]["initContainers"] = json!([init]);
            }),
            by("unprivileged"),
        ),
        (
            create_but(scene, Deployment, "pods that select wider", |o| {
                o["spec"]["selector"]["matchLabels"] = json!({ "app.kubernetes.io/name": "banlieue" });
            }),
            by("pods of one Provider"),
        ),
        (
            create_but(scene, Deployment, "in kube-system", |o| {
                o["metadata"]["namespace"] = "kube-system".into();
                o["metadata"].as_object_mut().map(|m| m.remove("ownerReferences"));
            }),
            by("kube-*"),
        ),
        (
            change(
                scene,
                Deployment,
                "privileged",
                json!({ "spec": { "template": { "spec": { "hostNetwork": true } } } }),
            ),
            by("off the host"),
        ),
    ];
    let named = ["named banlieue-provider-*"; 2];
    for name in [names::OPERATOR, names::CONTROLLER] {
        let image = json!({ "spec": { "template": { "spec": { "containers": [] } } } });
        let [change, delete] =
            hands_off(Deployment, "banlieue-system", name, json!({ "metadata": { "labels": { "x": "y" } } }), named);
        all.extend([change, delete]);
        drop(image);
    }
    all
}

/// Any image, and any command: the class says what runs, and the policy cannot read it.
pub(super) fn accepted(scene: &Scene) -> Vec<Write> {
    vec![
        with(scene, "another image", "/containers/0/image", "registry.invalid/mallory:1".into()),
        with(scene, "another command", "/containers/0/args", json!(["sleep"])),
    ]
}
