//! What is written: pure, from what was seen and what is stored.
use super::Seen;
use crate::k8s::crd::{Aspect, Condition, ConditionStatus, Finding, FindingReason, Provider, ProviderStatus};
use chrono::{DateTime, Utc};

/// The part of the status that is ours, as it should be; every condition with every field, for one that is not sent
/// vanishes and a field that is not sent shows its default. `before` is an earlier generation of the same backend.
pub(super) fn wanted(provider: &Provider, seen: &Seen, before: Option<i64>, now: DateTime<Utc>) -> ProviderStatus {
    let empty = ProviderStatus::default();
    let stored = provider.status.as_ref().unwrap_or(&empty);
    let generation = provider.metadata.generation;
    let written = |aspect: Aspect, status, reason: FindingReason, message: &str| {
        let message = if message.is_empty() { reason.means() } else { message };
        Condition::new(aspect.as_str(), status, reason.as_str(), message, now)
            .of_generation(generation)
            .since(Condition::find(&stored.conditions, aspect.as_str()))
    };
    let failure = seen.findings.last().filter(|_| !seen.reached);
    let condition = |aspect: Aspect| {
        let found = seen.findings.iter().rev().find(|f| f.reason.aspect() == aspect);
        match (found, failure) {
            (Some(Finding { reason, message }), _) => written(aspect, reason.status(), *reason, message),
            (None, Some(failure)) if aspect == Aspect::Ready => {
                written(aspect, ConditionStatus::False, failure.reason, &failure.message)
            }
            (None, None) if aspect == Aspect::Ready => {
                let reason = FindingReason::BackendAvailable;
                written(aspect, reason.status(), reason, "")
            }
            (None, failure) => {
                let reason = FindingReason::NotChecked;
                let cause = failure.map(|f| format!("not looked at, because of {}", f.reason.as_str()));
                written(aspect, reason.status(), reason, &cause.unwrap_or_default())
            }
        }
    };
    // What was known of this backend is kept while it is away; what is of another generation may be another backend's.
    let known = [generation, before].contains(&stored.observed_generation).then_some(stored);
    ProviderStatus {
        workload: None,
        conditions: Aspect::ALL.into_iter().map(condition).collect(),
        failure_domains: match &seen.domains {
            Some(domains) => domains.clone(),
            None => known.map(|s| s.failure_domains.clone()).unwrap_or_default(),
        },
        backend: seen.info.clone().or_else(|| known.and_then(|s| s.backend.clone())),
        observed_generation: generation,
    }
}

/// Whether what is stored has it all already; the order of lists that are maps does not count, nor do entries of others.
pub(super) fn is_stored(wanted: &ProviderStatus, stored: Option<&ProviderStatus>) -> bool {
    let Some(stored) = stored else { return false };
    let mut domains: Vec<_> = stored.failure_domains.iter().collect();
    domains.sort_by_key(|d| &d.name);
    stored.backend == wanted.backend
        && stored.observed_generation == wanted.observed_generation
        && domains.into_iter().eq(&wanted.failure_domains)
        && wanted.conditions.iter().all(|c| stored.conditions.contains(c))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::k8s::crd::{BackendInfo, FailureDomain};
    use ConditionStatus::{False, True, Unknown};
    use chrono::TimeDelta;
    use serde_json::json;

    fn provider(generation: i64, status: Option<ProviderStatus>) -> Provider {
        let body = json!({
            "apiVersion": "banlieue.io/v1alpha1", "kind": "Provider", "metadata": {"name": "lab", "generation": generation},
            "spec": {"providerClassRef": {"name": "c"},
                "connection": {"endpoint": "https://vcenter", "credentialsRef": {"name": "s"}}},
        });
        Provider { status, ..serde_json::from_value(body).unwrap() }
    }

    fn good() -> Seen {
        use FindingReason::*;
        let found = [CredentialsFound, CertificateVerified, BackendReached, LoggedIn, FailureDomainsFound];
        Seen {
            findings: found.into_iter().map(Into::into).collect(),
            info: Some(BackendInfo { version: Some("8.0.3".into()), ..Default::default() }),
            domains: Some(["a", "b"].map(|n| FailureDomain { name: n.into(), ..Default::default() }).to_vec()),
            reached: true,
        }
    }

    fn refused() -> Seen {
        let mut seen = good();
        seen.findings.truncate(3);
        seen.findings.push(Finding::new(FindingReason::CredentialsRefused, "no"));
        Seen { info: None, domains: None, reached: false, ..seen }
    }

    fn shown(status: &ProviderStatus) -> Vec<(String, ConditionStatus, String)> {
        status.conditions.iter().map(|c| (c.type_.clone(), c.status, c.reason.clone())).collect()
    }

    #[test]
    fn what_was_not_looked_at_is_unknown_and_ready_says_why() {
        let status = wanted(&provider(1, None), &refused(), None, Utc::now());
        let expected = [
            ("CredentialsValid", True, "CredentialsFound"),
            ("TLSVerified", True, "CertificateVerified"),
            ("Reachable", True, "BackendReached"),
            ("Authenticated", False, "CredentialsRefused"),
            ("FailureDomainsDiscovered", Unknown, "NotChecked"),
            ("Ready", False, "CredentialsRefused"),
        ];
        assert_eq!(shown(&status), expected.map(|(t, s, r)| (t.to_owned(), s, r.to_owned())));
    }

    #[test]
    fn nothing_is_written_when_nothing_changed_whatever_the_order() {
        let now = Utc::now();
        let mut stored = wanted(&provider(1, None), &good(), None, now);
        stored.conditions.reverse();
        stored.failure_domains.reverse();
        let later = now + TimeDelta::hours(1);
        let again = wanted(&provider(1, Some(stored.clone())), &good(), None, later);
        assert!(is_stored(&again, Some(&stored)));
        let newer = wanted(&provider(2, Some(stored.clone())), &good(), None, later);
        assert!(!is_stored(&newer, Some(&stored)), "another generation is another statement");
    }

    #[test]
    fn times_move_with_the_status_alone_and_what_was_known_is_kept() {
        let (now, later) = (Utc::now(), Utc::now() + TimeDelta::hours(1));
        let stored = wanted(&provider(1, None), &good(), None, now);
        let next = wanted(&provider(1, Some(stored.clone())), &refused(), None, later);
        for (before, after) in stored.conditions.iter().zip(&next.conditions) {
            let moved = before.last_transition_time != after.last_transition_time;
            assert_eq!(moved, before.status != after.status, "{}", after.type_);
        }
        assert_eq!((&next.backend, &next.failure_domains), (&stored.backend, &stored.failure_domains));
        let moved = wanted(&provider(3, Some(stored.clone())), &refused(), None, later);
        assert_eq!((moved.backend, moved.failure_domains.len()), (None, 0), "it may be another backend's");
        let paused = wanted(&provider(3, Some(stored.clone())), &refused(), Some(1), later);
        assert_eq!(
            (paused.backend, paused.failure_domains),
            (stored.backend, stored.failure_domains),
            "it is the same"
        );
    }
}
