//! The Providers: how many are in which phase, and who is not well.
use super::{Line, Verdict, line, list};
use crate::fsm::Reason;
use crate::k8s::crd::{Aspect, Condition, ConditionStatus, Provider, ProviderStatus};
use kube::ResourceExt;
use std::collections::BTreeMap;

const UNSERVED: &str = "nobody has looked at it: a static provider serves its backend in its own namespace alone";

/// Counts by phase, and the names of those that a person should look after. Static providers `alone` serve some: the others
/// wait for ever.
pub(super) fn phases(all: &[Provider], alone: bool) -> Line {
    const CHECK: &str = "Providers";
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for provider in all {
        let workload = provider.status.as_ref().and_then(|s| s.workload.as_ref());
        *counts.entry(workload.map_or("without a phase", |w| w.phase.as_str())).or_insert(0) += 1;
    }
    let counts: Vec<_> = counts.iter().map(|(phase, count)| format!("{count} {phase}")).collect();
    let counts = if counts.is_empty() { "none".into() } else { counts.join(", ") };
    let name =
        |p: &Provider| Some(format!("{}/{} ({})", p.namespace().unwrap_or_default(), p.name_any(), ails(p, alone)?));
    let unwell: Vec<_> = all.iter().filter_map(name).collect();
    if unwell.is_empty() {
        return line(CHECK, Verdict::Ok, counts);
    }
    let says =
        format!("{counts}; not well: {}; `banlieue phases` and `banlieue conditions` say what to do", list(unwell));
    line(CHECK, Verdict::Warn, says)
}

/// Why it is not well: the reason of its workload, else that of its backend. Nothing of one that is paused, and of one that
/// is being deleted the finalizers say it.
fn ails(provider: &Provider, alone: bool) -> Option<String> {
    if provider.spec.paused || provider.metadata.deletion_timestamp.is_some() {
        return None;
    }
    let empty = ProviderStatus::default();
    let status = provider.status.as_ref().unwrap_or(&empty);
    if alone && status.observed_generation.is_none() {
        return Some(UNSERVED.into());
    }
    let reason = status.workload.as_ref().and_then(|w| w.reason);
    let ready = Condition::find(&status.conditions, Aspect::Ready.as_str());
    // what was said of an earlier spec may be mended
    let current = |c: &&Condition| c.observed_generation.is_none_or(|g| Some(g) == provider.metadata.generation);
    let backend = ready.filter(|c| c.status == ConditionStatus::False).filter(current);
    let backend = backend.map(|c| told(&c.reason, &c.message));
    match reason {
        Some(Reason::ClassPaused | Reason::ProviderPaused) => None,
        Some(Reason::WaitingForBackend) if backend.is_some() => backend,
        Some(reason) if is_cause(reason) => {
            let message = status.workload.as_ref().and_then(|w| w.message.as_deref());
            Some(told(reason.as_str(), message.unwrap_or_default()))
        }
        _ => backend,
    }
}

/// Whether there is something for a person to do; what is merely young goes on by itself.
const fn is_cause(reason: Reason) -> bool {
    reason.is_failure() || matches!(reason, Reason::ScaledToZero | Reason::WaitingForBackend | Reason::DriftDetected)
}

fn told(reason: &str, message: &str) -> String {
    if message.is_empty() { reason.to_owned() } else { format!("{reason}: {message}") }
}

#[cfg(test)]
mod tests {
    use super::super::NAMED;
    use super::*;
    use crate::fsm::Phase;
    use rstest::rstest;
    use serde_json::{Value, json};

    fn provider(name: &str, status: Value) -> Provider {
        serde_json::from_value(json!({
            "apiVersion": "banlieue.io/v1alpha1", "kind": "Provider",
            "metadata": { "namespace": "n", "name": name, "generation": 2 },
            "spec": { "providerClassRef": { "name": "c" },
                "connection": { "endpoint": "https://vcenter", "credentialsRef": { "name": "s" } } },
            "status": status,
        }))
        .unwrap()
    }

    fn workload(reason: Reason) -> Value {
        json!({ "phase": reason.phase(), "reason": reason, "message": "words" })
    }

    fn ready(status: &str, reason: &str, generation: i64) -> Value {
        json!([{ "type": "Ready", "status": status, "reason": reason, "message": "its words",
            "lastTransitionTime": "2026-01-01T00:00:00Z", "observedGeneration": generation }])
    }

    #[test]
    fn whoever_a_person_can_help_is_named_with_the_reason() {
        for &reason in Reason::ALL {
            let found = phases(&[provider("p", json!({ "workload": workload(reason) }))], false);
            let nothing = reason.remedy().starts_with("Nothing") || reason.phase() == Phase::Paused;
            assert_eq!(found.verdict == Verdict::Ok, nothing, "{found:?}");
            assert_eq!(found.message.contains(&format!("n/p ({reason}: words)")), !nothing, "{found:?}");
            assert!(found.message.starts_with(&format!("1 {}", reason.phase())), "{found:?}");
        }
    }

    #[rstest]
    #[case::the_backend_refuses(Some(Reason::WorkloadAvailable), "False", 2, Some("CredentialsRefused: its words"))]
    #[case::no_operator(None, "False", 2, Some("CredentialsRefused: its words"))]
    #[case::it_waits_for_that(Some(Reason::WaitingForBackend), "False", 2, Some("CredentialsRefused: its words"))]
    #[case::it_is_new(Some(Reason::Creating), "False", 2, Some("CredentialsRefused: its words"))]
    #[case::the_workload_comes_first(Some(Reason::CrashLooping), "False", 2, Some("CrashLooping: words"))]
    #[case::nothing_said_yet(Some(Reason::Creating), "Unknown", 2, None)]
    #[case::said_of_another_spec(Some(Reason::SpecChanged), "False", 1, None)]
    #[case::said_before_the_pause(Some(Reason::ClassPaused), "False", 2, None)]
    #[case::well(Some(Reason::WorkloadAvailable), "True", 2, None)]
    fn a_backend_that_is_not_ready_is_told(
        #[case] reason: Option<Reason>,
        #[case] status: &str,
        #[case] generation: i64,
        #[case] says: Option<&str>,
    ) {
        let status =
            json!({ "workload": reason.map(workload), "conditions": ready(status, "CredentialsRefused", generation) });
        assert_eq!(ails(&provider("p", status), false).as_deref(), says);
    }

    #[test]
    fn whom_no_static_provider_serves_is_told() {
        let all = [provider("served", json!({ "observedGeneration": 2 })), provider("far", json!({}))];
        let found = phases(&all, true);
        assert!(found.verdict == Verdict::Warn && found.message.contains("not well: n/far (nobody"), "{found:?}");
        assert_eq!(phases(&all, false).verdict, Verdict::Ok, "an operator comes to it in a moment");
    }

    #[test]
    fn of_a_fleet_the_first_are_named() {
        let one = |i| provider(&format!("p{i}"), json!({ "workload": { "phase": "Pending", "reason": "FenceOpen" } }));
        let found = phases(&(0..NAMED + 5).map(one).collect::<Vec<_>>(), false);
        assert!(found.message.contains(&format!("n/p{} (FenceOpen), and 5 more;", NAMED - 1)), "{found:?}");
    }
}
