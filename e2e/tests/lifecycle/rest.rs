//! Rest: how much is written to get there, and nothing once there.
use crate::five::SOON;
use crate::place::{Place, workload};
use crate::stage::Stage;
use crate::until::until;
use anyhow::{Result, ensure};
use banlieue::fsm::Phase;
use banlieue::k8s::crd::Provider;
use banlieue_e2e::watch;
use serde_json::json;
use std::collections::BTreeMap;
use std::time::Duration;

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
    let five = place.five("p");
    until("the Deployment has made its pod", SOON, async || {
        let made = five.deployment("/status/unavailableReplicas").await?;
        Ok(if made == Some(json!(1)) { Ok(()) } else { Err(format!("{made:?}")) })
    })
    .await?;
    let counts = writes.counts()?;
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
    ensure!(counts == BTreeMap::from(first.map(|w| (w.to_owned(), 1))), "counted {counts:?}");
    stage.kubelet.release(&place.name).await?;
    place.ready("p").await?;
    let counts = writes.counts()?;
    println!("figure: a new Provider until it is Ready: {counts:?}");
    let twice = |w: &str| if w == "create events" || w == "patch providers/status" { 2 } else { 1 };
    ensure!(counts == BTreeMap::from(first.map(|w| (w.to_owned(), twice(w)))), "counted {counts:?}");
    Ok(())
}

/// A minute, with many of them Ready: not one write, not one Event, no resourceVersion moves.
pub(crate) async fn fifty_providers_at_rest(stage: &Stage) -> Result<()> {
    let place = Place::new(stage, "rest").await?;
    let names: Vec<String> = (0..FLEET).map(|i| format!("p{i}")).collect();
    let known: Vec<&str> = names.iter().map(String::as_str).collect();
    let making = place.writes(&known)?;
    for name in &names {
        place.register(name).await?;
    }
    for name in &names {
        place.ready(name).await?;
    }
    println!("figure: {FLEET} Providers until they are Ready: {:?}", making.counts()?);
    let versions = async || {
        let list = place.providers.list(&Default::default()).await?;
        anyhow::Ok(list.items.into_iter().map(|p| p.metadata.resource_version).collect::<Vec<_>>())
    };
    let (writes, before) = (place.writes(&known)?, versions().await?);
    let fault = |p: &Provider| workload(p).is_none_or(|w| w.phase != Phase::Ready);
    watch::never(&place.providers, "p0", "it is no longer Ready", REST, fault).await?;
    writes.none()?;
    ensure!(before == versions().await?, "a Provider was written");
    Ok(())
}
