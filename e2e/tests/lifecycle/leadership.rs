//! Two operators: one works, and the other takes over when it is killed.
use crate::five::SOON;
use crate::place::{Place, workload};
use crate::stage::Stage;
use anyhow::{Context, Result, ensure};
use banlieue_e2e::watch;
use std::time::{Duration, Instant};

/// From the kill to the first write of the other one.
const FAILOVER: Duration = Duration::from_secs(20);

pub(crate) async fn a_killed_leader_is_replaced(stage: &Stage) -> Result<()> {
    let place = Place::new(stage, "leader").await?;
    let second = stage.another_operator("second")?;
    second.ready().await?;
    ensure!(second.metric("leader_election_master_status").await? == Some(0.0), "both lead");
    place.registered("before").await?;
    ensure!(second.metric("banlieue_effects_total").await?.unwrap_or(0.0) == 0.0, "the second one wrote");

    let mut slot = stage.operator.lock().await;
    slot.take().context("no operator runs")?.kill()?;
    let began = Instant::now();
    *slot = Some(second);
    drop(slot);
    place.register("after").await?;
    watch::see(&place.providers, "after", "a first write", SOON, |p| workload(p).is_some()).await?;
    let took = began.elapsed();
    println!("figure: from the kill of the leader to the first status of the other: {:.1} s", took.as_secs_f64());
    ensure!(took < FAILOVER, "it took {took:?}");
    place.ready("after").await?;
    Ok(())
}

/// One that slept through its Lease finds another leader when it wakes: it writes nothing, and ends.
pub(crate) async fn a_leader_that_sleeps_is_replaced(stage: &Stage) -> Result<()> {
    let place = Place::new(stage, "sleeper").await?;
    place.registered("before").await?;
    let second = stage.another_operator("third")?;
    second.ready().await?;
    let mut slot = stage.operator.lock().await;
    let sleeper = slot.take().context("no operator runs")?;
    sleeper.signal("STOP")?;
    second.leads().await?;
    place.register("asleep").await?;
    place.ready("asleep").await?;
    let writes = place.writes(&["asleep", "before"])?;
    sleeper.signal("CONT")?;
    let status = sleeper.ends(SOON).await?;
    ensure!(!status.success(), "it calls the loss of its Lease a success");
    writes.none()?;
    *slot = Some(second);
    Ok(())
}
