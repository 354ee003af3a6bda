//! Two operators: one works, and the other takes over when it is killed, sleeps or is deposed by hand.
use crate::detour::alone;
use crate::five::SOON;
use crate::place::{Place, workload};
use crate::stage::Stage;
use crate::until::until;
use anyhow::{Context, Result, bail, ensure};
use banlieue::k8s::manifests::names;
use banlieue_e2e::watch;
use k8s_openapi::api::coordination::v1::Lease;
use kube::Api;
use kube::api::{DeleteParams, Patch, PatchParams};
use serde_json::json;
use std::time::Instant;

/// The set of options that replaces a killed leader within ten seconds (docs/operations.md).
pub(crate) const FAST: [&str; 3] =
    ["--leader-elect-lease-duration=6s", "--leader-elect-renew-deadline=4s", "--leader-elect-retry-period=1s"];

/// Who holds the operator's Lease.
pub(crate) async fn holder(stage: &Stage) -> Result<Option<String>> {
    holder_of(stage, names::OPERATOR).await
}

/// Who holds the Lease of a role.
pub(crate) async fn holder_of(stage: &Stage, role: &str) -> Result<Option<String>> {
    Ok(leases(stage).get_opt(role).await?.and_then(|lease| lease.spec?.holder_identity))
}

/// The operator's Lease, where it is there.
pub(crate) async fn lease(stage: &Stage) -> Result<Option<Lease>> {
    Ok(leases(stage).get_opt(names::OPERATOR).await?)
}

fn leases(stage: &Stage) -> Api<Lease> {
    Api::namespaced(stage.client.clone(), names::DEFAULT_NAMESPACE)
}

/// A busy machine may make a leader lose so short a Lease by itself, and with it what this test begins from; then it begins anew.
pub(crate) async fn a_killed_leader_is_replaced(stage: &Stage) -> Result<()> {
    let place = Place::new(stage, "leader").await?;
    alone(stage, async || {
        for round in ["1st", "2nd", "3rd", "4th"] {
            if replaced(stage, &place, round).await? {
                return Ok(());
            }
        }
        bail!("each time the leader had lost its Lease before it was killed")
    })
    .await
}

/// Whether the leader led until it was killed; then the other one has replaced it.
async fn replaced(stage: &Stage, place: &Place<'_>, round: &str) -> Result<bool> {
    let [one, other] = ["first", "second"].map(|who| format!("{who}-{round}"));
    let [before, after] = ["before", "after"].map(|when| format!("{when}-{round}"));
    let first = stage.operator_by(&stage.kubeconfig, &one, &FAST)?;
    first.leads().await?;
    let second = stage.operator_by(&stage.kubeconfig, &other, &FAST)?;
    second.ready().await?;
    place.registered(&before).await?;
    let (led, wrote) = (
        second.metric("leader_election_master_status").await?.unwrap_or(0.0) > 0.0,
        second.metric("banlieue_effects_total").await?.unwrap_or(0.0) > 0.0,
    );
    if holder(stage).await?.as_deref() != Some(one.as_str()) {
        return Ok(false);
    }
    ensure!(!led && !wrote, "the second one led or wrote beside the first");

    first.kill()?;
    let began = Instant::now();
    place.register(&after).await?;
    watch::see(&place.providers, &after, "a first write", SOON, |p| workload(p).is_some()).await?;
    let took = began.elapsed().as_secs_f64();
    println!("figure: from the kill of the leader to the first status of the other, with 6s, 4s and 1s: {took:.1} s");
    ensure!(holder(stage).await?.as_deref() == Some(other.as_str()));
    place.ready(&after).await?;
    second.stop().await?;
    Ok(true)
}

/// The Lease is deleted, then its holder is edited away: the leader takes it back, and the other one never leads.
pub(crate) async fn a_lease_that_a_hand_takes_away(stage: &Stage) -> Result<()> {
    let second = stage.another_operator("patient-second")?;
    second.ready().await?;
    let leader = holder(stage).await?.context("nobody leads")?;
    let back = async |uid: Option<&str>| {
        until("the leader has taken it back", SOON, async || {
            let lease = lease(stage).await?.unwrap_or_default();
            let spec = lease.spec.clone().unwrap_or_default();
            let held = spec.holder_identity.as_ref() == Some(&leader) && lease.metadata.uid.as_deref() != uid;
            Ok(if held { Ok(()) } else { Err(format!("{lease:?}")) })
        })
        .await
    };
    let before = lease(stage).await?.context("no Lease")?;
    leases(stage).delete(names::OPERATOR, &DeleteParams::default()).await?;
    back(before.metadata.uid.as_deref()).await?;
    let edit = json!({ "spec": { "holderIdentity": null } });
    leases(stage).patch(names::OPERATOR, &PatchParams::default(), &Patch::Merge(edit)).await?;
    back(None).await?;
    ensure!(second.metric("leader_election_master_status").await? == Some(0.0), "the other one led, too");
    let log = std::fs::read_to_string(stage.cluster.run_dir().log("patient-second"))?;
    ensure!(!log.contains("leadership changed"), "the other one led for a while:\n{log}");
    second.stop().await
}

/// Somebody writes another holder into the Lease: the leader ends, and once the stranger is silent the other one leads.
pub(crate) async fn a_lease_that_a_hand_gives_away(stage: &Stage) -> Result<()> {
    let place = Place::new(stage, "leader-edited").await?;
    let first = stage.take_operator().await?;
    let second = stage.another_operator("heir")?;
    second.ready().await?;
    let edit = json!({ "spec": { "holderIdentity": "a-stranger" } });
    leases(stage).patch(names::OPERATOR, &PatchParams::default(), &Patch::Merge(edit)).await?;
    let status = first.ends(SOON).await?;
    ensure!(status.code() == Some(1), "it ended with {status}");
    second.leads().await?;
    place.registered("p").await?;
    *stage.operator.lock().await = Some(second);
    Ok(())
}

/// One replica alone needs no Lease, and touches none.
pub(crate) async fn without_an_election(stage: &Stage) -> Result<()> {
    let place = Place::new(stage, "leader-none").await?;
    alone(stage, async || {
        let before = lease(stage).await?.and_then(|lease| lease.metadata.resource_version);
        let operator = stage.operator_by(&stage.kubeconfig, "only", &["--no-leader-elect"])?;
        operator.leads().await?;
        place.registered("p").await?;
        operator.stop().await?;
        let after = lease(stage).await?.and_then(|lease| lease.metadata.resource_version);
        ensure!(before == after, "it wrote the Lease: {before:?} {after:?}");
        Ok(())
    })
    .await
}

/// One that slept through its Lease finds another leader when it wakes: it writes nothing, and ends.
pub(crate) async fn a_leader_that_sleeps_is_replaced(stage: &Stage) -> Result<()> {
    let place = Place::new(stage, "sleeper").await?;
    place.registered("before").await?;
    let second = stage.another_operator("third")?;
    second.ready().await?;
    let sleeper = stage.take_operator().await?;
    sleeper.signal("STOP")?;
    second.leads().await?;
    place.registered("asleep").await?;
    let writes = place.writes(&["asleep", "before"])?;
    sleeper.signal("CONT")?;
    let status = sleeper.ends(SOON).await?;
    ensure!(!status.success(), "it calls the loss of its Lease a success");
    writes.none()?;
    *stage.operator.lock().await = Some(second);
    Ok(())
}
