//! The record of an edge: the Event, the entry in `status.workload.transitions` and the audit line on the log tell the same.
use crate::five::SOON;
use crate::place::{Place, workload};
use crate::stage::Stage;
use crate::until::until;
use anyhow::{Context, Result, ensure};
use banlieue::fsm::{Phase, Reason, TransitionEntry};
use banlieue::k8s::crd::{Backend, Provider};
use banlieue_e2e::watch;
use k8s_openapi::api::core::v1::Namespace;
use k8s_openapi::api::events::v1::Event;
use kube::ResourceExt;
use kube::api::{Api, DeleteParams};
use serde_json::{Value, json};

/// A Provider's whole life, over every phase and both kinds of edge: a change of phase, and one blocker after the other.
pub(crate) async fn tell_the_same(stage: &Stage) -> Result<()> {
    let place = Place::bare(stage, "records").await?;
    let mut draft = place.draft("p");
    draft.metadata.finalizers = Some(vec!["example.com/hold".into()]);
    place.create(&draft).await?;
    place.reason("p", Reason::ClassNotFound).await?;
    place.class(&place.name, Backend::Vsphere, json!({ "workloadNamespace": "records-nowhere" })).await?;
    place.reason("p", Reason::NamespaceNotFound).await?;
    place.edit_class(&place.name, json!({ "workloadNamespace": null })).await?;
    place.ready("p").await?;
    place.edit("p", json!({ "spec": { "paused": true } })).await?;
    place.reason("p", Reason::ProviderPaused).await?;
    place.edit("p", json!({ "spec": { "paused": null } })).await?;
    place.ready("p").await?;
    place.edit_class(&place.name, json!({ "image": { "tag": "2" } })).await?;
    place
        .says("p", "ready with the new image", |w| {
            w.phase == Phase::Ready && w.image.as_deref().is_some_and(|image| image.ends_with(":2"))
        })
        .await?;
    place.delete("p", &DeleteParams::default()).await?;
    let last = place.reason("p", Reason::DeletionRequested).await?;
    let entries = workload(&last).context("no status")?.transitions.clone();
    let phases: Vec<Phase> = entries.iter().map(|e| e.to).collect();
    ensure!(Phase::ALL.iter().all(|phase| phases.contains(phase)), "not every phase: {phases:?}");
    ensure!(entries.iter().any(|e| e.from == Some(e.to)), "no edge within a phase: {entries:?}");

    let lines = until("every audit line is written", SOON, async || {
        let lines = audit(stage, &last)?;
        Ok(if lines.len() >= entries.len() { Ok(lines) } else { Err(format!("{lines:#?}")) })
    })
    .await?;
    let events = events(&place, &last).await?;
    ensure!(lines.len() == entries.len(), "{} audit lines for {} entries: {lines:#?}", lines.len(), entries.len());
    ensure!(events.len() == entries.len(), "{} Events for {} entries: {events:#?}", events.len(), entries.len());
    for (entry, line) in entries.iter().zip(&lines) {
        let of = |field: &str| line[field].as_str().map(str::to_owned);
        let told = (of("from"), of("to"), of("reason"));
        let wanted = (entry.from.map(|p| p.to_string()), Some(entry.to.to_string()), Some(entry.reason.to_string()));
        ensure!(told == wanted, "the status says {entry:?}, the audit line {line:#}");
        whole(line, &place.name)?;
        // an Event does not say from where: two edges of one second may read alike
        let alike = |(e, l): &(&TransitionEntry, &Value)| {
            (e.to, e.reason, e.time) == (entry.to, entry.reason, entry.time) && l["message"] == line["message"]
        };
        let crossed = entries.iter().zip(&lines).filter(alike).count();
        let found = events.iter().filter(|event| tells(event, entry, line)).count();
        ensure!(found == crossed, "{found} Events, not {crossed}, for {entry:?}: {events:#?}");
    }
    place.edit("p", json!({ "metadata": { "finalizers": null } })).await?;
    watch::gone(&place.providers, "p", SOON).await
}

/// Whether an Event tells this edge: reason, moment and sentence.
fn tells(event: &Event, entry: &TransitionEntry, line: &Value) -> bool {
    let note = format!("Provider p: {}", line["message"].as_str().unwrap_or_default());
    let kind = if entry.reason.is_failure() { "Warning" } else { "Normal" };
    event.reason.as_deref() == Some(entry.reason.as_str())
        && event.note == Some(note)
        && event.type_.as_deref() == Some(kind)
        && event.event_time.as_ref().map(|t| t.0.as_second()) == Some(entry.time.timestamp())
}

/// An audit line says of what, in the light of what, and what was done with what result.
fn whole(line: &Value, class: &str) -> Result<()> {
    let told = line["generation"].is_i64() && line["class"] == class && line["uid"].is_string();
    let done: Vec<String> = serde_json::from_str(line["effects"].as_str().context("no effects")?)?;
    let announced = done.iter().any(|effect| effect.starts_with("announce ") && effect.ends_with(": ok"));
    ensure!(told && announced && line["class_generation"].is_i64() != (line["reason"] == "ClassNotFound"), "{line:#}");
    Ok(())
}

/// The audit lines of edges of this Provider, in order, whichever operator wrote them.
fn audit(stage: &Stage, provider: &Provider) -> Result<Vec<Value>> {
    Ok(lines(stage, provider)?.into_iter().filter(|line| line["edge"] == true).collect())
}

/// All its audit lines.
pub(crate) fn lines(stage: &Stage, provider: &Provider) -> Result<Vec<Value>> {
    let mut lines = Vec::new();
    for file in std::fs::read_dir(stage.cluster.logs_dir())? {
        let file = file?;
        if !file.file_name().to_string_lossy().starts_with("operator-") {
            continue;
        }
        let text = std::fs::read_to_string(file.path())?;
        let ours = |line: &Value| line["target"] == "banlieue::audit" && line["uid"] == json!(provider.uid());
        lines.extend(text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok()).filter(ours));
    }
    lines.sort_by_key(|line| line["timestamp"].as_str().unwrap_or_default().to_owned());
    Ok(lines)
}

async fn events(place: &Place<'_>, provider: &Provider) -> Result<Vec<Event>> {
    let about = |event: &Event| event.regarding.as_ref().and_then(|r| r.uid.clone()) == provider.uid();
    Ok(place.events().await?.into_iter().filter(about).collect())
}

/// A namespace that goes takes no Event any more. That is written down, and stops nothing.
pub(crate) async fn a_terminating_namespace_refuses_events(stage: &Stage) -> Result<()> {
    let place = Place::new(stage, "records-going").await?;
    let provider = place.registered("p").await?;
    let writes = place.writes(&["p"])?;
    let namespaces: Api<Namespace> = Api::all(stage.client.clone());
    namespaces.delete(&place.name, &DeleteParams::default()).await?;
    watch::gone(&namespaces, &place.name, SOON).await.context("the namespace hangs")?;
    let events: Vec<_> = writes.entries()?.into_iter().filter(|e| e.resource() == "events").collect();
    let lines: Vec<_> = events.iter().map(|e| e.line()).collect();
    ensure!(!events.is_empty() && events.iter().all(|e| e.code() == 403), "Events: {lines:#?}");
    let told = audit(stage, &provider)?;
    let last = told.last().context("no audit line")?;
    let done = last["effects"].as_str().unwrap_or_default();
    let refused = done.contains("announce DeletionRequested: ") && !done.contains("announce DeletionRequested: ok");
    ensure!(last["to"] == "Terminating" && refused, "the audit line says {last:#}");
    place.five("p").gone().await
}
