//! Clocks that jump, under a leader and under a candidate: a Lease counts on the monotonic clock, so nobody notices.
use crate::detour::alone;
use crate::five::SOON;
use crate::leadership::{FAST, lease};
use crate::operator::Operator;
use crate::place::Place;
use crate::stage::Stage;
use crate::until::until;
use anyhow::{Context, Result, ensure};
use chrono::Utc;
use std::path::PathBuf;
use std::process::Command;

const DAY: i64 = 86_400;
/// How often a Lease is renewed under a clock before it is believed that nothing happens.
const RENEWALS: usize = 4;

/// An operator whose time of day a test sets.
struct Shifted {
    operator: Operator,
    shift: PathBuf,
}

impl Shifted {
    fn start(stage: &Stage, library: &str, holder: &str) -> Result<Self> {
        let shift = stage.cluster.run_dir().write(&format!("{holder}.shift"), "0")?;
        let path = shift.to_str().context("an odd path")?;
        let env = [("LD_PRELOAD", library), ("CLOCK_SHIFT", path)];
        let operator = stage.role_in(&env, "operator", &stage.kubeconfig, holder, &FAST)?;
        Ok(Self { operator, shift })
    }

    fn set(&self, seconds: i64) -> Result<()> {
        // in one step: it is read all the time
        let next = self.shift.with_extension("next");
        std::fs::write(&next, seconds.to_string())?;
        Ok(std::fs::rename(next, &self.shift)?)
    }
}

/// A day ahead, a day back, each of the two alone and both: the leader leads on, the other one never does.
pub(crate) async fn clocks_that_jump(stage: &Stage) -> Result<()> {
    let place = Place::new(stage, "clock").await?;
    let library = stage.cluster.run_dir().join("clock.so");
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/lifecycle/clock.c");
    let built = Command::new("cc").args(["-shared", "-fPIC", "-o"]).arg(&library).args([source, "-ldl"]).status()?;
    ensure!(built.success(), "cc cannot build {source}");
    let library = library.to_str().context("an odd path")?.to_owned();
    alone(stage, async || {
        let leader = Shifted::start(stage, &library, "clock-leader")?;
        leader.operator.leads().await?;
        let other = Shifted::start(stage, &library, "clock-other")?;
        other.operator.ready().await?;
        for (name, ours, theirs) in [("ahead", DAY, 0), ("back", -DAY, 0), ("apart", DAY, -DAY), ("right", 0, 0)] {
            leader.set(ours)?;
            other.set(theirs)?;
            for _ in 0..RENEWALS {
                renewed(stage, ours).await?;
            }
            place.registered(name).await?;
        }
        let log = std::fs::read_to_string(stage.cluster.run_dir().log("clock-other"))?;
        ensure!(!log.contains("leadership changed"), "the other one led:\n{log}");
        other.operator.stop().await?;
        leader.operator.stop().await
    })
    .await
}

/// Waits until the leader has renewed its Lease once more, by a clock that is off by this much.
async fn renewed(stage: &Stage, off: i64) -> Result<()> {
    let before = lease(stage).await?.and_then(|lease| lease.metadata.resource_version);
    until("the leader renews its Lease by its own clock", SOON, async || {
        let lease = lease(stage).await?.unwrap_or_default();
        let spec = lease.spec.clone().unwrap_or_default();
        ensure!(spec.holder_identity.as_deref() == Some("clock-leader"), "the Lease is held by {spec:?}");
        let seen = spec.renew_time.map_or(0, |time| time.0.as_second() - Utc::now().timestamp());
        let renewed = lease.metadata.resource_version != before && (seen - off).abs() < DAY / 4;
        Ok(if renewed { Ok(()) } else { Err(format!("{seen} s off, wanted {off}")) })
    })
    .await
}
