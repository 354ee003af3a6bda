//! Several pods of one Provider: a leader that dies, a rollout, and a pod that is alone and dies.
use crate::lease;
use crate::place::{condition, workload};
use crate::process::Process;
use crate::sim::{AT_ONCE, Sim};
use crate::site::{LOOK, Site, not_good, not_ready};
use crate::stage::Stage;
use crate::until::SOON;
use crate::watch;
use anyhow::{Context, Result, ensure};
use banlieue::fsm::Phase;
use banlieue::k8s::crd::ConditionStatus::{False, True};
use banlieue::k8s::crd::Provider;
use banlieue_e2e::vcsim::Model;
use k8s_openapi::api::core::v1::Pod;
use kube::ResourceExt;
use kube::api::DeleteParams;
use rustix::process::Signal;
use serde_json::json;
use std::time::{Duration, Instant};

/// A Lease of a pod is free a minute after its last renewal; others look every 20 seconds.
const TAKEOVER: Duration = Duration::from_secs(90);
/// JSON has all of it as it is; YAML, as which the API server reads an apply, would refuse it, or break lines.
const ODD: &str = "日本 \u{7f}\u{85}\u{9f}\u{2028}\u{feff}\u{ffff}.";
/// So long may a dead pod look healthy in the column Phase.
const DEAD: Duration = Duration::from_secs(10);

/// The leader dies without a word: the Provider stays Ready, the other pod reports as soon as the Lease is free.
pub(crate) async fn of_two_the_other_goes_on_when_the_leader_is_killed(stage: &Stage) -> Result<()> {
    let site = Site::with_class(stage, "pair", |c| c.spec.replicas = Some(2)).await?;
    let sim = Sim::start(stage, "pair", Model { clusters: 2, ..Default::default() })?;
    site.join(&sim, "vc").await?;
    let both = |p: &Provider| workload(p).is_some_and(|w| w.phase == Phase::Ready && w.ready_replicas == Some(2));
    let provider = watch::see(&site.api(), "vc", "both are ready", SOON, both).await?;
    sim.sessions(2).await?;

    let story = async {
        let leader = lease::held(&site, "vc").await?;
        let pods = site.pods(&provider).await?;
        let dying = pods.iter().find(|p| p.uid().as_ref() == Some(&leader)).context("no pod holds the Lease")?;
        // Frozen first, so that it cannot say good-bye: neither to the Lease nor to the vCenter.
        Process::of(dying)?.signal(Signal::STOP)?;
        let began = Instant::now();
        site.api::<Pod>().delete(&dying.name_any(), &DeleteParams::default().grace_period(0)).await?;
        lease::taken(&site, "vc", &leader, TAKEOVER).await?;
        println!("figure: the Lease of a killed leader is taken after {:.0} s", began.elapsed().as_secs_f64());
        sim.ask("/hide", json!({"object": "DC0_C1", "property": "network"})).await?;
        site.wake("vc").await?;
        site.says("vc", "FailureDomainsDiscovered", (False, "InventoryIncomplete"), AT_ONCE).await?;
        Ok(())
    };
    let lost = |p: &Provider| not_ready(p) || not_good(p);
    site.while_never("vc", "the end of one of two pods shows", lost, story).await?;
    site.end().await
}

/// A rolling update of the one pod completes: the new one is ready beside the old one, which gives back its session and its Lease. What the class adds is there to the letter.
pub(crate) async fn a_rolling_update_of_one_pod_completes(stage: &Stage) -> Result<()> {
    let site = Site::with_class(stage, "rolling", |c| c.spec.replicas = Some(1)).await?;
    let sim = Sim::start(stage, "rolling", Model::default())?;
    let provider = site.join(&sim, "vc").await?;
    let old = lease::held(&site, "vc").await?;

    let story = async {
        let edited = site.edit_class(json!({"podAnnotations": {"example.com/rolled": ODD}})).await?;
        let done = |p: &Provider| {
            let follows = |w: &banlieue::fsm::WorkloadStatus| {
                let generation = w.provider_class.as_ref().and_then(|c| c.generation);
                w.phase == Phase::Ready && generation == edited.metadata.generation && w.ready_replicas == Some(1)
            };
            workload(p).is_some_and(follows)
        };
        let began = Instant::now();
        watch::see(&site.api(), "vc", "it has rolled", SOON, done).await?;
        println!("figure: a rolling update of one pod takes {:.1} s", began.elapsed().as_secs_f64());
        let counts = sim.sessions(1).await?;
        ensure!(counts.logins == 2 && counts.refused == 0, "{counts:?}");
        let rolled = site.pod(&provider).await?.annotations().get("example.com/rolled").cloned();
        ensure!(rolled.as_deref() == Some(ODD), "the annotation is {rolled:?}");
        lease::taken(&site, "vc", &old, Duration::from_secs(30)).await?;
        // whoever holds it reports
        site.wake("vc").await?;
        site.good("vc").await?;
        Ok(())
    };
    site.while_never("vc", "a rollout was taken for trouble of the backend", not_good, story).await?;
    site.end().await
}

/// A pod that is killed, and one that is frozen: within ten seconds the operator no longer says Ready, whatever the pod last said.
pub(crate) async fn a_dead_pod_does_not_look_healthy(stage: &Stage) -> Result<()> {
    let site = Site::new(stage, "dead").await?;
    let sim = Sim::start(stage, "dead", Model::default())?;
    let provider = site.join(&sim, "vc").await?;
    for (signal, how) in [(Signal::STOP, "frozen"), (Signal::KILL, "killed")] {
        let process = Process::of(&site.pod(&provider).await?)?;
        let began = Instant::now();
        process.signal(signal)?;
        let seen = watch::see(&site.api(), "vc", "it is not Ready", DEAD, not_ready).await?;
        println!("figure: a pod that is {how} is not Ready after {:.1} s", began.elapsed().as_secs_f64());
        ensure!(condition(&seen, "Ready").is_some_and(|c| c.status == True), "{}", watch::show(&Some(&seen)));
        if signal == Signal::STOP {
            process.signal(Signal::CONT)?;
        }
        site.ready("vc").await?;
        // the session of one that was killed is lost; no login was refused for it
        let counts = sim.count("a look after it", LOOK, |c| c.sessions > 0).await?;
        ensure!(counts.refused == 0, "{counts:?}");
    }
    site.end().await
}
