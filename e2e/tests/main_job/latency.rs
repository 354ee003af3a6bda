//! What it takes from the arrival of a Provider until all five objects are stored, by the API server's own clock.
//!
//! The time is printed, not judged (ADR-0017): most of it is the API server's. What counts is how many requests the operator makes, and
//! that its own part is the smaller one.
use crate::audit::{Entry, Log};
use crate::place::Place;
use crate::stage::Stage;
use anyhow::{Context, Result, ensure};
use chrono::{DateTime, TimeDelta, Utc};

/// The rounds; the best one counts, since other work on the machine only ever adds.
const ROUNDS: usize = 5;
/// Finalizer, ServiceAccount, Role, two bindings, Event, status, Deployment.
const REQUESTS: usize = 8;

/// One round, as the audit log tells it.
#[derive(Debug)]
struct Round {
    total: TimeDelta,
    served: TimeDelta,
    requests: Vec<String>,
}

impl Round {
    fn read(entries: &[Entry], provider: &str, names: [&str; 2]) -> Result<Self> {
        let created = |e: &&Entry| e.code() == 201 && e.object_ref.as_ref().is_some_and(|o| o.subresource.is_empty());
        let named = |e: &&Entry, name: &str| e.object_ref.as_ref().is_some_and(|o| o.name == name);
        let applied = entries.iter().filter(created).find(|e| e.resource() == "providers" && named(e, provider));
        let applied = applied.context("the audit log has no creation of the Provider")?;
        let kinds = ["deployments", "serviceaccounts", "roles", "rolebindings", "clusterrolebindings"];
        let five = entries
            .iter()
            .filter(created)
            .filter(|e| kinds.contains(&e.resource()) && names.iter().any(|n| named(e, n)));
        let ends: Vec<_> = five.map(|e| e.stage_timestamp).collect();
        ensure!(ends.len() == 5, "the audit log has {} creations of the five", ends.len());
        let last = ends.into_iter().max().context("none")?;
        let window = |e: &&Entry| e.stage_timestamp > applied.request_received_timestamp && e.stage_timestamp <= last;
        let operator = |e: &&Entry| e.user.username.ends_with(":banlieue-operator");
        let ours: Vec<_> =
            entries.iter().filter(window).filter(|e| operator(e) && e.writes() && e.resource() != "leases").collect();
        let requests = ours.iter().map(|e| e.line()).collect();
        let mut spans: Vec<_> = ours.iter().map(|e| (e.request_received_timestamp, e.stage_timestamp)).collect();
        spans.push((applied.request_received_timestamp, applied.stage_timestamp));
        Ok(Round { total: last - applied.request_received_timestamp, served: covered(spans), requests })
    }

    fn own(&self) -> TimeDelta {
        self.total - self.served
    }
}

/// The time that at least one of these spans covers.
fn covered(mut spans: Vec<(DateTime<Utc>, DateTime<Utc>)>) -> TimeDelta {
    spans.sort_unstable();
    let mut sum = TimeDelta::zero();
    let mut until = DateTime::<Utc>::MIN_UTC;
    for (from, to) in spans {
        sum += (to - from.max(until)).max(TimeDelta::zero());
        until = until.max(to);
    }
    sum
}

/// No request more than needed, and most of the time is the API server's.
pub(crate) async fn five_objects_in_eight_requests(stage: &Stage) -> Result<()> {
    let place = Place::new(stage, "latency").await?;
    let log = Log::from_now(stage.cluster.audit_log_path())?;
    let mut rounds = Vec::new();
    for round in 0..ROUNDS {
        let name = format!("vc-{round}");
        place.register(&name).await?;
        place.ready(&name).await?;
        let objects = place.workload(&name);
        rounds.push(Round::read(&log.entries()?, &name, [&objects.pods, &objects.binding])?);
        place.remove(&name, &objects).await?;
    }
    rounds.sort_by_key(|r| r.total);
    let told = |r: &Round| format!("{} ms (operator {} ms)", r.total.num_milliseconds(), r.own().num_milliseconds());
    println!("figure: apply to five objects: best {}, median {}", told(&rounds[0]), told(&rounds[ROUNDS / 2]));
    ensure!(rounds.iter().all(|r| r.requests.len() <= REQUESTS), "more requests than needed: {rounds:#?}");
    ensure!(rounds.iter().any(|r| r.own() < r.served), "the operator takes its time: {rounds:#?}");
    place.clear().await
}
