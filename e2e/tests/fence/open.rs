//! An open fence: told everywhere, nothing minted; and what closes it again.
use crate::operator::Operator;
use crate::scene::{HOME, SOON, Scene, provider};
use crate::stage::Stage;
use anyhow::{Context, Result, ensure};
use banlieue::fsm::Reason;
use banlieue::k8s::crd::Provider;
use banlieue::k8s::manifests::names;
use banlieue_e2e::watch;
use k8s_openapi::api::admissionregistration::v1::ValidatingAdmissionPolicyBinding;
use k8s_openapi::api::rbac::v1::Role;
use kube::api::{Api, DeleteParams, ObjectMeta, PostParams};
use serde_json::json;

/// Takes the policy on Roles out of force, and waits until it is.
async fn unbind(stage: &Stage, policy: &str) -> Result<()> {
    let api: Api<ValidatingAdmissionPolicyBinding> = Api::all(stage.client.clone());
    api.delete(policy, &DeleteParams::default()).await?;
    let roles: Api<Role> = Api::namespaced(stage.taken_over.clone(), HOME);
    let role = Role { metadata: ObjectMeta { name: Some("probe".into()), ..Default::default() }, ..Default::default() };
    crate::until::until("the policy is out of force", SOON, async || {
        let answer = roles.create(&PostParams { dry_run: true, ..Default::default() }, &role).await;
        Ok(answer.map(drop).map_err(|error| error.to_string()))
    })
    .await
}

async fn waits_for(operator: &Operator, what: &str, check: impl Fn(&str, f64) -> bool) -> Result<()> {
    crate::until::until(what, SOON, async || {
        let said = operator.readyz().await;
        let open = operator.metric("banlieue_fence_open").await?.unwrap_or(-1.0);
        Ok(if check(&said, open) { Ok(()) } else { Err(format!("{open} open; {said}")) })
    })
    .await
}

fn reason(provider: &Provider) -> Option<Reason> {
    provider.status.as_ref()?.workload.as_ref()?.reason
}

/// Nothing is created; what runs is left alone; a deletion goes on; a second bootstrap closes it, and nobody has to ask.
pub(crate) async fn an_open_fence_stops_the_mint(stage: &Stage) -> Result<()> {
    Scene::of(stage).await?;
    let api: Api<Provider> = Api::namespaced(stage.client.clone(), HOME);
    provider(&stage.client, "leaves", json!({})).await?;
    watch::see(&api, "leaves", "it is minted", SOON, |p| reason(p).is_some()).await?;
    let policy = names::fence("roles");
    unbind(stage, &policy).await?;
    let mut slot = stage.operator.lock().await;
    slot.take().context("no operator runs")?.stop().await?;
    let operator = stage.operator("unfenced", &[])?;
    operator.leads().await?;
    waits_for(&operator, "it says so", |said, open| said.contains(&policy) && open == 1.0).await?;
    let log = std::fs::read_to_string(stage.cluster.run_dir().log("unfenced"))?;
    ensure!(log.contains("not fenced in") && log.contains(&policy), "the log does not tell");

    provider(&stage.client, "waits", json!({})).await?;
    watch::see(&api, "waits", "FenceOpen", SOON, |p| reason(p) == Some(Reason::FenceOpen)).await?;
    let untouched = api.get("minted").await?;
    ensure!(reason(&untouched) != Some(Reason::FenceOpen), "it owes nothing, and says FenceOpen");
    api.delete("leaves", &DeleteParams::default()).await?;
    watch::gone(&api, "leaves", SOON).await?;

    stage.bootstrap()?;
    waits_for(&operator, "it is fenced in", |said, open| said == "ok" && open == 0.0).await?;
    watch::see(&api, "waits", "it goes on", SOON, |p| reason(p).is_some_and(|r| r != Reason::FenceOpen)).await?;
    *slot = Some(operator);
    Ok(())
}

/// It still says so.
pub(crate) async fn an_operator_that_is_told_to_goes_on(stage: &Stage) -> Result<()> {
    Scene::of(stage).await?;
    let api: Api<Provider> = Api::namespaced(stage.client.clone(), HOME);
    unbind(stage, &names::fence("roles")).await?;
    let mut slot = stage.operator.lock().await;
    slot.take().context("no operator runs")?.stop().await?;
    let operator = stage.operator("allowed", &["--allow-unfenced"])?;
    operator.leads().await?;
    waits_for(&operator, "it is ready", |said, open| said == "ok" && open == 1.0).await?;
    provider(&stage.client, "goes-on", json!({})).await?;
    let minted = |p: &Provider| reason(p).is_some_and(|r| r.phase() == banlieue::fsm::Phase::Provisioning);
    watch::see(&api, "goes-on", "it is minted", SOON, minted).await?;
    stage.bootstrap()?;
    waits_for(&operator, "it is fenced in", |_, open| open == 0.0).await?;
    *slot = Some(operator);
    Ok(())
}
