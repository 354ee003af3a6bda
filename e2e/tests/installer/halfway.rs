//! Installations that end half-way: what is there by then grants nothing, and the same command goes on from it.
use crate::stage::{Stage, failure, text};
use anyhow::{Context, Result, bail, ensure};
use banlieue_e2e::proxy::{Asked, Proxy, Rule, Way};
use banlieue_e2e::rights::allowed;
use std::path::PathBuf;
use std::process::{Output, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

const INSTALL: [&str; 3] = ["bootstrap", "operator", "--no-wait"];
const OPERATOR: &str = "system:serviceaccount:banlieue-system:banlieue-operator";

/// Everything that an installation needs but these verbs on bindings, and `escalate` on roles or not.
fn person(name: &str, on_roles: &str, on_bindings: &str) -> String {
    format!(
        "apiVersion: v1
kind: ServiceAccount
metadata: {{name: {name}, namespace: people}}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {{name: people-{name}}}
rules:
- {{apiGroups: ['', apps], resources: [namespaces, serviceaccounts, deployments], verbs: [get, create, patch]}}
- {{apiGroups: [apiextensions.k8s.io], resources: [customresourcedefinitions], verbs: [get, create, patch]}}
- {{apiGroups: [admissionregistration.k8s.io], resources: ['*'], verbs: [get, create, patch]}}
- {{apiGroups: [banlieue.io], resources: [providerclasses], verbs: [get, list, watch, create, patch]}}
- {{apiGroups: [rbac.authorization.k8s.io], resources: [clusterroles, roles], verbs: [{on_roles}]}}
- {{apiGroups: [rbac.authorization.k8s.io], resources: [clusterrolebindings, rolebindings], verbs: [{on_bindings}]}}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {{name: people-{name}}}
roleRef: {{apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: people-{name}}}
subjects: [{{kind: ServiceAccount, name: {name}, namespace: people}}]
"
    )
}

/// Whoever may not bind, or not grant what he does not hold, is told so at that object; nothing there is of use to anybody.
pub(crate) async fn a_person_without_all_rights(stage: &Stage) -> Result<()> {
    stage.cluster.kubectl(["create", "namespace", "people"])?;
    for (name, on_roles, on_bindings, object) in [
        ("granter", "get, create, patch", "get, create, patch", "ClusterRole banlieue-operator"),
        ("binder", "get, create, patch, escalate", "get", "ClusterRoleBinding banlieue-operator"),
    ] {
        stage.cluster.apply(&person(name, on_roles, on_bindings))?;
        let kubeconfig = stage.kubeconfig(&format!("people/{name}")).await?;
        let refused = stage.banlieue_with(&kubeconfig, &INSTALL)?;
        let said = failure(&refused)?;
        ensure!(said.starts_with(&format!("error: {object}: ")), "{said}");
        ensure!(said.contains("forbidden") && said.ends_with("to run the command"), "{said}");
        ensure!(said.len() < 600, "nobody reads a line of {} characters: {said}", said.len());
        ensure!(text(&refused).contains("CustomResourceDefinition providers.banlieue.io"), "{}", text(&refused));
        ensure!(
            stage.cluster.kubectl(["get", "deployments", "-n", "banlieue-system", "-o", "name"])?.is_empty(),
            "it runs"
        );
        for (what, verb) in [(("rbac.authorization.k8s.io", "clusterrolebindings"), "create"), (("", "secrets"), "get")]
        {
            ensure!(!allowed(&stage.client, OPERATOR, what, verb, None).await?, "the operator may {verb} {what:?}");
        }
    }
    let pre = text(&stage.banlieue_with(&stage.kubeconfig("people/binder").await?, &["check", "--pre"])?);
    ensure!(pre.contains("you may not") && pre.contains("create clusterrolebindings"), "check --pre: {pre}");
    finish(stage)
}

/// How many writes pass before the API server is gone: with more, fewer places of an end are seen; with fewer, it takes longer.
const PASS: usize = 2;

/// Lets some writes pass; with the next one the API server is gone. It has done that one, or has not.
struct Gone {
    done: bool,
    writes: AtomicUsize,
}

impl Rule for Gone {
    async fn asked(&self, asked: &Asked) -> Way {
        let before = match asked.writes() {
            true => self.writes.fetch_add(1, Ordering::SeqCst),
            false => self.writes.load(Ordering::SeqCst),
        };
        let there = before < PASS || before == PASS && (self.done || !asked.writes());
        if there { Way::On } else { Way::Cut }
    }

    async fn answered(&self, _: &Asked, _: u16) -> Way {
        if self.writes.load(Ordering::SeqCst) > PASS { Way::Cut } else { Way::On }
    }
}

/// Gone at every third write, run again each time: one line, and in the end it is whole.
pub(crate) async fn the_api_server_goes_away_in_the_middle(stage: &Stage) -> Result<()> {
    stage.cluster.kubectl(["create", "namespace", "people"])?;
    stage.cluster.kubectl(["-n", "people", "create", "serviceaccount", "admin"])?;
    let admin = "--serviceaccount=people:admin";
    stage.cluster.kubectl(["create", "clusterrolebinding", "people-admin", "--clusterrole=cluster-admin", admin])?;
    let direct = stage.cluster.kubeconfig_as("people/admin").await?;
    for run in 0..60 {
        let gone = Arc::new(Gone { done: run % 2 == 0, writes: AtomicUsize::new(0) });
        let proxy = Proxy::start(&stage.cluster, gone).await?;
        let kubeconfig = stage.cluster.run_dir().write("gone.kubeconfig", &proxy.kubeconfig(&direct)?)?;
        let output = run_in_the_background(stage, kubeconfig).await?;
        if output.status.success() {
            ensure!(run > 5, "it was whole after {run} interruptions: they were not made");
            return finish(stage);
        }
        let said = failure(&output)?;
        ensure!(said.contains("run the command again"), "{said}");
    }
    bail!("it is not whole after 60 runs, each of which wrote something")
}

/// The proxy is served by this very runtime, which must not wait for the program meanwhile.
async fn run_in_the_background(stage: &Stage, kubeconfig: PathBuf) -> Result<Output> {
    let mut command = tokio::process::Command::new(stage.program());
    command.args(INSTALL).env("KUBECONFIG", kubeconfig).env("NO_PROXY", "*").stdin(Stdio::null());
    command.output().await.context("cannot run the program")
}

/// With all rights, over the straight way, the same command makes it whole; then all is taken away.
fn finish(stage: &Stage) -> Result<()> {
    stage.done(&INSTALL)?;
    let plan = stage.done(&["bootstrap", "operator", "--plan"])?;
    ensure!(plan.contains("0 created, 0 changed"), "{plan}");
    stage.done(&["uninstall", "--all", "--yes"])?;
    let people = ["people-admin", "people-binder", "people-granter"];
    let of = |kind| [&["delete", "--ignore-not-found", kind][..], &people].concat();
    stage.cluster.kubectl(of("clusterrolebindings"))?;
    stage.cluster.kubectl(of("clusterroles"))?;
    stage.cluster.kubectl(["delete", "namespace", "people"]).map(drop)
}
