//! Twenty Providers at one vCenter, and what the API server has seen of all pods.
use crate::audit::Log;
use crate::place::workload;
use crate::sim::Sim;
use crate::site::Site;
use crate::stage::Stage;
use crate::watch;
use anyhow::{Result, ensure};
use banlieue::fsm::Phase;
use banlieue::k8s::crd::{Provider, ProviderClass};
use banlieue::k8s::manifests::names;
use banlieue_e2e::vcsim::Model;
use futures::future::try_join_all;
use kube::Api;
use kube::api::{DeleteParams, Patch, PatchParams};
use serde_json::json;
use std::collections::BTreeSet;
use std::time::{Duration, Instant};

/// How many Providers there are.
const FLEET: u64 = 20;
/// How long all of them may take, beside other tests.
const PATIENCE: Duration = Duration::from_secs(120);

/// Twenty sessions; during a rollout one more for each; none is left when they are gone.
pub(crate) async fn twenty_providers_are_twenty_sessions(stage: &Stage) -> Result<()> {
    let site = Site::new(stage, "fleet").await?;
    let sim = Sim::start(stage, "fleet", Model::default())?;
    let class = site.class("fleet", |_| {}).await?;
    let names: Vec<String> = (0..FLEET).map(|n| format!("vc-{n}")).collect();
    let began = Instant::now();
    for name in &names {
        site.secret(name, &sim.password).await?;
        let mut draft = site.at(&sim, name);
        draft.spec.provider_class_ref.name = "fleet".into();
        site.create(&draft).await?;
    }
    follow(&site, &names, class.metadata.generation).await?;
    println!("figure: {FLEET} Providers are Ready after {:.0} s", began.elapsed().as_secs_f64());
    let counts = sim.sessions(FLEET).await?;
    ensure!(counts.logins == FLEET && counts.refused == 0, "{counts:?}");

    let classes: Api<ProviderClass> = Api::all(stage.client.clone());
    let patch = Patch::Merge(json!({"spec": {"podAnnotations": {"example.com/rolled": "yes"}}}));
    let edited = classes.patch("fleet", &PatchParams::default(), &patch).await?;
    let began = Instant::now();
    let most = most_sessions(&sim, follow(&site, &names, edited.metadata.generation)).await?;
    println!(
        "figure: a rollout of {FLEET} Providers takes {:.0} s, with at most {most} sessions",
        began.elapsed().as_secs_f64()
    );
    ensure!(most > FLEET && most <= 2 * FLEET, "{most} sessions during the rollout");
    let counts = sim.sessions(FLEET).await?;
    ensure!(counts.logins == 2 * FLEET && counts.refused == 0, "{counts:?}");
    site.end().await?;
    sim.sessions(0).await?;
    classes.delete("fleet", &DeleteParams::default()).await?;
    Ok(())
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

/// Waits until all are Ready and follow this generation of their class.
async fn follow(site: &Site, names: &[String], generation: Option<i64>) -> Result<()> {
    try_join_all(names.iter().map(async |name| {
        let follows = |p: &Provider| {
            workload(p).is_some_and(|w| {
                let class = w.provider_class.as_ref();
                w.phase == Phase::Ready && class.is_some_and(|c| c.generation == generation)
            })
        };
        watch::see(&site.api(), name, "it is Ready and follows its class", PATIENCE, follows).await
    }))
    .await?;
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
