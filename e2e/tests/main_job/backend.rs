//! What a pod says of its backend, and what the operator makes of it.
use crate::place::{NOWHERE, Place, condition, restarts, workload};
use crate::stage::Stage;
use crate::watch;
use anyhow::{Context, Result, ensure};
use banlieue::fsm::{Phase, Reason};
use banlieue::k8s::crd::{ConditionStatus, Provider};
use banlieue_e2e::vcsim::Model;
use std::time::Duration;

/// How long "it stays so" is looked at.
const A_WHILE: Duration = Duration::from_secs(15);

/// Applied, and nothing else done: the pod logs in and the Provider is Ready.
pub(crate) async fn a_simulated_vcenter_becomes_ready(stage: &Stage) -> Result<()> {
    let place = Place::new(stage, "good").await?;
    place.register("vc").await?;
    let fresh = place.api::<Provider>().get("vc").await?;
    ensure!(
        condition(&fresh, "Ready").is_some(),
        "before the first report there is no Ready condition: {}",
        watch::show(&Some(fresh))
    );
    for type_ in ["Reachable", "Authenticated", "Ready"] {
        place.condition("vc", type_, ConditionStatus::True).await?;
    }
    let provider = place.ready("vc").await?;
    let status = workload(&provider).context("no status.workload")?;
    ensure!(status.ready_replicas == Some(1) && status.replicas == Some(1), "replicas {status:?}");
    let last = status.transitions.last().context("no transition was recorded")?;
    ensure!(last.to == Phase::Ready && last.reason == Reason::WorkloadAvailable, "last transition {last:?}");
    let version = provider.status.as_ref().and_then(|s| s.backend.as_ref()?.version.clone());
    ensure!(version.as_deref().is_some_and(|v| v.contains('.')), "the version of the backend is {version:?}");
    ensure!(restarts(&place.pods(&provider).await?) == 0, "the pod was restarted");
    listed(stage, &["good", "vc", "vsphere", "Ready", "True", version.as_deref().unwrap_or_default()])?;
    place.remove("vc", &place.workload("vc")).await?;
    place.clear().await
}

/// What `kubectl get providers -A` prints: its header, and among its rows one that begins so and ends with an age.
fn listed(stage: &Stage, row: &[&str]) -> Result<()> {
    let shown = stage.cluster.kubectl(["get", "providers", "-A"])?;
    let rows: Vec<Vec<_>> = shown.lines().map(|line| line.split_whitespace().collect()).collect();
    let header = ["NAMESPACE", "NAME", "CLASS", "PHASE", "READY", "VERSION", "AGE"];
    ensure!(rows.first().is_some_and(|first| *first == header), "another header:\n{shown}");
    let found = rows.iter().find(|found| found.starts_with(&row[..2])).context("it has no row")?;
    ensure!(found.starts_with(row) && found.len() == header.len(), "{row:?} is not there:\n{shown}");
    ensure!(found.last().is_some_and(|age| age.ends_with(['s', 'm'])), "it has no age:\n{shown}");
    Ok(())
}

/// `vcenter.invalid`: the workload is right and its pod runs, and stays not ready without restarting.
pub(crate) async fn an_unreachable_backend_keeps_the_contract(stage: &Stage) -> Result<()> {
    let place = Place::new(stage, "nowhere").await?;
    place.secret("vc", "irrelevant").await?;
    let mut draft = place.draft("vc");
    draft.spec.connection.endpoint = NOWHERE.into();
    place.create(&draft).await?;
    let objects = place.workload("vc");
    objects.there().await?;
    let said = place.condition("vc", "Reachable", ConditionStatus::False).await?;
    let why = condition(&said, "Reachable").context("no condition Reachable")?;
    ensure!(why.reason == "NameNotResolved" && !why.message.is_empty(), "a person would not understand {why:?}");
    let provider = place.phase("vc", Phase::Provisioning, Reason::WaitingForBackend).await?;
    ensure!(workload(&provider).is_some_and(|w| w.ready_replicas == Some(0)), "{}", watch::show(&Some(&provider)));
    watch::never(&place.api::<Provider>(), "vc", "it left Provisioning, or a replica is ready", A_WHILE, |p| {
        workload(p).is_none_or(|w| w.phase != Phase::Provisioning || w.ready_replicas != Some(0))
    })
    .await?;
    let pods = place.pods(&provider).await?;
    ensure!(pods.len() == 1 && restarts(&pods) == 0, "{} pods, {} restarts", pods.len(), restarts(&pods));
    place.remove("vc", &objects).await?;
    place.clear().await
}

/// A wrong password is not an outage: it is said in a condition, nothing restarts, and the account is not locked by repetition.
pub(crate) async fn a_wrong_password_is_said_and_not_repeated(stage: &Stage) -> Result<()> {
    let place = Place::new(stage, "locked").await?;
    let sim = stage.cluster.start_vcsim("locked", 9100, Model::default())?;
    place.secret("vc", "wrong-password").await?;
    let mut draft = place.draft("vc");
    draft.spec.connection.endpoint = sim.endpoint.clone();
    place.create(&draft).await?;
    let provider = place.condition("vc", "Authenticated", ConditionStatus::False).await?;
    let shown = watch::show(&Some(&provider));
    ensure!(!shown.contains("wrong-password"), "the status repeats the password: {shown}");
    ensure!(condition(&provider, "Reachable").is_some_and(|c| c.status == ConditionStatus::True), "{shown}");
    ensure!(condition(&provider, "Ready").is_some_and(|c| c.status == ConditionStatus::False), "{shown}");
    place.phase("vc", Phase::Provisioning, Reason::WaitingForBackend).await?;
    watch::never(&place.api::<Provider>(), "vc", "it claims to be logged in", A_WHILE, |p| {
        condition(p, "Authenticated").is_none_or(|c| c.status != ConditionStatus::False)
    })
    .await?;
    let pods = place.pods(&provider).await?;
    ensure!(pods.len() == 1 && restarts(&pods) == 0, "{} pods, {} restarts", pods.len(), restarts(&pods));
    let counts: serde_json::Value =
        serde_json::from_str(&reqwest::get(format!("{}/counts", sim.control_url)).await?.text().await?)?;
    let refused = counts["refused"].as_u64().context("no count of refused logins")?;
    ensure!((1..=2).contains(&refused), "{refused} refused logins: {counts}");
    place.remove("vc", &place.workload("vc")).await?;
    place.clear().await
}
