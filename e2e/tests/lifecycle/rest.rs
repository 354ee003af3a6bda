//! Rest: how much is written to get there, and nothing once there.
use crate::five::SOON;
use crate::place::{Place, workload};
use crate::stage::Stage;
use crate::until::until;
use crate::writes::{Counts, each, statuses};
use anyhow::{Result, ensure};
use banlieue::fsm::{Phase, Reason};
use banlieue::k8s::crd::Provider;
use banlieue_e2e::watch;
use k8s_openapi::api::core::v1::Pod;
use kube::Api;
use serde_json::json;
use std::time::{Duration, Instant};

/// How long nothing may be written.
const REST: Duration = Duration::from_secs(60);
/// How many are at rest.
const FLEET: usize = 50;

/// The finalizer, the five, the status and its Event; and for Ready a status and an Event more.
pub(crate) async fn a_new_provider_takes_eight_writes(stage: &Stage) -> Result<()> {
    let place = Place::new(stage, "rest-new").await?;
    stage.kubelet.hold(&place.name);
    let writes = place.writes(&["p"])?;
    place.register("p").await?;
    place.says("p", "Provisioning", |w| w.phase == Phase::Provisioning).await?;
    pods_made(&place, 1).await?;
    let first = [
        "patch providers",
        "patch serviceaccounts",
        "patch roles",
        "patch rolebindings",
        "patch clusterrolebindings",
        "patch deployments",
        "create events",
        "patch providers/status",
    ];
    writes.come_to("a new Provider", |counts| *counts == each(&first, 1)).await?;
    stage.kubelet.release(&place.name).await?;
    place.ready("p").await?;
    let mut wanted = each(&first, 1);
    wanted.extend(each(&["create events", "patch providers/status"], 2));
    let counts = writes.come_to("Ready", |counts| *counts == wanted).await?;
    println!("figure: a new Provider until it is Ready: {counts:?}");
    Ok(())
}

/// Each further edge: one status and one Event. What changes the Deployment writes that too, and nothing else.
pub(crate) async fn each_edge_takes_two_writes(stage: &Stage) -> Result<()> {
    let place = Place::new(stage, "rest-edges").await?;
    place.registered("p").await?;
    stage.kubelet.hold(&place.name);
    let edge = ["patch providers/status", "create events"];
    let mut writes = place.writes(&["p"])?;
    let mut took = async |what: &str, more: &[&str]| {
        // the operator's last write is the status, and its Event goes beside it: the next edge waits for both
        let wanted = each(&[&edge, more].concat(), 1);
        writes.come_to(what, |counts| *counts == wanted).await?;
        writes = place.writes(&["p"])?;
        anyhow::Ok(())
    };
    place.edit("p", json!({ "spec": { "paused": true } })).await?;
    place.reason("p", Reason::ProviderPaused).await?;
    took("a pause", &[]).await?;
    place.edit("p", json!({ "spec": { "paused": null } })).await?;
    place.ready("p").await?;
    took("its end", &[]).await?;
    place.edit("p", json!({ "spec": { "providerClassRef": { "name": "rest-edges-none" } } })).await?;
    place.reason("p", Reason::ClassNotFound).await?;
    took("a class that is not there", &[]).await?;
    place.edit("p", json!({ "spec": { "providerClassRef": { "name": "rest-edges" } } })).await?;
    place.ready("p").await?;
    took("its return", &[]).await?;
    place.edit_class("rest-edges", json!({ "image": { "tag": "2" } })).await?;
    place.says("p", "it rolls", |w| w.phase == Phase::Provisioning).await?;
    took("another image", &["patch deployments"]).await?;
    stage.kubelet.release(&place.name).await?;
    place.ready("p").await?;
    // the new pod is ready before the old one is gone: that both are is a number, which may be told, too
    let right = |counts: &Counts| {
        let (statuses, others) = statuses(counts);
        (1..=2).contains(&statuses) && others == each(&["create events"], 1)
    };
    writes.come_to("the end of a rollout", right).await.map(drop)
}

/// Pods that become ready one after the other change a number and no phase: one status for a number, and not one for each
/// pod where many come at once.
pub(crate) async fn numbers_are_told_once_a_second(stage: &Stage) -> Result<()> {
    const PODS: i32 = 20;
    let place = Place::new(stage, "rest-numbers").await?;
    place.edit_class("rest-numbers", json!({ "replicas": PODS })).await?;
    stage.kubelet.hold(&place.name);
    place.register("p").await?;
    place.says("p", "Provisioning", |w| w.phase == Phase::Provisioning).await?;
    pods_made(&place, PODS).await?;
    let (writes, began) = (place.writes(&["p"])?, Instant::now());
    let (five, pods) = (place.five("p"), Api::<Pod>::namespaced(stage.client.clone(), &place.name));
    for (ready, pod) in (1..).zip(pods.list(&Default::default()).await?) {
        until("the Deployment counts one more", SOON, async || {
            stage.kubelet.tend(&pod).await;
            let counted = five.deployment("/status/readyReplicas").await?;
            Ok(if counted == Some(json!(ready)) { Ok(()) } else { Err(format!("{counted:?} of {ready}")) })
        })
        .await?;
    }
    place.says("p", "all are ready", |w| w.ready_replicas == Some(PODS)).await?;
    let seconds = began.elapsed().as_secs() as usize;
    // the edge, and then the numbers
    let right = |counts: &Counts| {
        let (statuses, others) = statuses(counts);
        statuses <= seconds + 2 && others == each(&["create events"], 1)
    };
    let counts = writes.come_to("numbers", right).await?;
    println!("figure: {PODS} pods became ready in {seconds} s: {counts:?}");
    Ok(())
}

/// Waits until the Deployment of `p` has made this many pods, none of which is ready.
async fn pods_made(place: &Place<'_>, pods: i32) -> Result<()> {
    let five = place.five("p");
    until("the Deployment has made its pods", SOON, async || {
        let made = five.deployment("/status/replicas").await?;
        Ok(if made == Some(json!(pods)) { Ok(()) } else { Err(format!("{made:?}")) })
    })
    .await
}

/// A minute, with many of them Ready: not one write, not one Event, no resourceVersion moves.
pub(crate) async fn fifty_providers_at_rest(stage: &Stage) -> Result<()> {
    at_rest(stage, "rest", REST).await
}

/// The same for ten minutes.
pub(crate) async fn fifty_providers_at_rest_for_ten_minutes(stage: &Stage) -> Result<()> {
    at_rest(stage, "rest-long", REST * 10).await
}

async fn at_rest(stage: &Stage, name: &str, span: Duration) -> Result<()> {
    let place = Place::new(stage, name).await?;
    let names: Vec<String> = (0..FLEET).map(|i| format!("p{i}")).collect();
    let known: Vec<&str> = names.iter().map(String::as_str).collect();
    let making = place.writes(&known)?;
    place.fleet(&names).await?;
    println!("figure: {FLEET} Providers until they are Ready: {:?}", making.counts()?);
    let versions = async || {
        let list = place.providers.list(&Default::default()).await?;
        anyhow::Ok(list.items.into_iter().map(|p| p.metadata.resource_version).collect::<Vec<_>>())
    };
    let (writes, before) = (place.writes(&known)?, versions().await?);
    let fault = |p: &Provider| workload(p).is_none_or(|w| w.phase != Phase::Ready);
    watch::never(&place.providers, "p0", "it is no longer Ready", span, fault).await?;
    writes.none()?;
    ensure!(before == versions().await?, "a Provider was written");
    Ok(())
}
