//! Backends side by side: one that hangs is not noticed next door, neither by another pod nor within one process.
use crate::lease;
use crate::place::workload;
use crate::sim::{AT_ONCE, Sim};
use crate::site::{LOOK, Site, not_good};
use crate::stage::{Stage, registry, text};
use crate::until::SOON;
use crate::watch;
use anyhow::{Result, ensure};
use banlieue::k8s::crd::ConditionStatus::{False, True};
use banlieue::k8s::crd::Provider;
use banlieue_e2e::vcsim::Model;
use serde_json::json;
use std::time::Duration;

/// How often the quiet one is woken, before the other hangs and while it does.
const LOOKS: usize = 4;
/// A look that had to wait for the other's would take its 20 seconds; on a machine at work the pod gets its turn late.
const PROMPT: Duration = Duration::from_secs(12);

/// The slowest of some looks.
async fn slowest(site: &Site, sim: &Sim, name: &str) -> Result<Duration> {
    let mut slowest = Duration::ZERO;
    for _ in 0..LOOKS {
        slowest = slowest.max(site.looked(sim, name).await?.0);
    }
    Ok(slowest)
}

/// Two Providers that are good: one's backend hangs, and is said to; the other is as prompt as before.
async fn one_hangs(site: &Site, (hung, quiet): (&Sim, &Sim), kind: &str) -> Result<()> {
    let story = async {
        let before = slowest(site, quiet, "quiet").await?;
        hung.ask("/delay", json!({"method": "CurrentTime", "milliseconds": 600_000})).await?;
        site.looked(hung, "hung").await?;
        let meanwhile = slowest(site, quiet, "quiet").await?;
        println!(
            "figure: {kind}: the slowest of {LOOKS} looks, woken: {:.2} s; while a neighbour hangs: {:.2} s",
            before.as_secs_f64(),
            meanwhile.as_secs_f64()
        );
        ensure!(meanwhile < PROMPT, "a look took {meanwhile:?}");
        site.says("hung", "Reachable", (False, "TimedOut"), LOOK).await?;
        hung.ask("/reset", json!({})).await?;
        site.good("hung").await?;
        Ok(())
    };
    site.while_never("quiet", "the neighbour was noticed", not_good, story).await
}

/// A pod for each: nothing is shared.
pub(crate) async fn a_backend_that_hangs_is_not_noticed_next_door(stage: &Stage) -> Result<()> {
    let site = Site::new(stage, "neighbours").await?;
    let hung = Sim::start(stage, "next-hung", Model::default())?;
    let quiet = Sim::start(stage, "next-quiet", Model::default())?;
    tokio::try_join!(site.join(&hung, "hung"), site.join(&quiet, "quiet"))?;
    one_hangs(&site, (&hung, &quiet), "pods").await?;
    site.end().await
}

/// No operator: one process serves two Providers, each with a session and a Lease of its own; the one that hangs does not
/// keep it from the other.
pub(crate) async fn one_static_process_serves_two(stage: &Stage) -> Result<()> {
    let operators = stage.operator_leaves().await?;
    let site = Site::new(stage, "static").await?;
    let hung = Sim::start(stage, "static-hung", Model::default())?;
    let quiet = Sim::start(stage, "static-quiet", Model { datacenters: 2, ..Default::default() })?;
    // beside an operator that is only away it has to be forced
    let args = ["bootstrap", "provider", "vsphere", "--namespace", "static", "--registry", registry(), "--force"];
    let done = stage.banlieue(args).env("KUBECONFIG", stage.cluster.kubeconfig_path()).output()?;
    ensure!(done.status.success(), "bootstrap provider: {}", text(&done));
    for (name, sim) in [("hung", &hung), ("quiet", &quiet)] {
        site.secret(name, &sim.password).await?;
        site.create(&site.at(sim, name)).await?;
    }
    for (name, sim, domains) in [("hung", &hung, 1), ("quiet", &quiet, 2)] {
        let provider = site.says(name, "Ready", (True, "BackendAvailable"), SOON).await?;
        ensure!(workload(&provider).is_none(), "it has a workload without an operator");
        let status = provider.status.clone().unwrap_or_default();
        ensure!(status.failure_domains.len() == domains, "{}", watch::show(&Some(&provider)));
        ensure!(sim.sessions(1).await?.logins == 1, "more than one login");
        lease::held(&site, name).await?;
    }
    one_hangs(&site, (&hung, &quiet), "one static process").await?;

    site.api::<Provider>().delete("hung", &Default::default()).await?;
    hung.count("the session of a Provider that is gone", AT_ONCE, |c| c.sessions == 0).await?;
    site.looked(&quiet, "quiet").await?;
    let args = ["uninstall", "--provider", "vsphere", "--namespace", "static", "--yes"];
    let done = stage.banlieue(args).env("KUBECONFIG", stage.cluster.kubeconfig_path()).output()?;
    ensure!(done.status.success(), "uninstall: {}", text(&done));
    quiet.sessions(0).await?;
    site.end().await?;
    stage.operator_returns(operators).await
}
