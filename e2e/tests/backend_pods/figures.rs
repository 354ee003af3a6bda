//! What a pod costs.
use crate::process::Process;
use crate::sim::Sim;
use crate::site::Site;
use crate::stage::Stage;
use anyhow::{Context, Result, ensure};
use banlieue_e2e::vcsim::Model;
use kube::ResourceExt;
use std::time::{Duration, Instant};

/// How long a pod is looked at: two of its own looks.
const REST: Duration = Duration::from_secs(65);

/// From the start of the process to its first login; it is asked while nothing else runs.
pub(crate) async fn the_first_login(stage: &Stage) -> Result<()> {
    let site = Site::new(stage, "login").await?;
    let sim = Sim::start(stage, "login", Model::default())?;
    let began = Instant::now();
    let provider = site.join(&sim, "vc").await?;
    let ready = began.elapsed();
    let pods = site.pods(&provider).await?;
    let process = Process::of(pods.first().context("no pod")?)?;
    let login = sim.counts().await?.last_login - process.began()?;
    println!(
        "figure: first login {login:.2} s after the start of the pod's process; Ready {:.1} s after the Provider was applied",
        ready.as_secs_f64()
    );
    ensure!(login > 0.0, "it logged in {login} s after its start");
    site.end().await
}

/// Memory and processor of a pod that has settled, and what it measures itself.
pub(crate) async fn a_pod_at_rest(stage: &Stage) -> Result<()> {
    let site = Site::new(stage, "rest").await?;
    let sim = Sim::start(stage, "rest", Model::default())?;
    let provider = site.join(&sim, "vc").await?;
    let pods = site.pods(&provider).await?;
    let process = Process::of(pods.first().context("no pod")?)?;
    let (before, began) = (process.busy()?, Instant::now());
    let looks = sim.counts().await?.of("CurrentTime");
    tokio::time::sleep(REST).await; // The time itself is what is measured.
    let share = (process.busy()? - before).as_secs_f64() / began.elapsed().as_secs_f64();
    let (memory, looks) = (process.memory()?, sim.counts().await?.of("CurrentTime") - looks);
    println!(
        "figure: a pod at rest: {:.1} MB, {:.2}% of a core, {looks} looks in {} s",
        memory as f64 / 1e6,
        100.0 * share,
        REST.as_secs()
    );
    let path = format!("/api/v1/namespaces/rest/pods/{}:8080/proxy/metrics", pods[0].name_any());
    let metrics = stage.client.request_text(http::Request::get(path).body(Vec::new())?).await?;
    for line in [
        "banlieue_backend_up 1",
        "banlieue_backend_failure_domains 1",
        "banlieue_backend_logins_total{result=\"ok\"} 1",
        "banlieue_backend_request_seconds_count{method=\"CurrentTime\"}",
        "banlieue_backend_last_success_timestamp_seconds",
    ] {
        ensure!(metrics.lines().any(|l| l.starts_with(line)), "no {line} in\n{metrics}");
    }
    ensure!((1..=3).contains(&looks), "{looks} looks in {REST:?}");
    ensure!(memory > 1_000_000 && memory < 15_000_000, "{memory} bytes");
    site.end().await
}
