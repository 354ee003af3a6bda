//! A static installation beside an operator, which is refused unless it is forced: neither does the other harm.
use crate::stage::{SOON, Stage, provider};
use crate::until::until;
use anyhow::{Context, Result, ensure};
use banlieue::k8s::crd::{Backend, Provider};
use banlieue::k8s::manifests::names;
use banlieue_e2e::audit::Log;
use banlieue_e2e::watch;
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::rbac::v1::ClusterRoleBinding;
use kube::ResourceExt;
use kube::api::{Api, Patch, PatchParams};
use serde_json::json;
use std::time::Duration;

/// Where both are.
const HOME: &str = "beside";
/// An orphan is looked at twice, half a minute apart.
const SWEPT: Duration = Duration::from_secs(120);

async fn install(stage: &Stage) -> Result<()> {
    stage.done(&["bootstrap", "operator", "--no-wait"])?;
    stage.cluster.kubectl(["create", "namespace", HOME])?;
    stage.done(&["bootstrap", "provider", "vsphere", "--namespace", HOME, "--force", "--no-wait"]).map(drop)
}

async fn remove(stage: &Stage) -> Result<()> {
    stage.cluster.kubectl(["-n", HOME, "delete", "providers", "--all", "--timeout=60s"])?;
    stage.done(&["uninstall", "--provider", "vsphere", "--namespace", HOME, "--yes"])?;
    stage.done(&["uninstall", "--all", "--yes"])?;
    stage.cluster.kubectl(["delete", "namespace", HOME]).map(drop)
}

/// A Provider there, minted by the operator.
async fn minted(stage: &Stage, name: &str) -> Result<Provider> {
    stage.cluster.apply(&provider(HOME, name, "vsphere"))?;
    // the last of the five
    let deployments: Api<Deployment> = Api::namespaced(stage.client.clone(), HOME);
    watch::see(&deployments, &names::own(Backend::Vsphere, HOME, name), "it is minted", SOON, |_| true).await?;
    Ok(Api::namespaced(stage.client.clone(), HOME).get(name).await?)
}

/// What the static installation is made of: name, uid, and what changes where somebody writes the spec.
fn parts(stage: &Stage) -> Result<Vec<String>> {
    let line = "{.kind} {.metadata.name} {.metadata.uid}";
    // the status of a Deployment is written by others
    let kinds = [("sa,role,rolebinding,configmap,clusterrolebinding", "resourceVersion"), ("deployment", "generation")];
    let mut found = Vec::new();
    for (kinds, moves) in kinds {
        let out = format!(r#"jsonpath={{range .items[*]}}{line} {{.metadata.{moves}}}{{"\n"}}{{end}}"#);
        let label = "app.kubernetes.io/component=static-provider";
        let told = stage.cluster.kubectl(["-n", HOME, "get", kinds, "-l", label, "-o", &out])?;
        found.extend(told.lines().map(str::to_owned));
    }
    ensure!(found.len() == 6, "{found:?}");
    Ok(found)
}

/// A Provider comes, changes and goes, and an orphan is swept: of the static installation not one object was written.
pub(crate) async fn an_operator_and_its_sweep_leave_it_alone(stage: &Stage) -> Result<()> {
    install(stage).await?;
    let before = parts(stage)?;
    let first = stage.operator().await?;
    minted(stage, "torn").await?;
    first.stop().await?;
    // an orphan, which shows that there was a sweep
    let free = r#"{"metadata":{"finalizers":null}}"#;
    stage.cluster.kubectl(["-n", HOME, "delete", "provider", "torn", "--wait=false"])?;
    stage.cluster.kubectl(["-n", HOME, "patch", "provider", "torn", "--type=merge", "-p", free])?;
    let bindings: Api<ClusterRoleBinding> = Api::all(stage.client.clone());
    let orphan = names::hashed(Backend::Vsphere, HOME, "torn");
    bindings.get(&orphan).await?;

    let operator = stage.operator().await?;
    minted(stage, "vc").await?;
    watch::gone(&bindings, &orphan, SWEPT).await?;
    stage.cluster.kubectl(["-n", HOME, "delete", "provider", "vc", "--timeout=60s"])?;
    ensure!(parts(stage)? == before, "it was {before:#?}, and is {:#?}", parts(stage)?);
    operator.stop().await?;
    remove(stage).await
}

/// One Lease for both: who came first alone writes the status, and once it has ended the other does.
pub(crate) async fn one_writes_and_the_other_waits(stage: &Stage) -> Result<()> {
    install(stage).await?;
    let secret = ["create", "secret", "generic", "creds", "--from-literal=username=u", "--from-literal=password=p"];
    stage.cluster.kubectl([&["-n", HOME][..], &secret].concat())?;
    let operator = stage.operator().await?;
    let uid = minted(stage, "vc").await?.uid().context("it has no uid")?;
    let log = Log::from_now(stage.cluster.audit_log_path())?;
    let accounts = [names::own(Backend::Vsphere, HOME, "vc"), names::shared(Backend::Vsphere)];
    let [own, shared] = accounts.clone().map(|account| format!("{HOME}/{account}"));
    let one = ["provider", "vsphere", "--namespace", HOME, "--provider-name", "vc", "--provider-uid", &uid];

    let pod = stage.process(&own, "minted", &one).await?;
    holds(stage, "minted").await?;
    let fixed = stage.process(&shared, "static", &["provider", "vsphere", "--namespace", HOME]).await?;
    until("the static one stands for election", SOON, async || {
        let user = format!("system:serviceaccount:{HOME}:{}", accounts[1]);
        let asked = log.entries()?.iter().any(|e| e.user.username == user && e.resource() == "leases");
        Ok(if asked { Ok(()) } else { Err("it has not asked for the Lease".into()) })
    })
    .await?;
    for turn in 1..4 {
        told(stage, turn).await?;
    }
    pod.stop().await?;
    holds(stage, "static").await?;
    told(stage, 4).await?;
    fixed.stop().await?;

    for resource in ["providers", "leases"] {
        let ours = |user: &str| accounts.iter().any(|a| user == format!("system:serviceaccount:{HOME}:{a}"));
        let entries = log.entries()?;
        let writes = entries.iter().filter(|e| e.writes() && e.resource() == resource && ours(&e.user.username));
        let mut done: Vec<_> = writes.filter(|e| e.code() < 300).collect();
        done.sort_by_key(|e| e.stage_timestamp);
        let mut writers: Vec<_> = done.iter().filter_map(|e| e.user.username.rsplit(':').next()).collect();
        writers.dedup();
        let lines: Vec<_> = done.iter().map(|e| e.line()).collect();
        ensure!(writers == accounts, "{resource} were written by {writers:?} in turn:\n{}", lines.join("\n"));
    }
    stage.cluster.kubectl(["-n", HOME, "delete", "provider", "vc", "--timeout=60s"])?;
    operator.stop().await?;
    remove(stage).await
}

/// Waits until the Lease of the Provider is held so.
async fn holds(stage: &Stage, holder: &str) -> Result<()> {
    let leases: Api<Lease> = Api::namespaced(stage.client.clone(), HOME);
    let held = |l: &Lease| l.spec.as_ref().and_then(|s| s.holder_identity.as_deref()) == Some(holder);
    watch::see(&leases, &names::lease(HOME, "vc"), &format!("{holder} holds it"), SOON, held).await.map(drop)
}

/// The Provider gets another endpoint, and whoever serves it says so of the backend there.
async fn told(stage: &Stage, turn: usize) -> Result<()> {
    let api: Api<Provider> = Api::namespaced(stage.client.clone(), HOME);
    let endpoint = format!("https://vcenter-{turn}.invalid/sdk");
    let patch = Patch::Merge(json!({ "spec": { "connection": { "endpoint": endpoint } } }));
    let asked = api.patch("vc", &PatchParams::default(), &patch).await?.metadata.generation;
    let said = |p: &Provider| p.status.as_ref().is_some_and(|s| s.observed_generation == asked);
    watch::see(&api, "vc", "its new generation is told of", SOON, said).await.map(drop)
}
