//! The session at the backend: one, kept, renewed where it has ended, and no ended one is a wrong password.
use crate::place::restarts;
use crate::sim::{AT_ONCE, Sim};
use crate::site::{Site, not_good};
use crate::stage::Stage;
use anyhow::{Result, ensure};
use banlieue_e2e::vcsim::Model;
use serde_json::json;

/// Sessions that run out, and sessions that are killed, are renewed at the next look; nobody sees more than one, and none is refused.
pub(crate) async fn one_that_has_ended_is_renewed_and_never_a_wrong_password(stage: &Stage) -> Result<()> {
    let site = Site::new(stage, "expiry").await?;
    let sim = Sim::start(stage, "expiry", Model::default())?;
    sim.ask("/session-lifetime", json!({"seconds": 1})).await?;
    let provider = site.join(&sim, "vc").await?;
    let ends = async {
        let mut logins = sim.counts().await?.logins;
        for round in 0..6 {
            match round % 2 {
                0 => sim.count("the session runs out", AT_ONCE, |c| c.sessions == 0).await?,
                _ => {
                    sim.ask("/kill-sessions", json!({})).await?;
                    sim.sessions(0).await?
                }
            };
            site.wake("vc").await?;
            // one that lives for a second may end, and be renewed by a look that was due, before it is counted
            let counts = sim.count("a new session", AT_ONCE, |c| c.logins > logins).await?;
            ensure!(counts.sessions <= 1 && counts.refused == 0, "{counts:?}");
            logins = counts.logins;
        }
        Ok(())
    };
    site.while_never("vc", "an ended session was taken for trouble", not_good, ends).await?;
    ensure!(restarts(&site.pods(&provider).await?) == 0, "the pod was restarted");
    site.end().await?;
    ensure!(sim.sessions(0).await?.refused == 0, "a login was refused");
    Ok(())
}
