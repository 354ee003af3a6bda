//! A backend that is gone and comes back, and one in the place of another.
use crate::place::{NOWHERE, condition};
use crate::sim::{AT_ONCE, Sim};
use crate::site::{LOOK, Site};
use crate::stage::Stage;
use crate::watch;
use anyhow::{Result, ensure};
use banlieue::fsm::{Phase, Reason};
use banlieue::k8s::crd::ConditionStatus::False;
use banlieue::k8s::crd::Provider;
use banlieue_e2e::vcsim::Model;
use serde_json::json;

/// Killed, the simulator comes back without the session: a new one is made, and no password was wrong. Stopped, it is said to be
/// gone, to people and to the operator; started, all is well by itself.
pub(crate) async fn a_vcenter_that_is_killed_and_one_that_stays_away(stage: &Stage) -> Result<()> {
    let site = Site::new(stage, "absence").await?;
    let sim = Sim::start(stage, "absence", Model::default())?;
    site.join(&sim, "vc").await?;
    let refused = |p: &Provider| condition(p, "Authenticated").is_some_and(|c| c.status == False);
    let story = async {
        stage.cluster.signal_component(&sim.component, 9)?;
        // its control port answers no one while it is away
        crate::until::until("the simulator is back", AT_ONCE, async || {
            Ok(sim.counts().await.map_err(|error| format!("{error:#}")))
        })
        .await?;
        site.wake("vc").await?;
        let counts = sim.count("a new session", LOOK, |c| c.sessions == 1).await?;
        ensure!(counts.logins == 1 && counts.refused == 0, "{counts:?}");
        site.good("vc").await?;

        stage.cluster.stop_component(&sim.component)?;
        site.wake("vc").await?;
        site.says("vc", "Reachable", (False, "ConnectionRefused"), AT_ONCE).await?;
        site.phase("vc", Phase::Provisioning, Reason::WaitingForBackend).await?;
        stage.cluster.start_component(&sim.component)?;
        site.good("vc").await?;
        site.ready("vc").await?;
        Ok(())
    };
    site.while_never("vc", "an absence was taken for a wrong password", refused, story).await?;
    site.end().await
}

/// The endpoint edited: the old backend gets its session back, nothing that it said stays.
pub(crate) async fn an_endpoint_that_is_edited(stage: &Stage) -> Result<()> {
    let site = Site::new(stage, "edited").await?;
    let old = Sim::start(stage, "edited-old", Model::default())?;
    let new = Sim::start(stage, "edited-new", Model { datacenters: 2, ..Default::default() })?;
    site.join(&old, "vc").await?;
    let domains = |p: &Provider| p.status.as_ref().map_or(0, |s| s.failure_domains.len());

    site.reconnect("vc", json!({"endpoint": new.endpoint})).await?;
    let provider = site.good("vc").await?;
    ensure!(domains(&provider) == 2, "{}", watch::show(&Some(&provider)));
    old.sessions(0).await?;
    new.sessions(1).await?;

    site.reconnect("vc", json!({"endpoint": NOWHERE})).await?;
    let provider = site.says("vc", "Reachable", (False, "NameNotResolved"), AT_ONCE).await?;
    let said = provider.status.clone().unwrap_or_default();
    ensure!(said.failure_domains.is_empty() && said.backend.is_none(), "{}", watch::show(&Some(&provider)));
    new.sessions(0).await?;

    site.reconnect("vc", json!({"endpoint": old.endpoint})).await?;
    let provider = site.good("vc").await?;
    ensure!(domains(&provider) == 1, "{}", watch::show(&Some(&provider)));
    old.sessions(1).await?;
    site.end().await
}
