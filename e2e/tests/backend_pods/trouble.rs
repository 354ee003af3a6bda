//! A backend in trouble: each kind of it has its own name, and is over by itself.
use crate::place::{condition, restarts};
use crate::sim::{AT_ONCE, Sim};
use crate::site::{LOOK, Site, not_ready};
use crate::stage::Stage;
use anyhow::{Context, Result, ensure};
use banlieue::k8s::crd::ConditionStatus::{False, True};
use banlieue::k8s::manifests::names;
use banlieue_e2e::vcsim::Model;
use k8s_openapi::api::events::v1::Event;
use serde_json::json;
use std::time::{Duration, Instant};

/// 503 once: it is said, forgiven two seconds later, and the pod stays ready. Each change of Ready's reason is one Event.
pub(crate) async fn one_503_is_said_and_forgiven(stage: &Stage) -> Result<()> {
    let site = Site::new(stage, "maintenance").await?;
    let sim = Sim::start(stage, "maintenance", Model::default())?;
    site.join(&sim, "vc").await?;
    let story = async {
        sim.ask("/status", json!({"code": 503, "count": 1})).await?;
        site.says("vc", "Reachable", (False, "BackendUnavailable"), LOOK).await?;
        let began = Instant::now();
        let provider = site.good("vc").await?;
        ensure!(began.elapsed() < Duration::from_secs(10), "it took {:?}", began.elapsed());
        let domains = provider.status.map(|s| s.failure_domains.len());
        ensure!(domains == Some(1), "{domains:?} failure domains");
        Ok(())
    };
    site.while_never("vc", "one 503 cost the pod its readiness", not_ready, story).await?;
    let counts = sim.counts().await?;
    ensure!(counts.logins == 1 && counts.sessions == 1, "{counts:?}");
    let events = site.api::<Event>().list(&Default::default()).await?;
    let of_pods = events.iter().filter(|e| e.reporting_controller.as_deref() == Some(names::MANAGER_PROVIDER));
    let mut told: Vec<_> = of_pods.filter_map(|e| Some((e.event_time.clone()?, e.reason.clone()?))).collect();
    told.sort();
    let told: Vec<_> = told.iter().map(|(_, reason)| reason.as_str()).collect();
    ensure!(told == ["BackendAvailable", "BackendUnavailable", "BackendAvailable"], "Events: {told:?}");
    site.end().await
}

/// A backend that takes the connection and does not answer is no backend that is away, and no reason to restart anything.
pub(crate) async fn a_hang_is_told_from_a_maintenance(stage: &Stage) -> Result<()> {
    let site = Site::new(stage, "hang").await?;
    let sim = Sim::start(stage, "hang", Model::default())?;
    let provider = site.join(&sim, "vc").await?;
    sim.ask("/delay", json!({"method": "CurrentTime", "milliseconds": 600_000})).await?;
    let began = Instant::now();
    site.wake("vc").await?;
    let said = site.says("vc", "Reachable", (False, "TimedOut"), LOOK).await?;
    println!("figure: a vCenter that hangs is reported after {:.1} s", began.elapsed().as_secs_f64());
    let why = condition(&said, "Reachable").context("no Reachable")?;
    ensure!(why.message == "connected, but no answer in time", "{why:?}");
    sim.ask("/reset", json!({})).await?;
    site.good("vc").await?;
    ensure!(restarts(&site.pods(&provider).await?) == 0, "the pod was restarted");
    site.end().await
}

/// (method, fault, condition, reason); whether the session is ended first, so that the method is called.
const REFUSALS: [(&str, &str, &str, &str, bool); 6] = [
    ("CreateContainerView", "NoPermission", "FailureDomainsDiscovered", "InventoryFailed", false),
    ("RetrievePropertiesEx", "NoPermission", "FailureDomainsDiscovered", "InventoryFailed", false),
    ("DestroyView", "NoPermission", "FailureDomainsDiscovered", "InventoryFailed", false),
    ("Login", "SystemError", "Authenticated", "LoginFailed", true),
    ("Login", "NoPermission", "Authenticated", "LoginNotPermitted", true),
    ("CurrentTime", "NoPermission", "Authenticated", "LoginNotPermitted", false),
];

/// Each method of the vCenter refused, one after the other; what the inventory lacks costs no readiness.
pub(crate) async fn each_method_that_is_refused_has_its_condition(stage: &Stage) -> Result<()> {
    let site = Site::new(stage, "methods").await?;
    let sim = Sim::start(stage, "methods", Model::default())?;
    site.join(&sim, "vc").await?;
    for (number, (method, fault, type_, reason, anew)) in REFUSALS.into_iter().enumerate() {
        sim.ask("/fault", json!({"method": method, "fault": fault, "count": 0})).await?;
        if anew {
            sim.ask("/kill-sessions", json!({})).await?;
        }
        site.wake("vc").await?;
        let said =
            site.says("vc", type_, (False, reason), LOOK).await.with_context(|| format!("{method} answers {fault}"))?;
        let ready = condition(&said, "Ready").context("no Ready")?;
        let harmless = type_ == "FailureDomainsDiscovered";
        ensure!((ready.status == True) == harmless, "{method} answers {fault}: {ready:?}");
        sim.ask("/reset", json!({})).await?;
        // What may lock an account is tried again in minutes, and at once when the target is another one.
        let path = if number % 2 == 0 { "" } else { "/sdk" };
        let endpoint = format!("{}{path}", sim.endpoint.trim_end_matches("/sdk"));
        site.reconnect("vc", json!({"endpoint": endpoint})).await?;
        site.says("vc", "FailureDomainsDiscovered", (True, "FailureDomainsFound"), LOOK).await?;
        let counts = sim.sessions(1).await?;
        ensure!(counts.refused == 0, "{counts:?}");
    }
    site.end().await
}

/// A right that is missing on one property of one object: both are named, and everything else is there.
pub(crate) async fn a_right_that_is_missing_names_the_object_and_keeps_the_rest(stage: &Stage) -> Result<()> {
    let site = Site::new(stage, "rights").await?;
    let sim = Sim::start(stage, "rights", Model { clusters: 2, ..Default::default() })?;
    site.join(&sim, "vc").await?;
    sim.ask("/hide", json!({"object": "DC0_C1", "property": "network"})).await?;
    site.wake("vc").await?;
    let found = "FailureDomainsDiscovered";
    let said = site.says("vc", found, (False, "InventoryIncomplete"), AT_ONCE).await?;
    let why = condition(&said, found).context("no condition")?;
    for word in ["DC0_C1", "network", "NoPermission"] {
        ensure!(why.message.contains(word), "{word} is not in {why:?}");
    }
    ensure!(condition(&said, "Ready").is_some_and(|c| c.status == True), "it costs readiness");
    let domains = said.status.context("no status")?.failure_domains;
    let [whole, partial] = &domains[..] else { anyhow::bail!("{domains:?}") };
    ensure!(!whole.networks.is_empty() && whole.datastores == partial.datastores, "{domains:?}");
    ensure!(partial.networks.is_empty() && !partial.datastores.is_empty(), "{domains:?}");
    sim.ask("/reset", json!({})).await?;
    site.wake("vc").await?;
    site.says("vc", found, (True, "FailureDomainsFound"), AT_ONCE).await?;
    site.end().await
}
