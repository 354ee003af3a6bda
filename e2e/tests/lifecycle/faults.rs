//! An API server in trouble: nothing is asked in a loop, nothing is lost, and the operator goes on by itself.
use crate::detour::{Detour, Fault, alone};
use crate::five::SOON;
use crate::place::{Place, workload};
use crate::stage::Stage;
use crate::until::until;
use anyhow::{Context, Result, ensure};
use banlieue::fsm::Part;
use banlieue_e2e::watch;
use kube::api::DeleteParams;
use serde_json::json;
use std::time::{Duration, Instant};

/// A Lease that outlives the trouble, so that what is seen is not the end of a leadership.
pub(crate) const PATIENT: [&str; 4] = [
    "--leader-elect-lease-duration=120s",
    "--leader-elect-renew-deadline=110s",
    "--leader-elect-retry-period=2s",
    "--log-level=info",
];
/// How often the same write is tried at least before the trouble ends.
const TRIES: usize = 4;
/// How long the trouble lasts in the long form.
const MINUTE: Duration = Duration::from_secs(60);

/// Everything is refused, with an hour's Retry-After or with an error of the server's own, while one Provider changes, one
/// comes and one goes.
pub(crate) async fn whatever_is_refused_is_tried_calmly(stage: &Stage) -> Result<()> {
    refused(stage, "fault-refused", Duration::ZERO).await
}

/// The same for a minute each.
pub(crate) async fn whatever_is_refused_for_a_minute_is_tried_calmly(stage: &Stage) -> Result<()> {
    refused(stage, "fault-refused-long", MINUTE).await
}

async fn refused(stage: &Stage, name: &str, least: Duration) -> Result<()> {
    let place = Place::new(stage, name).await?;
    alone(stage, async || {
        let detour = Detour::start(stage, &PATIENT, |_| None).await?;
        detour.operator.leads().await?;
        for name in ["p", "goes-429", "goes-500"] {
            place.registered(name).await?;
        }
        for (code, tag) in [(429, "2"), (500, "3")] {
            detour.faults.plot(move |_| Some(Fault::Refuse(code)));
            let began = Instant::now();
            let (comes, goes) = (format!("comes-{code}"), format!("goes-{code}"));
            place.register(&comes).await?;
            place.delete(&goes, &DeleteParams::default()).await?;
            place.edit_class(&place.name, json!({ "image": { "tag": tag } })).await?;
            let own = format!("/deployments/{}", place.five("p").at(Part::Deployment).name);
            until("the change is tried a few times", SOON, async || {
                let counts = detour.faults.counts(began);
                let tries = counts.iter().find(|(what, _)| what.starts_with("PATCH") && what.ends_with(&own));
                let enough = tries.is_some_and(|(_, tries)| *tries >= TRIES) && began.elapsed() >= least;
                Ok(if enough { Ok(()) } else { Err(format!("{counts:?}")) })
            })
            .await?;
            // the one that changes, the one that comes, the one that goes, and the one that goes next
            detour.faults.calm(began, 4)?;
            let counts = detour.faults.counts(began);
            println!("figure: a planted {code} for {} s: {counts:?}", began.elapsed().as_secs());
            detour.faults.plot(|_| None);
            let runs = format!(":{tag}");
            place.says("p", "the new image", |w| w.image.as_ref().is_some_and(|i| i.ends_with(&runs))).await?;
            place.ready("p").await?;
            place.ready(&comes).await?;
            watch::gone(&place.providers, &goes, SOON).await?;
            place.five(&goes).gone().await?;
        }
        detour.operator.stop().await
    })
    .await
}

/// A leader that gets no answer any more cannot renew its Lease: it ends by itself, and its health tells until then.
pub(crate) async fn an_api_server_that_hangs_ends_the_leader(stage: &Stage) -> Result<()> {
    alone(stage, async || {
        let detour = Detour::start(stage, &[], |_| None).await?;
        detour.operator.leads().await?;
        detour.faults.plot(|_| Some(Fault::Hang));
        let live = detour.operator.get("livez").await?;
        ensure!(live == (200, "ok".into()), "a server that hangs is no reason to kill this process: {live:?}");
        let Detour { operator, .. } = detour;
        let status = operator.ends(SOON).await?;
        ensure!(status.code() == Some(1), "it ended with {status}");
        Ok(())
    })
    .await
}

/// A leader whose Lease lasts waits for the API server and goes on; the other one stays the other one.
pub(crate) async fn an_api_server_that_restarts(stage: &Stage) -> Result<()> {
    let place = Place::new(stage, "fault-restart").await?;
    place.registered("before").await?;
    alone(stage, async || {
        let operator = stage.operator_by(&stage.kubeconfig, "patient", &PATIENT)?;
        operator.leads().await?;
        let other = stage.operator_by(&stage.kubeconfig, "patient-other", &PATIENT)?;
        other.ready().await?;
        let writes = place.writes(&["before"])?;
        stage.cluster.stop_component("kube-apiserver")?;
        stage.cluster.start_component("kube-apiserver")?;
        stage.cluster.wait_ready().await?;
        place.register("after").await?;
        let ready = place.ready("after").await?;
        place.five("after").stamped(&ready).await?;
        let old: Vec<_> =
            writes.entries()?.into_iter().filter(|e| e.uri.contains("before")).map(|e| e.line()).collect();
        ensure!(old.is_empty(), "a restart of the API server led to writes: {old:?}");
        let log = std::fs::read_to_string(stage.cluster.run_dir().log("patient-other"))?;
        ensure!(!log.contains("leadership changed"), "the other one led:\n{log}");
        other.stop().await?;
        operator.stop().await
    })
    .await
}

/// Told to stop, the operator ends what is in hand, begins nothing new, and gives its Lease back.
pub(crate) async fn a_graceful_end(stage: &Stage) -> Result<()> {
    let place = Place::new(stage, "fault-end").await?;
    alone(stage, async || {
        for (name, fault) in [("late", Fault::Held), ("never", Fault::Hang)] {
            let detour = Detour::start(stage, &[], move |asked| {
                (asked.method == "PATCH" && asked.uri.path().contains("/roles/")).then_some(fault)
            })
            .await?;
            detour.operator.leads().await?;
            let began = Instant::now();
            place.register(name).await?;
            until("an effect is in hand", SOON, async || {
                let counts = detour.faults.counts(began);
                let in_hand = counts.keys().any(|what| what.contains("/roles/"));
                Ok(if in_hand { Ok(()) } else { Err(format!("{counts:?}")) })
            })
            .await?;
            detour.operator.signal("TERM")?;
            until("it knows that it is to end", SOON, async || {
                Ok(if detour.log()?.contains("the end begins") { Ok(()) } else { Err("it does not".into()) })
            })
            .await?;
            let told = Instant::now();
            detour.faults.release();
            let Detour { faults, operator, .. } = detour;
            let status = operator.ends(SOON).await?;
            println!("figure: the end with an effect that comes {name}: {:.1} s", told.elapsed().as_secs_f64());
            ensure!(status.success(), "it ended with {status}");
            let later = faults.counts(told);
            let writes: Vec<_> =
                later.keys().filter(|what| !what.starts_with("GET") && !what.contains("/leases/")).collect();
            ensure!(writes.is_empty(), "it began something new: {writes:?}");
            let role = place.five(name).find(Part::Role).await?;
            ensure!(role.is_some() == (name == "late"), "what was in hand: {role:?}");
            let holder = crate::leadership::holder(stage).await?;
            ensure!(holder.is_none(), "the Lease is held by {holder:?}");
        }
        Ok(())
    })
    .await?;
    for name in ["late", "never"] {
        let seen = place.ready(name).await?;
        workload(&seen).context("no status")?;
    }
    Ok(())
}
