//! The audit line: one JSON object a plan that did something, on the log's target `banlieue::audit`.
use super::crd::Provider;
use crate::effects::Done;
use crate::fsm::{Observation, Plan};
use kube::ResourceExt;

/// Records an edge, or effects without one. A plan that owed nothing leaves no line.
pub(super) fn record(provider: &Provider, seen: &Observation, plan: &Plan, done: &[Done<'_>]) {
    if done.is_empty() {
        return;
    }
    let effects: Vec<String> = done
        .iter()
        .map(|d| match &d.result {
            Ok(()) => format!("{}: ok", d.effect),
            Err(refusal) => format!("{}: {:?}: {}", d.effect, refusal.fault, refusal.words),
        })
        .collect();
    let entry = plan.transition().map(|edge| &edge.entry);
    tracing::info!(
        target: "banlieue::audit",
        provider = format!("{}/{}", provider.namespace().unwrap_or_default(), provider.name_any()),
        uid = provider.uid().unwrap_or_default(),
        edge = entry.is_some(),
        from = entry.and_then(|e| e.from).map(|p| p.as_str()),
        to = plan.phase().as_str(),
        reason = plan.signal().reason.as_str(),
        message = plan.signal().message,
        generation = seen.generation,
        class = seen.made.class.name,
        class_generation = seen.made.class.generation,
        effects = serde_json::to_string(&effects).unwrap_or_default(),
    );
}
