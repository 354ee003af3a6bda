//! Edits of a Provider that runs.
use crate::place::{Place, workload};
use crate::stage::Stage;
use anyhow::{Context, Result, ensure};
use banlieue::fsm::{Part, Reason};
use serde_json::json;

/// Another Secret, and one with a CA: the Role grants those and no longer the first one, and no pod is rolled.
pub(crate) async fn another_secret_is_granted_in_place_of_the_first(stage: &Stage) -> Result<()> {
    let place = Place::new(stage, "spec-secret").await?;
    let before = place.registered("p").await?;
    let (five, writes) = (place.five("p"), place.writes(&["p"])?);
    let pods = five.marks().await?.remove(&Part::Deployment);
    let connection =
        json!({ "credentialsRef": { "name": "others" }, "caBundle": { "secretRef": { "name": "roots" } } });
    place.edit("p", json!({ "spec": { "connection": connection } })).await?;
    let seen = place.ready("p").await?;
    ensure!(seen.metadata.generation > before.metadata.generation, "nothing was edited");

    let role = five.get(Part::Role).await?;
    let secrets =
        role.data["rules"].as_array().into_iter().flatten().find(|rule| rule["resources"] == json!(["secrets"]));
    let names = &secrets.context("no rule for Secrets")?["resourceNames"];
    ensure!(*names == json!(["others", "roots"]), "granted are {names}");
    let edges: Vec<_> = workload(&seen).context("no status")?.transitions.iter().map(|edge| edge.reason).collect();
    ensure!(edges.contains(&Reason::SpecChanged), "the edges are {edges:?}");
    let counts = writes.come_to("the edit", |counts| counts.get("patch roles") == Some(&1)).await?;
    ensure!(!counts.keys().any(|what| what.ends_with("deployments")), "written: {counts:?}");
    ensure!(five.marks().await?.remove(&Part::Deployment) == pods, "the Deployment was written");
    Ok(())
}
