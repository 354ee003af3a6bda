//! A class's fleet, summed up. Pure.
use crate::fsm::Phase;
use crate::k8s::crd::{Condition, ConditionStatus, Provider, ProviderClass, ProviderClassStatus};
use chrono::{DateTime, Utc};
use kube::ResourceExt;

/// How many Providers a message names.
const NAMED: usize = 3;

/// The status of a class, given its Providers in order of their addresses.
pub(super) fn sum(class: &ProviderClass, providers: &[&Provider], now: DateTime<Utc>) -> ProviderClassStatus {
    let waiting: Vec<_> = providers.iter().filter(|p| !is_ready(p)).collect();
    let behind: Vec<_> = providers.iter().filter(|p| has_workload(p) && !follows(p, class)).collect();
    let of = |list: &[&&Provider]| list.iter().map(|p| address(p)).collect::<Vec<_>>();
    let total = providers.len();
    let (status, reason, message) = if total == 0 {
        (ConditionStatus::True, "NoProviders", "No Provider names this class.".to_owned())
    } else if !waiting.is_empty() {
        let message = format!("{} of {total} Providers are not Ready: {}.", waiting.len(), listed(&of(&waiting)));
        (ConditionStatus::False, "ProvidersNotReady", message)
    } else if !behind.is_empty() {
        let message = format!("{} of {total} Providers do not yet follow it: {}.", behind.len(), listed(&of(&behind)));
        (ConditionStatus::False, "RollingOut", message)
    } else {
        (ConditionStatus::True, "AllReady", format!("Every Provider ({total}) is Ready and follows the class."))
    };
    let prior = class.status.as_ref().and_then(|s| Condition::find(&s.conditions, "Ready"));
    let generation = class.metadata.generation;
    let ready = Condition::new("Ready", status, reason, &message, now).of_generation(generation).since(prior);
    let count = |n: usize| Some(i32::try_from(n).unwrap_or(i32::MAX));
    ProviderClassStatus {
        conditions: vec![ready],
        observed_generation: generation,
        providers: count(total),
        ready_providers: count(total - waiting.len()),
        updated_providers: count(providers.iter().filter(|p| follows(p, class)).count()),
    }
}

fn has_workload(provider: &Provider) -> bool {
    provider.status.as_ref().is_some_and(|s| s.workload.is_some())
}

/// By its workload; where there is no operator, by what its pod says.
fn is_ready(provider: &Provider) -> bool {
    let Some(status) = &provider.status else { return false };
    match &status.workload {
        Some(workload) => workload.phase == Phase::Ready,
        None => Condition::find(&status.conditions, "Ready").is_some_and(|c| c.status == ConditionStatus::True),
    }
}

/// Whether its workload was made from the class as it is now.
fn follows(provider: &Provider, class: &ProviderClass) -> bool {
    let made_from = provider.status.as_ref().and_then(|s| s.workload.as_ref()?.provider_class.as_ref());
    made_from.is_some_and(|m| m.name == class.name_any() && m.generation == class.metadata.generation)
}

fn address(provider: &Provider) -> String {
    format!("{}/{}", provider.namespace().unwrap_or_default(), provider.name_any())
}

fn listed(addresses: &[String]) -> String {
    let named = addresses.iter().take(NAMED).cloned().collect::<Vec<_>>().join(", ");
    match addresses.len().saturating_sub(NAMED) {
        0 => named,
        more => format!("{named} and {more} more"),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use rstest::rstest;
    use serde_json::{Value, json};

    fn class(status: Value) -> ProviderClass {
        serde_json::from_value(json!({
            "apiVersion": "banlieue.io/v1alpha1", "kind": "ProviderClass", "metadata": {"name": "c", "generation": 4},
            "spec": {"backend": "vsphere", "image": {"repository": "r", "tag": "t"}}, "status": status,
        }))
        .unwrap()
    }

    fn provider(name: &str, status: Value) -> Provider {
        serde_json::from_value(json!({
            "apiVersion": "banlieue.io/v1alpha1", "kind": "Provider", "metadata": {"namespace": "n", "name": name},
            "spec": {"providerClassRef": {"name": "c"}, "connection": {"endpoint": "https://h/", "credentialsRef": {"name": "s"}}},
            "status": status,
        }))
        .unwrap()
    }

    fn workload(phase: &str, generation: i64) -> Value {
        json!({"workload": {"phase": phase, "providerClass": {"name": "c", "generation": generation}}})
    }

    fn at(seconds: i64) -> DateTime<Utc> {
        DateTime::from_timestamp(seconds, 0).unwrap()
    }

    #[rstest]
    #[case::nobody(vec![], (0, 0, 0), "True NoProviders No Provider names this class.")]
    #[case::all(vec![workload("Ready", 4)], (1, 1, 1), "True AllReady Every Provider (1) is Ready and follows the class.")]
    #[case::behind(vec![workload("Ready", 4), workload("Ready", 3)], (2, 2, 1), "False RollingOut 1 of 2 Providers do not yet follow it: n/p1.")]
    #[case::new(vec![json!({})], (1, 0, 0), "False ProvidersNotReady 1 of 1 Providers are not Ready: n/p0.")]
    #[case::many(vec![workload("Pending", 4); 5], (5, 0, 5), "False ProvidersNotReady 5 of 5 Providers are not Ready: n/p0, n/p1, n/p2 and 2 more.")]
    #[case::paused(vec![workload("Paused", 4)], (1, 0, 1), "False ProvidersNotReady 1 of 1 Providers are not Ready: n/p0.")]
    fn sums(#[case] statuses: Vec<Value>, #[case] counts: (i32, i32, i32), #[case] says: &str) {
        let providers: Vec<_> = statuses.into_iter().enumerate().map(|(i, s)| provider(&format!("p{i}"), s)).collect();
        let got = sum(&class(json!({})), &providers.iter().collect::<Vec<_>>(), at(9));
        let ready = &got.conditions[0];
        assert_eq!(format!("{:?} {} {}", ready.status, ready.reason, ready.message), says);
        let (providers, updated) = (got.providers.unwrap(), got.updated_providers.unwrap());
        assert_eq!((providers, got.ready_providers.unwrap(), updated), counts);
        assert_eq!((got.observed_generation, ready.observed_generation), (Some(4), Some(4)));
    }

    #[test]
    fn without_an_operator_the_pod_is_believed() {
        let ready = json!([{"type": "Ready", "status": "True", "reason": "R", "message": "", "lastTransitionTime": "1970-01-01T00:00:00Z"}]);
        let got = sum(&class(json!({})), &[&provider("p", json!({"conditions": ready}))], at(9));
        assert_eq!((got.ready_providers, got.conditions[0].status), (Some(1), ConditionStatus::True));
    }

    #[test]
    fn summed_again_it_is_the_same() {
        let first = sum(&class(json!({})), &[], at(9));
        let again = sum(&class(serde_json::to_value(&first).unwrap()), &[], at(99));
        assert_eq!(first, again);
    }
}
