//! The operator was away: what happened meanwhile is made good, and a restart alone changes nothing.
use crate::five::SOON;
use crate::place::Place;
use crate::stage::Stage;
use crate::until::until;
use anyhow::{Context, Result, ensure};
use banlieue::fsm::Part;
use banlieue_e2e::{rights, watch};
use kube::ResourceExt;
use kube::api::DeleteParams;
use serde_json::json;
use std::time::{Duration, Instant};

/// The sweep looks twice, 30 s apart.
const SWEPT: Duration = Duration::from_secs(90);

/// One deleted while the operator was away, one whose finalizer was taken off by hand, one that was made again after that,
/// one edited: all come right.
pub(crate) async fn what_was_deleted_meanwhile(stage: &Stage) -> Result<()> {
    let place = Place::new(stage, "away").await?;
    for name in ["deleted", "torn", "again", "edited"] {
        place.register(name).await?;
    }
    for name in ["deleted", "torn", "again", "edited"] {
        place.ready(name).await?;
    }
    let account = &place.five("torn").at(Part::ServiceAccount).name.clone();
    let account = format!("system:serviceaccount:{}:{account}", place.name);
    let granted =
        async || rights::allowed(&stage.client, &account, ("banlieue.io", "providerclasses"), "list", None).await;
    ensure!(granted().await?, "the pods were never granted anything");

    stage.stop_operator().await?;
    for name in ["deleted", "torn", "again"] {
        place.delete(name, &DeleteParams::default()).await?;
    }
    for name in ["torn", "again"] {
        place.edit(name, json!({ "metadata": { "finalizers": null } })).await?;
        watch::gone(&place.providers, name, SOON).await?;
    }
    let again = place.register("again").await?;
    place.five("edited").delete(Part::Role).await?;
    let held = place.providers.get("deleted").await?;
    ensure!(!held.finalizers().is_empty(), "nothing holds the Provider");
    ensure!(place.five("torn").find(Part::ClusterRoleBinding).await?.is_some(), "who took the binding?");

    let began = Instant::now();
    stage.start_operator().await?;
    watch::gone(&place.providers, "deleted", SOON).await?;
    place.five("deleted").gone().await?;
    until("the Role is back", SOON, async || {
        Ok(place.five("edited").find(Part::Role).await?.context("it is missing").map_err(|e| e.to_string()))
    })
    .await?;
    let torn = place.five("torn");
    until("the orphaned binding is swept", SWEPT, async || {
        Ok(match torn.find(Part::ClusterRoleBinding).await? {
            None => Ok(()),
            Some(_) => Err("it is there".into()),
        })
    })
    .await?;
    println!("figure: an orphan was swept {} s after the start", began.elapsed().as_secs());
    torn.gone().await?;
    until("the grant is gone", SOON, async || {
        Ok(if granted().await? { Err("it may still list classes".into()) } else { Ok(()) })
    })
    .await?;
    place.ready("edited").await?;
    place.ready("again").await?;
    place.five("again").stamped(&again).await
}

/// It looks at every Provider, and writes nothing.
pub(crate) async fn a_restart_writes_nothing(stage: &Stage) -> Result<()> {
    let place = Place::new(stage, "away-rest").await?;
    let names: Vec<String> = (0..10).map(|i| format!("p{i}")).collect();
    place.fleet(&names).await?;
    let known: Vec<&str> = names.iter().map(String::as_str).collect();
    let writes = place.writes(&known)?;
    stage.stop_operator().await?;
    let began = Instant::now();
    stage.start_operator().await?;
    println!("figure: a restart until it leads again: {} ms", began.elapsed().as_millis());
    let all = kube::Api::<banlieue::k8s::crd::Provider>::all(stage.client.clone()).list(&Default::default()).await?;
    let slot = stage.operator.lock().await;
    slot.as_ref().context("no operator runs")?.reconciled(all.items.len() as f64).await?;
    writes.none()
}
