//! What can be measured, printed as it is measured.
use crate::audit::{Entry, Log};
use crate::place::{NOWHERE, Place};
use crate::stage::Stage;
use anyhow::{Context, Result, bail, ensure};
use banlieue::fsm::{Phase, Reason};
use banlieue::k8s::crd::ConditionStatus;
use chrono::{DateTime, Utc};
use k8s_openapi::api::core::v1::Node;
use kube::Api;
use std::time::{Duration, Instant};

/// How long nothing may be written.
const REST: Duration = Duration::from_secs(60);
/// How long it must have been quiet before rest begins.
const QUIET: Duration = Duration::from_secs(5);

/// What the operator holds in memory, by the kubelet's account.
pub(crate) async fn ten_providers_within_30_mb(stage: &Stage) -> Result<()> {
    let place = Place::new(stage, "memory").await?;
    let names: Vec<String> = (0..10).map(|i| format!("vc-{i}")).collect();
    for name in &names {
        place.register(name).await?;
    }
    for name in &names {
        place.ready(name).await?;
    }
    let bytes = memory(stage, "banlieue-operator").await?;
    println!("figure: operator with 10 Providers: {:.1} MB", bytes as f64 / 1e6);
    ensure!(bytes > 1_000_000, "{bytes} bytes cannot be right");
    ensure!(bytes < 30_000_000, "the operator holds {bytes} bytes");
    for name in &names {
        place.remove(name, &place.workload(name)).await?;
    }
    place.clear().await
}

/// The resident memory of the pods of a Deployment; the kubelet measures every few seconds, so it is asked until it knows.
async fn memory(stage: &Stage, deployment: &str) -> Result<u64> {
    let nodes: Api<Node> = Api::all(stage.client.clone());
    let node = nodes
        .list(&Default::default())
        .await?
        .items
        .into_iter()
        .next()
        .and_then(|n| n.metadata.name)
        .context("no node")?;
    let (began, asked) = (Instant::now(), Utc::now());
    while began.elapsed() < Duration::from_secs(60) {
        let request = http::Request::get(format!("/api/v1/nodes/{node}/proxy/stats/summary")).body(Vec::new())?;
        let summary: serde_json::Value = stage.client.request(request).await?;
        let pods = summary["pods"].as_array().into_iter().flatten();
        let ours = pods.filter(|p| p["podRef"]["name"].as_str().is_some_and(|n| n.starts_with(deployment)));
        let containers = ours.flat_map(|p| p["containers"].as_array().into_iter().flatten());
        let fresh = containers
            .map(|c| &c["memory"])
            .filter(|m| m["time"].as_str().and_then(|t| t.parse::<DateTime<Utc>>().ok()).is_some_and(|t| t > asked));
        let bytes: Option<u64> = fresh.map(|m| m["workingSetBytes"].as_u64()).sum();
        if let Some(bytes) = bytes.filter(|b| *b > 0) {
            return Ok(bytes);
        }
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
    bail!("the kubelet gave no figure for {deployment}")
}

/// One backend that works, one that is not there, one with a wrong password: once settled, nobody of ours writes anything but Leases.
/// And in all that went before, the operator read no Secret and no role asked for what it may not do.
pub(crate) async fn no_write_at_rest(stage: &Stage) -> Result<()> {
    at_rest(stage, "rest", REST).await
}

/// The same for ten minutes.
pub(crate) async fn no_write_at_rest_for_ten_minutes(stage: &Stage) -> Result<()> {
    at_rest(stage, "rest-long", 10 * Duration::from_secs(60)).await
}

async fn at_rest(stage: &Stage, name: &str, span: Duration) -> Result<()> {
    let place = Place::new(stage, name).await?;
    place.register("good").await?;
    place.secret("lost", "irrelevant").await?;
    let mut lost = place.draft("lost");
    lost.spec.connection.endpoint = NOWHERE.into();
    place.create(&lost).await?;
    place.secret("locked", "wrong-password").await?;
    place.create(&place.draft("locked")).await?;
    place.ready("good").await?;
    place.condition("locked", "Authenticated", ConditionStatus::False).await?;
    place.phase("locked", Phase::Provisioning, Reason::WaitingForBackend).await?;
    place.phase("lost", Phase::Provisioning, Reason::WaitingForBackend).await?;

    let path = stage.cluster.audit_log_path();
    let written = |log: &Log| -> Result<(Vec<String>, usize)> {
        let writes: Vec<_> = log.entries()?.into_iter().filter(|e| e.ours() && e.writes()).collect();
        let (leases, others): (Vec<_>, Vec<_>) = writes.into_iter().partition(|e| e.resource() == "leases");
        Ok((others.iter().map(Entry::line).collect(), leases.len()))
    };
    settle(|| Log::from_now(path.clone()), |log| Ok(written(log)?.0)).await?;
    let log = Log::from_now(path.clone())?;
    tokio::time::sleep(span).await; // The time itself is what is measured.
    let (others, leases) = written(&log)?;
    println!("figure: {} s at rest with 3 Providers: {} writes, {leases} of Leases", span.as_secs(), others.len());
    ensure!(leases > 0, "no Lease was renewed: the log does not show what it should");
    ensure!(others.is_empty(), "written at rest:\n{}", others.join("\n"));

    let all = Log::whole(path).entries()?;
    let of = |name: &str| format!("system:serviceaccount:banlieue-system:{name}");
    let operator = of("banlieue-operator");
    let secrets: Vec<_> =
        all.iter().filter(|e| e.user.username == operator && e.resource() == "secrets").map(Entry::line).collect();
    ensure!(secrets.is_empty(), "the operator asked for Secrets:\n{}", secrets.join("\n"));
    let roles = [operator, of("banlieue-controller")];
    ensure!(roles.iter().all(|r| all.iter().any(|e| e.user.username == *r)), "a role does not run under its own name");
    let refused: Vec<_> =
        all.iter().filter(|e| roles.contains(&e.user.username) && e.forbidden()).map(Entry::line).collect();
    ensure!(refused.is_empty(), "a role asked for what it may not do:\n{}", refused.join("\n"));

    for name in ["good", "lost", "locked"] {
        place.remove(name, &place.workload(name)).await?;
    }
    place.clear().await
}

/// Waits until `QUIET` has passed without a write.
async fn settle(start: impl Fn() -> Result<Log>, written: impl Fn(&Log) -> Result<Vec<String>>) -> Result<()> {
    let began = Instant::now();
    let mut last = Vec::new();
    while began.elapsed() < Duration::from_secs(60) {
        let log = start()?;
        tokio::time::sleep(QUIET).await;
        last = written(&log)?;
        if last.is_empty() {
            return Ok(());
        }
    }
    bail!("it does not come to rest; last written:\n{}", last.join("\n"))
}
