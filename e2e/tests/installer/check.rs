//! What `check` says of an installation that is there and does not do its work.
use crate::files;
use crate::stage::{SOON, Stage, minted, provider, running, text};
use anyhow::{Result, ensure};
use banlieue::fsm::Reason;
use banlieue::k8s::crd::Provider;
use banlieue::k8s::manifests::names;
use banlieue_e2e::watch;
use k8s_openapi::api::apps::v1::Deployment;
use kube::api::{Api, Patch, PatchParams};
use serde_json::{Value, json};

/// Where the Providers are.
const HERE: &str = "here";

/// One line, and what is left of an installation that was: the kinds, and a Provider that our finalizer holds.
pub(crate) async fn a_cluster_without_it(stage: &Stage) -> Result<()> {
    let empty = stage.banlieue(&["check"])?;
    let one = "fail  installation  there is none; run `banlieue bootstrap operator`\n";
    ensure!(empty.status.code() == Some(1) && text(&empty) == one, "{}", text(&empty));
    let lines: Value = serde_json::from_slice(&stage.banlieue(&["check", "--output", "json"])?.stdout)?;
    let keys = lines[0].as_object().into_iter().flatten().map(|(key, _)| key.as_str()).collect::<Vec<_>>();
    ensure!(lines.as_array().map(Vec::len) == Some(1) && keys == ["check", "message", "verdict"], "{lines}");

    files::crds(&stage.cluster)?;
    stage.cluster.kubectl(["create", "namespace", HERE])?;
    stage.cluster.apply(&provider(HERE, "stays", "vsphere"))?;
    let kinds = stage.told("there is none, only CustomResourceDefinition ").await?;
    ensure!(kinds.lines().count() == 2 && kinds.contains("nobody serves here/stays"), "{kinds}");
    let api: Api<Provider> = Api::namespaced(stage.client.clone(), HERE);
    let finalizers = |all: &[&str]| Patch::Merge(json!({ "metadata": { "finalizers": all } }));
    api.patch("stays", &PatchParams::default(), &finalizers(&[names::FINALIZER])).await?;
    let held = stage.told("fail  finalizers    no operator is there to take ours off; these would").await?;
    ensure!(held.lines().count() == 3 && held.contains("here/stays"), "{held}");
    api.patch("stays", &PatchParams::default(), &finalizers(&[])).await?;
    stage.cluster.kubectl(["delete", "namespace", HERE])?;
    stage.done(&["uninstall", "--all", "--yes"])?;
    Ok(())
}

/// Neither role is well, a Provider that is deleted hangs, and what is said to mend it does.
pub(crate) async fn a_role_that_is_scaled_to_nothing(stage: &Stage) -> Result<()> {
    stage.done(&["bootstrap", "operator", "--no-wait"])?;
    let operator = stage.operator().await?;
    stage.cluster.kubectl(["create", "namespace", HERE])?;
    let api: Api<Provider> = Api::namespaced(stage.client.clone(), HERE);
    stage.cluster.apply(&provider(HERE, "goes", "vsphere"))?;
    watch::see(&api, "goes", "it is minted", SOON, minted).await?;
    stage.told("no pod of the operator is available").await?;
    stage.available().await?;
    stage.told("no Provider waits for its end").await?;

    operator.stop().await?;
    let system = ["-n", names::DEFAULT_NAMESPACE];
    for role in [names::OPERATOR, names::CONTROLLER] {
        stage.cluster.kubectl([&system[..], &["scale", "deployment", role, "--replicas=0"]].concat())?;
    }
    stage.cluster.kubectl(["-n", HERE, "delete", "provider", "goes", "--wait=false"])?;
    let says = stage.told("these hang in their deletion: here/goes").await?;
    for role in [names::OPERATOR, names::CONTROLLER] {
        let told = says.lines().find(|l| l.starts_with(&format!("fail  {role} "))).unwrap_or_default();
        ensure!(told.contains("it is scaled to 0: ") && told.contains("`banlieue bootstrap operator`"), "{says}");
    }
    stage.done(&["bootstrap", "operator", "--no-wait"])?;
    let deployments: Api<Deployment> = Api::namespaced(stage.client.clone(), names::DEFAULT_NAMESPACE);
    let replicas = deployments.get(names::OPERATOR).await?.spec.replicas;
    ensure!(replicas == Some(1), "after bootstrap it is scaled to {replicas:?}");
    let _operator = stage.operator().await?;
    watch::gone(&api, "goes", SOON).await?;
    stage.cluster.kubectl(["delete", "namespace", HERE])?;
    stage.done(&["uninstall", "--all", "--yes"])?;
    Ok(())
}

/// One whose image is not there, and then one whose backend refuses it: named, each with its reason and the words of it.
pub(crate) async fn a_provider_that_is_not_well(stage: &Stage) -> Result<()> {
    stage.done(&["bootstrap", "operator", "--no-wait"])?;
    let operator = stage.operator().await?;
    stage.cluster.kubectl(["create", "namespace", HERE])?;
    stage.cluster.apply(&provider(HERE, "lost", "nothere"))?;
    stage.told("here/lost (ClassNotFound: ProviderClass nothere does not exist)").await?;

    let api: Api<Provider> = Api::namespaced(stage.client.clone(), HERE);
    stage.cluster.apply(&provider(HERE, "vc", "vsphere"))?;
    watch::see(&api, "vc", "it is minted", SOON, minted).await?;
    let waiting = json!({ "waiting": { "reason": "ErrImagePull", "message": "no such image" } });
    let container =
        json!({ "name": "provider", "image": "i", "imageID": "", "ready": false, "restartCount": 0, "state": waiting });
    stage.pods(HERE, names::PROVIDER_UID, json!({ "phase": "Pending", "containerStatuses": [container] })).await?;
    let says = stage.told("here/vc (ImagePullFailed: ").await?;
    ensure!(says.contains("no such image") && says.contains("1 Pending, 1 Provisioning; not well: "), "{says}");

    stage.pods(HERE, names::PROVIDER_UID, running()).await?;
    let ready =
        |p: &Provider| p.status.as_ref().and_then(|s| s.workload.as_ref()?.reason) == Some(Reason::WorkloadAvailable);
    watch::see(&api, "vc", "its workload is available", SOON, ready).await?;
    let says = stage.told("1 Ready; not well: here/lost").await?;
    ensure!(!says.contains("here/vc ("), "one that is well is named: {says}");
    let refused = json!({ "status": { "conditions": [{
        "type": "Ready", "status": "False", "reason": "CredentialsRefused", "message": "no such user",
        "lastTransitionTime": "2026-01-01T00:00:00Z",
    }] } });
    api.patch_status("vc", &PatchParams::default(), &Patch::Merge(refused)).await?;
    stage.told("here/vc (CredentialsRefused: no such user)").await?;
    for name in ["lost", "vc"] {
        stage.cluster.kubectl(["-n", HERE, "delete", "provider", name, "--timeout=60s"])?;
    }
    operator.stop().await?;
    stage.cluster.kubectl(["delete", "namespace", HERE])?;
    stage.done(&["uninstall", "--all", "--yes"])?;
    Ok(())
}
