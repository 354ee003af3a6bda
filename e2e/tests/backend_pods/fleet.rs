//! Twenty Providers at one vCenter, and what the API server has seen of all pods.
use crate::audit::Log;
use crate::place::workload;
use crate::sim::Sim;
use crate::site::{Site, not_good};
use crate::stage::Stage;
use crate::watch;
use anyhow::{Result, ensure};
use banlieue::fsm::Phase;
use banlieue::k8s::crd::Provider;
use banlieue::k8s::manifests::names;
use banlieue_e2e::image;
use banlieue_e2e::progress::Progress;
use banlieue_e2e::vcsim::Model;
use futures::future::try_join_all;
use k8s_openapi::api::core::v1::Pod;
use serde_json::json;
use std::collections::BTreeSet;
use std::time::{Duration, Instant};

/// How many Providers there are.
const FLEET: u64 = 20;
/// The tag of another image of the product.
const NEXT: &str = "next";
/// How long all of them may take, beside other tests.
const PATIENCE: Duration = Duration::from_secs(120);

/// Twenty sessions. The tag of their class is edited to another image that the node has: all pods roll to it, each with one session
/// more meanwhile, and no backend is said to be in trouble. None is left when they are gone.
pub(crate) async fn twenty_providers_are_twenty_sessions(stage: &Stage) -> Result<()> {
    let site = Site::with_class(stage, "fleet", |_| {}).await?;
    let sim = Sim::start(stage, "fleet", Model::default())?;
    let first = stage.cluster.load_image(&stage.program, &[NEXT.into()], Progress::loud())?;
    let names: Vec<String> = (0..FLEET).map(|n| format!("vc-{n}")).collect();
    let began = Instant::now();
    for name in &names {
        site.secret(name, &sim.password).await?;
        site.create(&site.at(&sim, name)).await?;
    }
    follow(&site, &names, &first).await?;
    println!("figure: {FLEET} Providers are Ready after {:.0} s", began.elapsed().as_secs_f64());
    let counts = sim.sessions(FLEET).await?;
    ensure!(counts.logins == FLEET && counts.refused == 0, "{counts:?}");
    let before = running(&site).await?;

    let began = Instant::now();
    site.edit_class(json!({"image": {"tag": NEXT}})).await?;
    let next = format!("{}:{NEXT}", image::REPOSITORY);
    let story = most_sessions(&sim, follow(&site, &names, &next));
    let most = site.while_never(&names[0], "a rollout was taken for trouble of the backend", not_good, story).await?;
    println!(
        "figure: a rollout of {FLEET} Providers takes {:.0} s, with at most {most} sessions",
        began.elapsed().as_secs_f64()
    );
    ensure!(most > FLEET && most <= 2 * FLEET, "{most} sessions during the rollout");
    let counts = sim.sessions(FLEET).await?;
    ensure!(counts.logins == 2 * FLEET && counts.refused == 0, "{counts:?}");
    let after = running(&site).await?;
    ensure!(before.len() == 1 && after.len() == 1 && before != after, "{before:?} runs, then {after:?}");
    site.end().await?;
    sim.sessions(0).await?;
    Ok(())
}

/// The images of the pods that stay, as the node tells them apart: by their digests.
async fn running(site: &Site) -> Result<BTreeSet<String>> {
    let pods = site.api::<Pod>().list(&Default::default()).await?;
    let stay = pods.iter().filter(|p| p.metadata.deletion_timestamp.is_none());
    let containers = stay.filter_map(|p| p.status.as_ref()?.container_statuses.as_ref()).flatten();
    Ok(containers.map(|c| c.image_id.clone()).collect())
}

/// The most sessions that are seen until `done`.
async fn most_sessions(sim: &Sim, done: impl Future<Output = Result<()>>) -> Result<u64> {
    let mut done = std::pin::pin!(done);
    let mut most = 0;
    loop {
        tokio::select! {
            ended = &mut done => return ended.map(|()| most),
            counts = sim.counts() => most = most.max(counts?.sessions),
        }
    }
}

/// Waits until all are Ready, of this image.
async fn follow(site: &Site, names: &[String], image: &str) -> Result<()> {
    let what = format!("it is Ready, of {image}");
    let follows =
        |p: &Provider| workload(p).is_some_and(|w| w.phase == Phase::Ready && w.image.as_deref() == Some(image));
    let api = site.api();
    try_join_all(names.iter().map(|name| watch::see(&api, name, &what, PATIENCE, follows))).await?;
    Ok(())
}

/// In all that was done: a minted pod watches its own Provider, which the server narrows it to, and lists nothing else; it
/// gets Secrets and ConfigMaps by name, and never lists or watches them.
pub(crate) async fn every_pod_watched_its_own_provider_alone(stage: &Stage) -> Result<()> {
    let mut watchers = BTreeSet::new();
    for entry in Log::whole(stage.cluster.audit_log_path()).entries()? {
        let account = entry.user.username.strip_prefix("system:serviceaccount:").and_then(|a| a.split_once(':'));
        let Some((namespace, name)) = account.filter(|(_, name)| name.starts_with("banlieue-provider-")) else {
            continue;
        };
        let sweeping = matches!(entry.verb.as_str(), "list" | "watch" | "deletecollection");
        let Some(asked) = entry.object_ref.as_ref().filter(|_| sweeping) else { continue };
        // one of a static installation serves its namespace
        let Some(provider) = provider_of(name) else { continue };
        ensure!(asked.resource == "providers" && asked.namespace == namespace, "{}", entry.line());
        let narrowed = entry.uri.split(['?', '&']).any(|q| q == format!("fieldSelector=metadata.name%3D{provider}"));
        ensure!(narrowed, "not narrowed to {provider}: {}", entry.line());
        // a watch is logged when it ends, the list that it begins with at once
        watchers.insert((namespace.to_owned(), provider.to_owned()));
    }
    println!("figure: {} pods watched one Provider each, and no pod anything else", watchers.len());
    ensure!(!watchers.is_empty(), "no pod watched anything: the log does not show what it should");
    Ok(())
}

/// The Provider of a minted account that is called as it is.
fn provider_of(account: &str) -> Option<&str> {
    let backends = banlieue::k8s::crd::Backend::ALL.iter();
    backends.copied().find_map(|backend| account.strip_prefix(names::own(backend, "", "").as_str()))
}
