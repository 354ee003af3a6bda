//! A class swapped under one of several Providers, and a class edited under many.
use crate::five::SOON;
use crate::place::{Place, workload};
use crate::stage::Stage;
use crate::until::until;
use crate::writes::{each, what};
use anyhow::{Context, Result, ensure};
use banlieue::fsm::{Phase, Reason};
use banlieue::k8s::crd::Backend;
use serde_json::json;

/// A rolling update of that one, in place; the others are not touched.
pub(crate) async fn one_of_three(stage: &Stage) -> Result<()> {
    let place = Place::new(stage, "canary").await?;
    let image = json!({ "repository": "registry.invalid/banlieue", "tag": "canary" });
    let class = place.class("canary-next", Backend::Vsphere, json!({ "image": image })).await?;
    place.fleet(&["a", "b", "c"]).await?;
    let uids = place.five("b").uids().await?;
    // Ready is the operator's last write, the Deployment's controller may still write after it
    let still = |name: &'static str| {
        let five = place.five(name);
        async move { anyhow::Ok(five.deployment("/metadata/generation").await?.zip(Some(five.uids().await?))) }
    };
    let before = (place.providers.get("a").await?, place.providers.get("c").await?);
    let others = (still("a").await?, still("c").await?);
    let writes = place.writes(&["a", "c"])?;

    place.edit("b", json!({ "spec": { "providerClassRef": { "name": "canary-next" } } })).await?;
    let swapped = place
        .says("b", "Ready of the canary", |w| {
            w.phase == Phase::Ready && w.image.as_deref() == Some("registry.invalid/banlieue:canary")
        })
        .await?;
    let status = workload(&swapped).context("no status")?;
    let told = status.provider_class.as_ref().context("no class")?;
    ensure!(told.name == "canary-next" && told.generation == class.metadata.generation, "it says {told:?}");
    let changed: Vec<_> = status.transitions.iter().map(|t| t.reason).collect();
    ensure!(changed.ends_with(&[Reason::ClassChanged, Reason::WorkloadAvailable]), "edges {changed:?}");
    ensure!(place.five("b").uids().await? == uids, "an object was made anew");

    ensure!(others == (still("a").await?, still("c").await?), "another one was touched");
    let after = (place.providers.get("a").await?, place.providers.get("c").await?);
    let versions = |(a, c): &(banlieue::k8s::crd::Provider, banlieue::k8s::crd::Provider)| {
        (a.metadata.resource_version.clone(), c.metadata.resource_version.clone())
    };
    ensure!(versions(&before) == versions(&after), "another Provider was written");
    let strange: Vec<_> = writes.entries()?.into_iter().filter(|e| !about_b(e)).map(|e| e.line()).collect();
    ensure!(strange.is_empty(), "written for the others: {strange:?}");
    Ok(())
}

fn about_b(entry: &banlieue_e2e::audit::Entry) -> bool {
    let name = entry.object_ref.as_ref().map_or("", |o| &o.name);
    // the name of a new Event is in its body alone
    name == "b" || name.ends_with("-b") || entry.resource() == "events"
}

/// One patch of the tag: for each of twenty one write of its Deployment, one of its status, one Event.
pub(crate) async fn twenty_providers_follow_an_edit(stage: &Stage) -> Result<()> {
    const FLEET: usize = 20;
    let place = Place::new(stage, "fleet").await?;
    let names: Vec<String> = (0..FLEET).map(|i| format!("p{i}")).collect();
    place.fleet(&names).await?;
    stage.kubelet.hold(&place.name);
    let known: Vec<&str> = names.iter().map(String::as_str).collect();
    let writes = place.writes(&known)?;
    let class = place.edit_class(&place.name, json!({ "image": { "tag": "2" } })).await?;
    for name in &names {
        let seen =
            place.says(name, "the new image", |w| w.image.as_deref() == Some("registry.invalid/banlieue:2")).await?;
        let told = workload(&seen).and_then(|w| w.provider_class.as_ref()).context("no class")?;
        ensure!(told.generation == class.metadata.generation, "{name} speaks of {told:?}");
    }
    until("every Deployment has a new pod", SOON, async || {
        let mut waiting = Vec::new();
        for name in &names {
            if place.five(name).deployment("/status/updatedReplicas").await? != Some(json!(1)) {
                waiting.push(name);
            }
        }
        Ok(if waiting.is_empty() { Ok(()) } else { Err(format!("{waiting:?} have none")) })
    })
    .await?;
    let wanted = each(&["patch deployments", "patch providers/status", "create events"], FLEET);
    let counts = writes.come_to("the edit", |counts| *counts == wanted).await?;
    println!("figure: an edit of a class of {FLEET}: {counts:?}");
    stage.kubelet.release(&place.name).await?;
    for name in &names {
        place.ready(name).await?;
    }
    let all = writes.entries()?;
    let work: Vec<_> = all.iter().map(what).filter(|w| w == "patch deployments").collect();
    ensure!(work.len() == FLEET, "{} writes of Deployments in the end", work.len());
    Ok(())
}

/// A digest wins over the tag, so another tag changes no Provider: its status says which class it is now, and that is all.
pub(crate) async fn an_edit_that_changes_nothing(stage: &Stage) -> Result<()> {
    let place = Place::new(stage, "fleet-same").await?;
    let digest = format!("sha256:{}", "0".repeat(64));
    place.edit_class(&place.name, json!({ "image": { "digest": digest } })).await?;
    place.registered("p").await?;
    let writes = place.writes(&["p"])?;
    let class = place.edit_class(&place.name, json!({ "image": { "tag": "2" } })).await?;
    let told = |w: &banlieue::fsm::WorkloadStatus| {
        w.provider_class.as_ref().is_some_and(|c| c.generation == class.metadata.generation)
    };
    place.says("p", "the new generation", told).await?;
    writes.come_to("the edit", |counts| *counts == each(&["patch providers/status"], 1)).await.map(drop)
}
