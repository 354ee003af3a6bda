//! The session at the backend: one, kept, renewed where it has ended, and no ended one is a wrong password.
use crate::place::restarts;
use crate::sim::{AT_ONCE, Sim};
use crate::site::{LOOK, Site, not_good, not_ready};
use crate::stage::Stage;
use anyhow::{Result, ensure};
use banlieue::k8s::crd::Provider;
use banlieue_e2e::vcsim::Model;
use k8s_openapi::api::core::v1::Secret;
use kube::api::{Patch, PatchParams};
use serde_json::json;
use std::time::Instant;

/// The password that comes after the first.
const ROTATED: &str = "another staple";

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
            // one that lives for a second may end, and be renewed by the one look that may be due, before it is counted
            let counts = sim.count("a new session", AT_ONCE, |c| c.logins > logins).await?;
            let once = counts.logins <= logins + 2 && counts.sessions <= 1;
            ensure!(once && counts.refused == 0, "{counts:?} after {logins} logins");
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

/// A password that was good is changed at the vCenter, then in the Secret: the session that stands is not disturbed, within 40 seconds
/// the new one is used, and nothing restarts.
pub(crate) async fn a_rotated_password_is_used_and_nobody_notices(stage: &Stage) -> Result<()> {
    let site = Site::new(stage, "rotated").await?;
    let sim = Sim::start(stage, "rotated", Model::default())?;
    site.join(&sim, "vc").await?;
    let story = async {
        sim.ask("/credentials", json!({"username": sim.username, "password": ROTATED})).await?;
        let patch = Patch::Merge(json!({"stringData": {"password": ROTATED}}));
        site.api::<Secret>().patch("vc", &PatchParams::default(), &patch).await?;
        let began = Instant::now();
        let counts = sim.count("a login with the new password", LOOK, |c| c.logins == 2).await?;
        println!("figure: a rotated password is used after {:.1} s", began.elapsed().as_secs_f64());
        ensure!(counts.sessions == 1 && counts.refused == 0, "{counts:?}");
        // the session is not what it rests on
        sim.ask("/kill-sessions", json!({})).await?;
        site.wake("vc").await?;
        let counts = sim.count("another login", AT_ONCE, |c| c.logins == 3).await?;
        ensure!(counts.refused == 0, "{counts:?}");
        Ok(())
    };
    let noticed = |p: &Provider| not_good(p) || not_ready(p);
    site.while_never("vc", "the rotation was noticed", noticed, story).await?;
    site.undisturbed("vc").await?;
    site.end().await
}
