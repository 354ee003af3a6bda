//! What the operator shows of itself: health, metrics, logs; and its end when it is blind.
use crate::detour::{Detour, Fault, alone};
use crate::five::SOON;
use crate::place::Place;
use crate::stage::Stage;
use crate::until::until;
use anyhow::{Context, Result, ensure};
use banlieue::k8s::crd::Provider;
use banlieue_e2e::proxy::Asked;
use k8s_openapi::api::core::v1::Secret;
use kube::Api;
use kube::api::PostParams;
use serde_json::{Value, json};
use std::time::Instant;

/// What a metrics page must hold: the names that users of this ecosystem know, and our own.
const METRICS: [&str; 17] = [
    "controller_runtime_reconcile_total{controller=\"provider\",result=\"success\"}",
    "controller_runtime_reconcile_errors_total{controller=\"provider\"}",
    "controller_runtime_reconcile_panics_total{controller=\"provider\"}",
    "controller_runtime_reconcile_time_seconds_bucket{",
    "controller_runtime_active_workers{controller=\"provider\"}",
    "controller_runtime_max_concurrent_reconciles{controller=\"provider\"}",
    "rest_client_requests_total{code=\"200\",method=\"GET\",host=",
    "leader_election_master_status{name=\"banlieue-operator\"} 1",
    "process_cpu_seconds_total ",
    "process_resident_memory_bytes ",
    "process_open_fds ",
    "banlieue_provider_phase{phase=\"Ready\"}",
    "banlieue_provider_phase{phase=\"Terminating\"}",
    "banlieue_transitions_total{from=\"Provisioning\",to=\"Ready\",reason=\"WorkloadAvailable\"}",
    "banlieue_effects_total{effect=\"Apply\",result=\"success\"}",
    "banlieue_orphans_removed_total{kind=\"ClusterRoleBinding\"}",
    "banlieue_sweeps_stopped_total ",
];

/// The nine kinds that are watched.
const WATCHES: [&str; 9] = [
    "clusterrolebindings",
    "deployments",
    "namespaces",
    "pods",
    "providerclasses",
    "providers",
    "rolebindings",
    "roles",
    "serviceaccounts",
];

pub(crate) async fn health_and_metrics_by_name(stage: &Stage) -> Result<()> {
    let place = Place::new(stage, "health").await?;
    place.registered("p").await?;
    let slot = stage.operator.lock().await;
    let operator = slot.as_ref().context("no operator runs")?;
    ensure!(operator.get("livez").await? == (200, "ok".into()));
    let (status, verbose) = operator.get("readyz?verbose").await?;
    ensure!(status == 200 && verbose.ends_with("readyz check passed\n"), "{status}: {verbose}");
    for check in WATCHES.map(|kind| format!("[+]watch-{kind} ok")).iter().map(String::as_str).chain(["[+]caches ok"]) {
        ensure!(verbose.contains(check), "{check} is not in:\n{verbose}");
    }
    let (_, metrics) = operator.get("metrics").await?;
    for line in METRICS {
        ensure!(metrics.contains(line), "{line} is not in:\n{metrics}");
    }
    Ok(())
}

fn of_pods(asked: &Asked) -> bool {
    asked.uri.path().ends_with("/pods")
}

/// A right is missing: said once, shown, and after a while the end. This one does not lead, and disturbs nobody.
pub(crate) async fn a_watch_that_cannot_start(stage: &Stage) -> Result<()> {
    let began = Instant::now();
    let plot = |asked: &Asked| of_pods(asked).then_some(Fault::Refuse(403));
    let detour = Detour::start(stage, &["--watch-patience=20s"], plot).await?;
    until("it says which watch, and why", SOON, async || {
        let (_, text) = detour.operator.get("readyz?verbose").await.unwrap_or_default();
        let says = text.contains("[-]watch-pods failed: a planted 403") && text.contains("[-]caches failed: not yet");
        Ok(if says { Ok(()) } else { Err(text) })
    })
    .await?;
    let log = ends_blind(detour, "a planted 403", |detour| detour.faults.calm(began, 1)).await?;
    let told = log.lines().filter(|line| line.contains("planted")).count();
    ensure!((1..=3).contains(&told), "told {told} times:\n{log}");
    Ok(())
}

/// A watch whose answer never comes: the others are well, and shown so.
pub(crate) async fn a_watch_that_stalls(stage: &Stage) -> Result<()> {
    let place = Place::new(stage, "health-stall").await?;
    place.registered("p").await?;
    let stall = |asked: &Asked| {
        let watch = asked.uri.query().is_some_and(|q| q.contains("watch=true"));
        (of_pods(asked) && watch).then_some(Fault::Hang)
    };
    let detour = Detour::start(stage, &["--watch-patience=20s"], stall).await?;
    detour.operator.ready().await?;
    let mut count = 0;
    until("it doubts the one and not the other", SOON, async || {
        // news for the watch of Providers
        count += 1;
        place.edit("p", json!({ "metadata": { "annotations": { "example.com/count": count.to_string() } } })).await?;
        let (_, text) = detour.operator.get("readyz?verbose").await?;
        let says = text.contains("[-]watch-pods failed: silent") && text.contains("[+]watch-providers ok");
        Ok(if says { Ok(()) } else { Err(text) })
    })
    .await?;
    ends_blind(detour, "it is silent", |_| Ok(())).await.map(drop)
}

/// Waits for the end of an operator that is blind, and returns its log: JSON to the last line but one, which is for people.
async fn ends_blind(detour: Detour, why: &str, check: impl FnOnce(&Detour) -> Result<()>) -> Result<String> {
    let mut detour = detour;
    let status = until("it ends", SOON, async || Ok(detour.operator.ended()?.ok_or_else(|| "it runs".into()))).await?;
    ensure!(status.code() == Some(1), "it ended with {status}");
    check(&detour)?;
    let log = detour.log()?;
    let (last, lines) =
        log.trim_end().rsplit_once('\n').map(|(lines, last)| (last, lines)).context("it said nothing")?;
    ensure!(last.starts_with("error: the watch of ") && last.contains(why), "its last words: {last}");
    for line in lines.lines() {
        serde_json::from_str::<Value>(line).with_context(|| format!("no JSON: {line}"))?;
    }
    Ok(log)
}

/// Whatever is logged at whatever level, what is secret is not in it: the token of the operator, the Secret of a Provider.
pub(crate) async fn no_secret_is_logged(stage: &Stage) -> Result<()> {
    const PLANTED: &str = "planted-correct-horse-battery";
    let place = Place::new(stage, "health-secret").await?;
    let secret = json!({ "metadata": { "name": "creds" }, "stringData": { "username": "u", "password": PLANTED } });
    let secrets: Api<Secret> = Api::namespaced(stage.client.clone(), &place.name);
    secrets.create(&PostParams::default(), &serde_json::from_value(secret)?).await?;
    alone(stage, async || {
        let refused = |asked: &Asked| asked.uri.path().contains("/roles/").then_some(Fault::Refuse(500));
        let detour = Detour::start(stage, &["--no-leader-elect", "--log-level=trace"], refused).await?;
        detour.operator.leads().await?;
        place.register("p").await?;
        until("a refusal is logged", SOON, async || {
            let log = detour.log()?;
            Ok(if log.contains("a planted 500") { Ok(()) } else { Err(format!("{} bytes of log", log.len())) })
        })
        .await?;
        detour.faults.plot(|_| None);
        let seen: Provider = place.ready("p").await?;
        ensure!(seen.spec.connection.credentials_ref.name == "creds");
        let log = detour.log()?;
        ensure!(log.contains("\"level\":\"TRACE\""), "it does not log all it can");
        let kubeconfig: Value = serde_json::from_str(&std::fs::read_to_string(&stage.kubeconfig)?)?;
        let token = kubeconfig["users"][0]["user"]["token"].as_str().context("the operator has no token")?.to_owned();
        let signature = token.rsplit('.').next().context("no token")?;
        for secret in [PLANTED, token.as_str(), signature] {
            ensure!(!log.contains(secret), "a secret of {} characters is in the log", secret.len());
        }
        detour.operator.stop().await
    })
    .await
}
