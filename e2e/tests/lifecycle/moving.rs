//! Moving: the old pods end before anything new is made, and nothing is left where the workload was.
use crate::five::{Five, SOON};
use crate::place::{Place, message, namespace, workload};
use crate::stage::Stage;
use crate::until::until;
use anyhow::{Result, ensure};
use banlieue::fsm::{Part, Phase, Reason};
use banlieue::k8s::crd::{Backend, Provider};
use banlieue::k8s::kinds;
use banlieue_e2e::watch;
use k8s_openapi::api::core::v1::Pod;
use kube::Api;
use kube::api::{DynamicObject, PostParams};
use serde_json::json;
use std::time::{Duration, Instant};

pub(crate) async fn to_a_class_of_another_backend(stage: &Stage) -> Result<()> {
    let place = Place::new(stage, "move-backend").await?;
    place.class("move-backend-next", Backend::Proxmox, json!({})).await?;
    let (old, new) = (place.five("p"), Five::new(&stage.client, Backend::Proxmox, &place.name, "p", None));
    let swap = async || {
        place.edit("p", json!({ "spec": { "providerClassRef": { "name": "move-backend-next" } } })).await.map(drop)
    };
    moves(&place, &place.name, &old, &new, swap).await
}

pub(crate) async fn to_another_workload_namespace(stage: &Stage) -> Result<()> {
    let place = Place::new(stage, "move-place").await?;
    namespace(stage, "move-place-pods").await?;
    let (old, new) = (place.five("p"), place.five_in("move-place-pods", "p"));
    let away = json!({ "workloadNamespace": "move-place-pods" });
    moves(&place, &place.name, &old, &new, async || place.edit_class(&place.name, away.clone()).await.map(drop))
        .await?;
    // and back
    let home = json!({ "workloadNamespace": null });
    moves(&place, "move-place-pods", &new, &old, async || place.edit_class(&place.name, home.clone()).await.map(drop))
        .await
}

/// Moves `p` while its old pod is held, and looks at what is there before and after that ends.
async fn moves(place: &Place<'_>, pods: &str, old: &Five, new: &Five, go: impl AsyncFn() -> Result<()>) -> Result<()> {
    let provider = match place.providers.get_opt("p").await? {
        Some(_) => place.ready("p").await?,
        None => place.registered("p").await?,
    };
    place.stage.kubelet.hold(pods);
    go().await?;
    let seen = place
        .says("p", "it waits for the old pod", |w| {
            w.reason == Some(Reason::ClassChanged) && w.message.as_deref().is_some_and(|m| m.contains("nothing runs"))
        })
        .await?;
    ensure!(message(&seen).contains(&format!("{pods}/")), "it names no pod: {}", message(&seen));
    ensure!(old.find(Part::Deployment).await?.is_none(), "the old Deployment is there");
    ensure!(new.find(Part::Deployment).await?.is_none(), "the new Deployment is there before the old pod is gone");
    place.stage.kubelet.release(pods).await?;
    let ready = place.ready("p").await?;
    let edges = workload(&ready).map(|w| w.transitions.iter().map(|t| t.reason).collect::<Vec<_>>());
    let edges = edges.unwrap_or_default();
    ensure!(edges.ends_with(&[Reason::ClassChanged, Reason::WorkloadAvailable]), "edges {edges:?}");
    new.stamped(&provider).await?;
    until("what was only old is gone", SOON, async || {
        let mut left = Vec::new();
        for part in Part::ALL {
            if old.at(part) != new.at(part) && old.find(part).await?.is_some() {
                left.push(old.at(part).to_string());
            }
        }
        Ok(if left.is_empty() { Ok(()) } else { Err(left.join(", ")) })
    })
    .await?;
    let account = new.at(Part::ServiceAccount);
    for part in [Part::RoleBinding, Part::ClusterRoleBinding] {
        let subject = new.get(part).await?.data["subjects"][0].clone();
        let bound = subject["namespace"].as_str() == account.namespace.as_deref() && subject["name"] == account.name;
        ensure!(bound, "{} binds {subject}", new.at(part));
    }
    Ok(())
}

/// Deleted while the old Deployment is gone and the new one is not made yet: nothing is left in either place.
pub(crate) async fn deleted_half_way(stage: &Stage) -> Result<()> {
    let place = Place::new(stage, "move-half").await?;
    namespace(stage, "move-half-pods").await?;
    place.registered("p").await?;
    let writes = place.writes(&["p"])?;
    stage.kubelet.hold(&place.name);
    place.edit_class(&place.name, json!({ "workloadNamespace": "move-half-pods" })).await?;
    place.says("p", "half moved", |w| w.message.as_deref().is_some_and(|m| m.contains("nothing runs"))).await?;
    place.leaves("p").await?;
    stage.kubelet.release(&place.name).await?;
    watch::gone(&place.providers, "p", SOON).await?;
    place.five("p").gone().await?;
    place.five_in("move-half-pods", "p").gone().await?;
    writes.nothing_created()
}

/// Paused between the old Deployment and the new one: it stays there and says so, and goes on when it is un-paused.
pub(crate) async fn paused_half_way(stage: &Stage) -> Result<()> {
    let place = Place::new(stage, "move-paused").await?;
    namespace(stage, "move-paused-pods").await?;
    place.registered("p").await?;
    stage.kubelet.hold(&place.name);
    place.edit_class(&place.name, json!({ "workloadNamespace": "move-paused-pods" })).await?;
    place.says("p", "half moved", |w| w.message.as_deref().is_some_and(|m| m.contains("nothing runs"))).await?;
    place.edit("p", json!({ "spec": { "paused": true } })).await?;
    let seen = place.reason("p", Reason::ProviderPaused).await?;
    ensure!(message(&seen).contains("nothing runs"), "it says {:?}", message(&seen));
    let writes = place.writes(&["p"])?;
    stage.kubelet.release(&place.name).await?;
    let pods: Api<Pod> = Api::namespaced(stage.client.clone(), &place.name);
    until("the old pod is gone", SOON, async || {
        let left = pods.list(&Default::default()).await?.items.len();
        Ok(if left == 0 { Ok(()) } else { Err(format!("{left} pods")) })
    })
    .await?;
    // written by the operator only after it has seen all that
    place.edit("p", json!({ "spec": { "connection": { "endpoint": "https://other.invalid/sdk" } } })).await?;
    watch::see(&place.providers, "p", "the new generation, paused", SOON, |p| {
        let status = workload(p).filter(|w| w.phase == Phase::Paused);
        status.is_some_and(|w| w.observed_generation == p.metadata.generation)
    })
    .await?;
    writes.no_work()?;
    place.edit("p", json!({ "spec": { "paused": null } })).await?;
    let ready = place.ready("p").await?;
    place.five_in("move-paused-pods", "p").stamped(&ready).await
}

/// Where the new place is not free, or not there, nothing of the old one is taken down.
pub(crate) async fn what_blocks_it_keeps_the_old_one_running(stage: &Stage) -> Result<()> {
    let place = Place::new(stage, "move-blocked").await?;
    let provider = place.registered("p").await?;
    let (old, new) = (place.five("p"), place.five_in("move-blocked-pods", "p"));
    let before = old.uids().await?;
    place.edit_class(&place.name, json!({ "workloadNamespace": "move-blocked-pods" })).await?;
    place.reason("p", Reason::NamespaceNotFound).await?;
    ensure!(old.uids().await? == before, "something of the old place was taken down");

    place.edit("p", json!({ "spec": { "paused": true } })).await?;
    place.reason("p", Reason::ProviderPaused).await?;
    namespace(stage, "move-blocked-pods").await?;
    let at = new.at(Part::ServiceAccount);
    let mut foreign = DynamicObject::new(&at.name, &kinds::resource(Part::ServiceAccount));
    foreign.metadata.namespace = at.namespace.clone();
    new.api(Part::ServiceAccount).create(&PostParams::default(), &foreign).await?;
    place.edit("p", json!({ "spec": { "paused": null } })).await?;
    let seen = place.reason("p", Reason::NameConflict).await?;
    ensure!(message(&seen).contains(&at.to_string()), "it says {:?}", message(&seen));
    ensure!(old.uids().await? == before, "something of the old place was taken down");

    new.delete(Part::ServiceAccount).await?;
    place.ready("p").await?;
    new.stamped(&provider).await?;
    ensure!(old.find(Part::Deployment).await?.is_none(), "the old Deployment is there");
    Ok(())
}

/// A pod whose node is lost never ends: a minute past its deletion it counts as gone, and the move goes on.
pub(crate) async fn past_a_lost_node(stage: &Stage) -> Result<()> {
    const LOST: Duration = Duration::from_secs(240);
    let place = Place::new(stage, "move-lost").await?;
    namespace(stage, "move-lost-pods").await?;
    place.registered("p").await?;
    stage.kubelet.hold(&place.name);
    let began = Instant::now();
    place.edit_class(&place.name, json!({ "workloadNamespace": "move-lost-pods" })).await?;
    let moved = |p: &Provider| {
        workload(p).is_some_and(|w| w.phase == Phase::Ready && w.namespace.as_deref() == Some("move-lost-pods"))
    };
    watch::see(&place.providers, "p", "Ready elsewhere", LOST, moved).await?;
    let took = began.elapsed();
    println!("figure: a move past a pod that never ends: {} s", took.as_secs());
    ensure!(took > Duration::from_secs(60), "it did not wait");
    stage.kubelet.release(&place.name).await
}
