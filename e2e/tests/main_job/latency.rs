//! How long it takes from the arrival of a Provider until all five objects are stored, by the API server's own clock.
//!
//! Most of it is the API server's: before it lets somebody grant rights, it lists roles and bindings from its watch cache and waits
//! until that is as new as etcd, which it asks every 100 ms. A Role and then its RoleBinding are two such waits. (Seen: 215 ms with that
//! cache, 68 ms with `--watch-cache-sizes` at 0 for the kinds of RBAC.) So what counts is what the operator adds.
use crate::audit::{Entry, Log};
use crate::place::Place;
use crate::stage::Stage;
use anyhow::{Context, Result, ensure};
use chrono::{DateTime, TimeDelta, Utc};

/// The rounds; the best one counts, since other work on the machine only ever adds.
const ROUNDS: usize = 5;
/// What the whole may take on a machine that has nothing else to do.
const TOTAL: TimeDelta = TimeDelta::milliseconds(100);
/// What the operator itself may add on any machine: the time in which no request of its was being served.
const OWN: TimeDelta = TimeDelta::milliseconds(60);
/// Finalizer, three objects, RoleBinding, Event, status, Deployment.
const REQUESTS: usize = 8;

/// One round, as the audit log tells it.
#[derive(Debug)]
struct Round {
    total: TimeDelta,
    served: TimeDelta,
    requests: usize,
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
        let mut spans: Vec<_> = entries
            .iter()
            .filter(window)
            .filter(|e| e.user.username.ends_with(":banlieue-operator") && e.writes() && e.resource() != "leases")
            .map(|e| (e.request_received_timestamp, e.stage_timestamp))
            .collect();
        let requests = spans.len();
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

/// Few requests, hardly any time of the operator's own, and 100 ms in all unless the API server itself needs most of that.
pub(crate) async fn five_objects_within_100_ms(stage: &Stage) -> Result<()> {
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
    let told = |r: &Round| {
        format!(
            "{} ms (operator {} ms, {} requests)",
            r.total.num_milliseconds(),
            r.own().num_milliseconds(),
            r.requests
        )
    };
    println!("figure: apply to five objects: best {}, median {}", told(&rounds[0]), told(&rounds[ROUNDS / 2]));
    let best = &rounds[0];
    ensure!(rounds.iter().all(|r| r.requests <= REQUESTS), "more requests than needed: {rounds:#?}");
    ensure!(rounds.iter().any(|r| r.own() < OWN), "the operator takes its time: {rounds:#?}");
    ensure!(best.total < TOTAL || best.served > TOTAL / 2, "too slow: {rounds:#?}");
    place.clear().await
}
