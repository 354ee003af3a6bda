//! A fleet at once: hundreds of Providers applied, and deleted, in one go.
use crate::place::{Place, workload};
use crate::stage::{OPERATOR, Stage};
use crate::until::until;
use crate::writes::{Counts, each, statuses};
use anyhow::{Result, ensure};
use banlieue::fsm::{Part, Reason};
use banlieue::k8s::crd::Provider;
use banlieue::k8s::kinds;
use banlieue::k8s::manifests::names;
use banlieue_e2e::audit::{Entry, Log};
use futures::stream::{StreamExt, TryStreamExt, iter};
use kube::ResourceExt;
use kube::api::{DeleteParams, ListParams};
use serde_json::json;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// How many.
const FLEET: usize = 300;
/// How many requests of the person who applies them are under way at once.
const AT_ONCE: usize = 50;
/// How long the whole fleet may take on a machine with much else to do.
const PATIENCE: Duration = Duration::from_secs(240);

/// No request is refused for want of room, each Provider costs its eight writes, and all come right.
pub(crate) async fn three_hundred_at_once(stage: &Stage) -> Result<()> {
    let place = Place::new(stage, "crowd").await?;
    come(&place).await.map(drop)
}

/// They come at once, and go at once.
pub(crate) async fn three_hundred_come_and_go(stage: &Stage) -> Result<()> {
    let place = Place::new(stage, "crowd-goes").await?;
    let uids = come(&place).await?;
    let log = Log::from_now(stage.cluster.audit_log_path())?;
    let params = DeleteParams::default();
    let names = (0..FLEET).map(name);
    let deletes = iter(names).map(async |name| place.delete(&name, &params).await).buffer_unordered(AT_ONCE);
    deletes.try_collect::<Vec<_>>().await?;
    until("all are gone", PATIENCE, async || {
        let left = place.providers.list(&ListParams::default()).await?.items.len();
        Ok(if left == 0 { Ok(()) } else { Err(format!("{left} are there")) })
    })
    .await?;
    until("nothing of them is left", PATIENCE, async || {
        let left: usize = owners(stage).await?.values().map(|there| there.intersection(&uids).count()).sum();
        Ok(if left == 0 { Ok(()) } else { Err(format!("{left} objects")) })
    })
    .await?;
    none_refused(&log)
}

fn name(number: usize) -> String {
    format!("p{number}")
}

/// Applies them all, and returns their uids once all are right.
async fn come(place: &Place<'_>) -> Result<BTreeSet<String>> {
    let stage = place.stage;
    place.edit_class(&place.name, json!({ "replicas": 0 })).await?;
    let names: Vec<String> = (0..FLEET).map(name).collect();
    let known: Vec<&str> = names.iter().map(String::as_str).collect();
    let (log, writes) = (Log::from_now(stage.cluster.audit_log_path())?, place.writes(&known)?);
    iter(&known).map(|name| place.register(name)).buffer_unordered(AT_ONCE).try_collect::<Vec<_>>().await?;
    let all = async || anyhow::Ok(place.providers.list(&ListParams::default()).await?.items);
    until("all say ScaledToZero", PATIENCE, async || {
        let told = |p: &&Provider| workload(p).and_then(|w| w.reason) != Some(Reason::ScaledToZero);
        let late: Vec<_> = all().await?.iter().filter(told).map(|p| p.name_any()).collect();
        Ok(if late.is_empty() { Ok(()) } else { Err(format!("{} do not: {late:?}", late.len())) })
    })
    .await?;
    let uids: BTreeSet<_> = all().await?.iter().filter_map(|p| p.uid()).collect();
    ensure!(uids.len() == FLEET);
    ensure!(owners(stage).await?.into_values().filter(|there| there.is_superset(&uids)).count() == Part::ALL.len());
    let once = [
        "patch serviceaccounts",
        "patch roles",
        "patch rolebindings",
        "patch clusterrolebindings",
        "patch deployments",
        "patch providers",
        "create events",
    ];
    // what is made is told first, and then that it has no pods: the second is no edge
    let right = |counts: &Counts| {
        let (statuses, others) = statuses(counts);
        (FLEET..=2 * FLEET).contains(&statuses) && others == each(&once, FLEET)
    };
    let counts = writes.come_to("all", right).await?;
    println!("figure: {FLEET} Providers without pods at once: {counts:?}");

    none_refused(&log)?;
    Ok(uids)
}

fn none_refused(log: &Log) -> Result<()> {
    let refused = |e: &Entry| e.user.username == OPERATOR && e.code() == 429;
    let refused: Vec<_> = log.entries()?.into_iter().filter(refused).map(|e| e.line()).collect();
    ensure!(refused.is_empty(), "too many requests:\n{}", refused.join("\n"));
    Ok(())
}

/// The Providers, by uid, that have an object of each kind.
async fn owners(stage: &Stage) -> Result<BTreeMap<Part, BTreeSet<String>>> {
    let mut owners = BTreeMap::new();
    for part in Part::ALL {
        let ours = ListParams::default().labels(names::PROVIDER_UID);
        let there = kinds::everywhere(&stage.client, part).list_metadata(&ours).await?;
        owners.insert(part, there.items.iter().filter_map(|o| o.labels().get(names::PROVIDER_UID).cloned()).collect());
    }
    Ok(owners)
}
