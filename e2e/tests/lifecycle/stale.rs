//! A watch that is behind: what a write is refused for is seen by the operator, though no watch tells of it.
use crate::detour::{Detour, Fault, alone};
use crate::five::SOON;
use crate::place::Place;
use crate::stage::Stage;
use anyhow::Result;
use banlieue::fsm::Part;
use banlieue_e2e::watch;
use serde_json::json;

/// The Provider is deleted, and its watch is silent. The next write of its status is refused; what follows is the deletion,
/// and not more work.
pub(crate) async fn a_deletion_that_no_watch_tells(stage: &Stage) -> Result<()> {
    let place = Place::new(stage, "stale-deletion").await?;
    place.registered("p").await?;
    let five = place.five("p");
    alone(stage, async || {
        let silent = |path: &str, query: &str| path.ends_with("/providers") && query.contains("watch=true");
        let detour = Detour::start(stage, &["--no-leader-elect"], move |asked| {
            silent(asked.uri.path(), asked.uri.query().unwrap_or_default()).then_some(Fault::Hang)
        })
        .await?;
        detour.operator.leads().await?;
        place.delete("p", &Default::default()).await?;
        // what another watch tells wakes it
        five.edit(Part::Role, json!({ "rules": [] })).await?;
        watch::gone(&place.providers, "p", SOON).await?;
        five.gone().await?;
        detour.operator.stop().await
    })
    .await
}
