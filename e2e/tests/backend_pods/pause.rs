//! A pod whose Provider or class is paused: it leaves the backend alone and keeps what it has, and is back at work at once.
use crate::audit::Log;
use crate::lease;
use crate::place::{condition, workload};
use crate::sim::{AT_ONCE, Sim};
use crate::site::Site;
use crate::stage::Stage;
use crate::until::SOON;
use crate::until::until;
use crate::watch;
use anyhow::{Context, Result, ensure};
use banlieue::fsm::{Phase, Reason};
use banlieue::k8s::crd::ConditionStatus::{False, True};
use banlieue::k8s::crd::{Condition, Provider};
use banlieue_e2e::vcsim::Model;
use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::jiff::Timestamp;
use kube::ResourceExt;
use kube::api::DeleteParams;
use rustix::process::Signal;
use serde_json::{Value, json};
use std::time::Duration;

/// Longer than from one look to the next.
const A_LOOK: Duration = Duration::from_secs(35);
/// How long the end of that may take to be seen: a pod renews its Lease every 20 seconds.
const RENEWED: Duration = Duration::from_secs(90);

/// How often the pods of a Provider have asked for its class, which they do at each look.
fn looks(site: &Site, log: &Log, name: &str) -> Result<usize> {
    let account = format!("system:serviceaccount:{}:{}", site.namespace, site.workload(name).pods);
    let entries = log.entries()?;
    Ok(entries.iter().filter(|e| e.user.username == account && e.resource() == "providerclasses").count())
}

fn conditions(provider: &Provider) -> &[Condition] {
    provider.status.as_ref().map_or(&[], |s| &s.conditions)
}

/// Pauses, and waits until operator and pod have seen it; the Provider then, and the log of what is asked since.
async fn pause(
    stage: &Stage,
    site: &Site,
    reason: Reason,
    set: impl AsyncFn(Value) -> Result<()>,
) -> Result<(Provider, Log)> {
    let log = Log::from_now(stage.cluster.audit_log_path())?;
    set(json!(true)).await?;
    let paused = site.phase("vc", Phase::Paused, reason).await?;
    until("the pod has seen the pause", AT_ONCE, async || {
        Ok(if looks(site, &log, "vc")? > 0 { Ok(()) } else { Err("no look".into()) })
    })
    .await?;
    Ok((paused, log))
}

/// It asks the vCenter nothing, holds its Lease, stays ready and says what it said, also while the vCenter does not answer. Once the
/// pause is over it looks at once; where the vCenter is away then, what was known of it is kept.
async fn left_alone(
    stage: &Stage,
    site: &Site,
    sim: &Sim,
    reason: Reason,
    set: impl AsyncFn(Value) -> Result<()>,
) -> Result<()> {
    site.join(sim, "vc").await?;
    let holder = lease::held(site, "vc").await?;
    // The pod has just looked, so a look that comes soon is due to the end of the pause.
    pause(stage, site, reason, &set).await?;
    let before = sim.counts().await?.of("CurrentTime");
    set(json!(false)).await?;
    sim.count("a look at the end of the pause", AT_ONCE, |c| c.of("CurrentTime") > before).await?;
    site.good("vc").await?;
    site.ready("vc").await?;

    let (paused, log) = pause(stage, site, reason, &set).await?;
    let before = sim.counts().await?;
    let disturbed = |p: &Provider| {
        let kept = workload(p).is_some_and(|w| w.phase == Phase::Paused && w.ready_replicas == Some(1));
        !kept || conditions(p) != conditions(&paused)
    };
    let story = async {
        // frozen, it answers nobody and forgets nothing
        stage.cluster.signal_component(&sim.component, Signal::STOP.as_raw())?;
        lease::renewed(site, "vc", &holder, Timestamp::now() + A_LOOK, RENEWED).await?;
        stage.cluster.signal_component(&sim.component, Signal::CONT.as_raw())?;
        let counts = sim.counts().await?;
        ensure!(counts == before, "paused, it went from {before:?} to {counts:?}");
        let looks = looks(site, &log, "vc")?;
        ensure!(looks > 1, "{looks} looks: it had nothing to abstain from");
        stage.cluster.stop_component(&sim.component)
    };
    site.while_never("vc", "a paused pod was disturbed", disturbed, story).await?;

    set(json!(false)).await?;
    let away = site.says("vc", "Reachable", (False, "ConnectionRefused"), AT_ONCE).await?;
    let known = |p: &Provider| p.status.clone().map(|s| (s.failure_domains, s.backend)).unwrap_or_default();
    ensure!(known(&away) == known(&paused), "what was known is gone: {}", watch::show(&Some(&away)));
    stage.cluster.start_component(&sim.component)?;
    site.good("vc").await?;
    site.ready("vc").await?;
    site.undisturbed("vc").await
}

/// By its Provider, and by its class.
pub(crate) async fn a_paused_pod_leaves_its_backend_alone(stage: &Stage) -> Result<()> {
    let one = Site::new(stage, "paused").await?;
    let all = Site::with_class(stage, "paused-class", |_| {}).await?;
    let of_one = Sim::start(stage, "paused", Model::default())?;
    let of_all = Sim::start(stage, "paused-class", Model::default())?;
    let set = async |paused: Value| one.edit("vc", json!({ "paused": paused })).await.map(drop);
    let set_all = async |paused: Value| all.edit_class(json!({ "paused": paused })).await.map(drop);
    tokio::try_join!(
        left_alone(stage, &one, &of_one, Reason::ProviderPaused, set),
        left_alone(stage, &all, &of_all, Reason::ClassPaused, set_all),
    )?;
    one.end().await?;
    all.end().await
}

/// One that is started while paused takes the Lease and waits: it neither logs in nor is ready until the pause is over.
pub(crate) async fn a_pod_that_starts_while_paused_waits(stage: &Stage) -> Result<()> {
    let site = Site::new(stage, "late").await?;
    let sim = Sim::start(stage, "late", Model::default())?;
    let provider = site.join(&sim, "vc").await?;
    let old = lease::held(&site, "vc").await?;
    site.edit("vc", json!({"paused": true})).await?;
    let paused = site.phase("vc", Phase::Paused, Reason::ProviderPaused).await?;
    site.api::<Pod>().delete(&site.pod(&provider).await?.name_any(), &DeleteParams::default()).await?;
    let new = lease::taken(&site, "vc", &old, SOON).await?;
    let pod = site.pod(&provider).await?;
    ensure!(pod.uid() == Some(new), "the Lease is not with the pod that came");
    watch::see(&site.api(), &pod.name_any(), "it runs and is not ready", SOON, |pod: &Pod| {
        let containers = pod.status.as_ref().and_then(|s| s.container_statuses.as_ref());
        containers.is_some_and(|all| all.iter().all(|c| c.started == Some(true) && !c.ready))
    })
    .await?;
    let waits = |p: &Provider| workload(p).is_some_and(|w| w.phase == Phase::Paused && w.ready_replicas == Some(0));
    let waiting = watch::see(&site.api(), "vc", "paused, without a ready replica", SOON, waits).await?;
    ensure!(conditions(&waiting) == conditions(&paused), "{}", watch::show(&Some(&waiting)));
    ensure!(condition(&waiting, "Ready").context("no Ready")?.status == True, "{}", watch::show(&Some(&waiting)));
    let counts = sim.sessions(0).await?;
    ensure!(counts.logins == 1, "it logged in while paused: {counts:?}");
    site.edit("vc", json!({"paused": false})).await?;
    let counts = sim.count("a login at the end of the pause", AT_ONCE, |c| c.logins > 1).await?;
    ensure!(counts.logins == 2 && counts.sessions == 1 && counts.refused == 0, "{counts:?}");
    site.good("vc").await?;
    site.ready("vc").await?;
    site.end().await
}
