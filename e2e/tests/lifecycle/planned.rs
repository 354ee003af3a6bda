//! `banlieue plan` against what happens: a test plans, lets the operator run, and finds the same writes in the audit log.
use crate::five::SOON;
use crate::place::Place;
use crate::stage::Stage;
use crate::until::until;
use crate::writes::Writes;
use anyhow::{Context, Result, bail, ensure};
use banlieue::fsm::Part;
use banlieue_e2e::audit::Entry;
use kube::api::DeleteParams;
use serde_json::{Value, json};

/// A new Provider, a class edit, a pause and its end, and a deletion: each is done while no operator runs, planned, and then
/// left to the operator. No pod becomes ready meanwhile: what a pod does no plan foretells.
pub(crate) async fn is_what_happens(stage: &Stage) -> Result<()> {
    let place = Place::new(stage, "planned").await?;
    stage.stop_operator().await?;
    stage.kubelet.hold(&place.name);
    place.register("p").await?;
    told(&place, "a new Provider", 8).await?;

    stage.kubelet.release(&place.name).await?;
    place.ready("p").await?;
    stage.stop_operator().await?;
    stage.kubelet.hold(&place.name);
    let before = preview(&place, &["providerclass", &place.name], json!({ "spec": { "image": { "tag": "2" } } }))?;
    place.edit_class(&place.name, json!({ "image": { "tag": "2" } })).await?;
    ensure!(plan(&place, &[])? == before, "a class edit was planned otherwise before it was made: {before:#?}");
    told(&place, "a class edit", 3).await?;

    stage.kubelet.release(&place.name).await?;
    place.ready("p").await?;
    stage.stop_operator().await?;
    let before = preview(&place, &["-n", &place.name, "provider", "p"], json!({ "spec": { "paused": true } }))?;
    place.edit("p", json!({ "spec": { "paused": true } })).await?;
    ensure!(plan(&place, &[])? == before, "a pause was planned otherwise before it was made: {before:#?}");
    place.five("p").delete(Part::Role).await?;
    told(&place, "a pause", 2).await?;

    stage.stop_operator().await?;
    place.edit("p", json!({ "spec": { "paused": null } })).await?;
    told(&place, "the end of a pause", 3).await?;

    place.ready("p").await?;
    nothing(&place)?;
    stage.stop_operator().await?;
    place.delete("p", &DeleteParams::default()).await?;
    told(&place, "a deletion", 4).await?;
    banlieue_e2e::watch::gone(&place.providers, "p", SOON).await
}

/// Plans; starts the operator; and compares, once it has come to rest. `least` writes are planned.
async fn told(place: &Place<'_>, what: &str, least: usize) -> Result<()> {
    let (changes, plan) = plan(place, &[])?;
    let planned: Vec<Vec<String>> = ranks(&plan)?;
    ensure!(changes && planned.iter().map(Vec::len).sum::<usize>() >= least, "{what}: {plan:#}");
    let writes = place.writes(&["p"])?;
    place.stage.start_operator().await?;
    let wrote = until(what, SOON, async || {
        let wrote = done(&writes)?;
        Ok(if wrote.len() >= planned.iter().map(Vec::len).sum() {
            Ok(wrote)
        } else {
            Err(format!("{wrote:?}, planned: {planned:?}"))
        })
    })
    .await?;
    // what it would do now is nothing: it has come to rest
    let (changes, rest) = if what == "a deletion" { (false, Value::Null) } else { self::plan(place, &[])? };
    ensure!(!changes, "{what}: there is more to do: {rest:#}");
    let wrote = done(&writes).map(|now| if now.len() > wrote.len() { now } else { wrote })?;
    let mut left = wrote.as_slice();
    for rank in &planned {
        let (now, later) = left.split_at_checked(rank.len()).with_context(|| format!("{what}: {rank:?} is missing"))?;
        let (mut now, mut wanted) = (now.to_vec(), rank.clone());
        now.sort();
        wanted.sort();
        ensure!(now == wanted, "{what}: planned {planned:#?}, written {wrote:#?}");
        left = later;
    }
    ensure!(left.is_empty(), "{what}: not planned: {left:?}");
    println!("figure: plan, {what}: {} writes, as planned", wrote.len());
    Ok(())
}

/// At rest nothing is planned, and the exit code says so; a file without an edit of it is no answer.
fn nothing(place: &Place<'_>) -> Result<()> {
    let (changes, plan) = plan(place, &[])?;
    ensure!(!changes, "at rest: {plan:#}");
    let (address, others) = (format!("{}/p", place.name), "apiVersion: v1\nkind: Secret\nmetadata: {name: p}\n");
    let file = place.stage.cluster.run_dir().write("others.yaml", others)?;
    let out = place.stage.banlieue(&["plan", "provider", &address, "-f", &file.display().to_string()])?;
    let said = String::from_utf8_lossy(&out.stderr);
    ensure!(out.status.code() == Some(64) && said.contains("is in the files"), "{}: {said}", out.status);
    Ok(())
}

/// What the program foretells of an edit that nobody has made: `kubectl --dry-run=server` writes it to a file.
fn preview(place: &Place<'_>, object: &[&str], change: Value) -> Result<(bool, Value)> {
    let (cluster, change) = (&place.stage.cluster, change.to_string());
    let dry = [&["patch"], object, &["--type=merge", "-p", &change, "--dry-run=server", "-o", "yaml"]].concat();
    let edited = cluster.run_dir().write("edited.yaml", &cluster.kubectl(dry)?)?;
    plan(place, &["-f", &edited.display().to_string()])
}

/// What the program foretells, and whether its exit code says that something would change.
fn plan(place: &Place<'_>, more: &[&str]) -> Result<(bool, Value)> {
    let address = format!("{}/p", place.name);
    let out = place.stage.banlieue(&[&["plan", "provider", &address, "-o", "json"], more].concat())?;
    let changes = match out.status.code() {
        Some(0) => false,
        Some(2) => true,
        _ => bail!("{}: {}", out.status, String::from_utf8_lossy(&out.stderr)),
    };
    Ok((changes, serde_json::from_slice(&out.stdout)?))
}

/// The planned writes in words of the API; those of one rank may come in any order.
fn ranks(plan: &Value) -> Result<Vec<Vec<String>>> {
    let mut ranks: Vec<(u8, Vec<String>)> = Vec::new();
    for (at, round) in plan.as_array().context("rounds")?.iter().enumerate() {
        for effect in round["effects"].as_array().context("effects")? {
            let (verb, object) = (effect["effect"].as_str().unwrap_or(""), effect["object"].as_str().unwrap_or(""));
            let part = Part::ALL.into_iter().find(|part| object.starts_with(&format!("{} ", part.kind())));
            let plural = part.map_or(String::new(), |part| format!("{}s", part.kind().to_lowercase()));
            let (rank, write) = match verb.split(' ').next().unwrap_or("") {
                "hold" => (0, "patch providers".to_owned()),
                "create" | "change" => (1 + part.map_or(0, Part::rank), format!("patch {plural}")),
                "delete" => (4, format!("delete {plural}")),
                "announce" => (5, "create events".to_owned()),
                "report" => (6, "patch providers/status".to_owned()),
                "release" => (7, "patch providers".to_owned()),
                _ => bail!("{effect} is no effect"),
            };
            let rank = u8::try_from(at)? * 10 + rank;
            match ranks.last_mut().filter(|(last, _)| *last == rank) {
                Some((_, writes)) => writes.push(write),
                None => ranks.push((rank, vec![write])),
            }
        }
    }
    Ok(ranks.into_iter().map(|(_, writes)| writes).collect())
}

/// What the operator wrote, in the order of the API server's own record.
fn done(writes: &Writes) -> Result<Vec<String>> {
    let mut entries: Vec<Entry> = writes.entries()?;
    entries.sort_by_key(|entry| entry.request_received_timestamp);
    Ok(entries.iter().map(crate::writes::what).collect())
}
