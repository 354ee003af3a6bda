//! What must hold of everything that the operator did in all the other tests, by the API server's own record.
use crate::grants;
use crate::stage::{OPERATOR, Stage};
use anyhow::{Result, ensure};
use banlieue::k8s::crd::Backend;
use banlieue::k8s::manifests::names;
use banlieue_e2e::audit::{Entry, Log, ObjectRef};
use std::collections::{HashMap, HashSet};
use tokio::sync::OnceCell;

/// All that was asked of the API server. It is long, and read once.
async fn record(stage: &Stage) -> Result<&'static [Entry]> {
    static RECORD: OnceCell<Vec<Entry>> = OnceCell::const_new();
    let read = async || Log::whole(stage.cluster.audit_log_path()).entries();
    Ok(RECORD.get_or_try_init(read).await?)
}

/// No write of the operator was without effect: each was answered with a resourceVersion that no write had before. A plan
/// made from a cache behind our own last write would repeat that write. (The release of the last finalizer ends the object,
/// and is answered with what it was.)
pub(crate) async fn no_write_was_without_effect(stage: &Stage) -> Result<()> {
    let mut known = HashSet::new();
    let (mut ours, mut idle) = (0, Vec::new());
    for entry in record(stage).await? {
        let meta = entry.response_object.as_ref().map(|o| &o.metadata);
        let version = meta.and_then(|m| m.uid.clone().zip(m.resource_version.clone()));
        let Some(version) =
            version.filter(|_| entry.writes() && entry.verb != "delete" && !releases_the_last_finalizer(entry))
        else {
            continue;
        };
        let new = known.insert(version);
        if entry.user.username == OPERATOR {
            ours += 1;
            if !new {
                idle.push(entry.line());
            }
        }
    }
    println!("figure: {ours} writes of the operator in all, {} of them without effect", idle.len());
    ensure!(ours > 0, "the log shows no write of the operator");
    ensure!(idle.is_empty(), "without effect:\n{}", idle.join("\n"));
    Ok(())
}

/// Once its finalizer is off a Provider that nobody else holds, the operator asks and writes nothing more about it.
pub(crate) async fn nothing_follows_the_release_of_a_finalizer(stage: &Stage) -> Result<()> {
    let entries = record(stage).await?;
    let made = made(entries);
    // one that is made again is another one; its name is free, and it may be on record, before the release is
    let is_another = |address: &Address, release: &Entry, entry: &Entry| {
        made.get(address).into_iter().flatten().any(|made| {
            made.stage_timestamp > release.request_received_timestamp
                && made.request_received_timestamp < entry.request_received_timestamp
        })
    };
    let mut released: HashMap<Address, &Entry> = HashMap::new();
    let (mut releases, mut late) = (0, Vec::new());
    for entry in entries.iter().filter(|e| e.user.username == OPERATOR) {
        let Some(at) = entry.object_ref.as_ref() else { continue };
        if releases_the_last_finalizer(entry) {
            releases += 1;
            released.extend(addresses(&at.namespace, &at.name).into_iter().map(|a| (a, entry)));
        } else if let Some(release) = asked_about(at)
            .iter()
            .find_map(|a| released.get(a).filter(|release| !is_another(a, release, entry)))
            && entry.request_received_timestamp > release.stage_timestamp
            // the orphan sweep reads Providers that it misses
            && (&*at.resource, &*entry.verb) != ("providers", "get")
        {
            late.push(format!("{}\n  after {}", entry.line(), release.line()));
        }
    }
    println!("figure: {releases} Providers let go");
    ensure!(late.is_empty(), "after the release of the finalizer:\n{}", late.join("\n"));
    Ok(())
}

/// The creations of Providers, by all that such a one is asked about at. The name of a new object may be in the answer alone.
fn made(entries: &[Entry]) -> HashMap<Address, Vec<&Entry>> {
    let mut made: HashMap<Address, Vec<&Entry>> = HashMap::new();
    for entry in entries.iter().filter(|e| e.resource() == "providers" && e.verb == "create") {
        let namespace = entry.object_ref.as_ref().map_or("", |at| &at.namespace);
        let name = entry.response_object.as_ref().and_then(|o| o.metadata.name.as_deref()).unwrap_or_default();
        for address in addresses(namespace, name) {
            made.entry(address).or_default().push(entry);
        }
    }
    made
}

/// The operator asked for no Secret.
pub(crate) async fn no_secret_was_asked_for(stage: &Stage) -> Result<()> {
    let entries = record(stage).await?;
    let wrong = |e: &&Entry| e.user.username == OPERATOR && e.resource() == "secrets";
    let lines: Vec<_> = entries.iter().filter(wrong).map(Entry::line).collect();
    ensure!(lines.is_empty(), "asked for Secrets:\n{}", lines.join("\n"));
    Ok(())
}

/// Of operator, controller and pods. (That what is granted is used, the suite of rights shows.)
pub(crate) async fn nothing_but_what_is_granted_was_used(stage: &Stage) -> Result<()> {
    let roles = grants::nothing_else_was_used(record(stage).await?)?;
    ensure!(roles > 0, "the log shows no request of ours");
    Ok(())
}

/// What fails is not asked for again and again: in the long run no more than one request a second for one object. An operator
/// that starts looks anew.
pub(crate) async fn no_failure_became_a_hot_loop(stage: &Stage) -> Result<()> {
    const RUN: usize = 12;
    /// How often one that starts may ask for one object more.
    const ANEW: usize = 2;
    let entries = record(stage).await?;
    let start = |e: &&Entry| e.user.username == OPERATOR && e.verb == "list" && e.resource() == "providers";
    let starts: Vec<_> = entries.iter().filter(start).map(|e| e.request_received_timestamp).collect();
    let mut failed: HashMap<(&str, &str), Vec<&Entry>> = HashMap::new();
    // a dry run is a probe of the fence: it is to fail
    let failure = |e: &&Entry| e.user.username == OPERATOR && e.code() >= 400 && !e.uri.contains("dryRun=");
    for entry in entries.iter().filter(failure) {
        let path = entry.uri.split('?').next().unwrap_or_default();
        failed.entry((&entry.verb, path)).or_default().push(entry);
    }
    let most = failed.iter().max_by_key(|(_, all)| all.len());
    println!("figure: most failures of one request: {:?}", most.map(|(what, all)| (what, all.len())));
    for all in failed.values() {
        for run in all.windows(RUN) {
            let (first, last) = (run[0].request_received_timestamp, run[RUN - 1].request_received_timestamp);
            let anew = starts.iter().filter(|start| (first..=last).contains(start)).count() * ANEW;
            let allowed = (last - first).num_seconds() + 2 + i64::try_from(anew)?;
            ensure!(allowed >= RUN as i64, "{RUN} failures in {}, the last: {}", last - first, run[RUN - 1].line());
        }
    }
    Ok(())
}

fn releases_the_last_finalizer(entry: &Entry) -> bool {
    let whole = entry.object_ref.as_ref().is_some_and(|at| at.resource == "providers" && at.subresource.is_empty());
    let meta = entry.response_object.as_ref().map(|o| &o.metadata);
    let free = meta.is_some_and(|m| m.deletion_timestamp.is_some() && m.finalizers.as_ref().is_none_or(Vec::is_empty));
    whole && entry.verb == "patch" && entry.code() == 200 && free
}

/// Where a request may speak of a Provider: `provider` or `object`, a namespace where the name is known in one alone, a name.
type Address = (&'static str, String, String);

/// The addresses of a Provider and its objects.
fn addresses(namespace: &str, name: &str) -> Vec<Address> {
    let mut all = vec![("provider", namespace.to_owned(), name.to_owned())];
    for backend in Backend::ALL {
        all.push(("object", namespace.to_owned(), names::own(backend, namespace, name)));
        all.push(("object", String::new(), names::hashed(backend, namespace, name)));
    }
    all
}

fn asked_about(at: &ObjectRef) -> Vec<Address> {
    if at.resource == "providers" {
        return vec![("provider", at.namespace.clone(), at.name.clone())];
    }
    vec![("object", at.namespace.clone(), at.name.clone()), ("object", String::new(), at.name.clone())]
}
