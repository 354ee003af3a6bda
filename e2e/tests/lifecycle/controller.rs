//! The controller: it sums up each class's fleet, and nothing else.
use crate::detour::{Detour, Fault};
use crate::five::SOON;
use crate::leadership::holder_of;
use crate::place::Place;
use crate::stage::Stage;
use crate::until::until;
use anyhow::{Result, ensure};
use banlieue::k8s::crd::{ProviderClass, ProviderClassStatus};
use banlieue::k8s::manifests::names;
use banlieue_e2e::proxy::Asked;
use banlieue_e2e::watch;
use serde_json::json;
use std::time::Instant;

/// A class says how many Providers name it, how many are Ready and how many follow it as it is now. Told to end while its
/// write is never answered, the controller ends and gives its Lease back.
pub(crate) async fn sums_up_and_ends(stage: &Stage) -> Result<()> {
    let place = Place::new(stage, "controller").await?;
    let account = format!("{}/{}", names::DEFAULT_NAMESPACE, names::CONTROLLER);
    let identity = stage.cluster.kubeconfig_as(&account).await?;
    let detour = Detour::of_role("controller", &identity, stage, &[], |_| None).await?;
    detour.operator.leads().await?;
    ensure!(
        detour.operator.metric("leader_election_master_status").await? == Some(1.0),
        "it does not say that it leads"
    );
    place.registered("a").await?;
    place.registered("b").await?;
    says(&place, (2, 2, 2), "True").await?;
    place.edit("b", json!({ "spec": { "paused": true } })).await?;
    says(&place, (2, 1, 2), "False").await?;
    place.edit_class(&place.name, json!({ "image": { "tag": "2" } })).await?;
    place.ready("a").await?;
    says(&place, (2, 1, 1), "False").await?;
    place.remove("b").await?;
    says(&place, (1, 1, 1), "True").await?;

    let status = format!("/providerclasses/{}/status", place.name);
    let hangs = status.clone();
    detour.faults.plot(move |asked: &Asked| asked.uri.path().ends_with(&hangs).then_some(Fault::Hang));
    let began = Instant::now();
    place.register("c").await?;
    until("a write is in hand", SOON, async || {
        let counts = detour.faults.counts(began);
        Ok(if counts.keys().any(|what| what.ends_with(&status)) { Ok(()) } else { Err(format!("{counts:?}")) })
    })
    .await?;
    detour.operator.signal("TERM")?;
    let Detour { operator, .. } = detour;
    let ended = operator.ends(SOON).await?;
    ensure!(ended.success(), "it ended with {ended}");
    let holder = holder_of(stage, names::CONTROLLER).await?;
    ensure!(holder.is_none(), "its Lease is held by {holder:?}");
    Ok(())
}

/// Waits until the class says so: its Providers, the Ready ones, those that follow it, and whether it is Ready.
async fn says(place: &Place<'_>, counts: (i32, i32, i32), ready: &str) -> Result<()> {
    let told = |class: &ProviderClass| {
        let ProviderClassStatus { conditions, observed_generation, providers, ready_providers, updated_providers } =
            class.status.clone().unwrap_or_default();
        let of = conditions.iter().find(|condition| condition.type_ == "Ready");
        (providers, ready_providers, updated_providers) == (Some(counts.0), Some(counts.1), Some(counts.2))
            && observed_generation == class.metadata.generation
            && of.is_some_and(|condition| format!("{:?}", condition.status) == ready)
    };
    watch::see(&place.classes, &place.name, &format!("{counts:?} and Ready {ready}"), SOON, told).await?;
    Ok(())
}
