//! Providers that our finalizer holds.
use super::role::Idle;
use super::{Line, Verdict, line, list};
use crate::fsm::Phase;
use crate::k8s::crd::Provider;
use crate::k8s::manifests::names;
use kube::ResourceExt;

/// Whom our finalizer keeps from going. Where no operator is at work to take it off, that is every Provider which carries it.
pub(super) fn held(providers: &[Provider], idle: Option<Idle>) -> Line {
    const CHECK: &str = "finalizers";
    let held = providers.iter().filter(|p| p.finalizers().iter().any(|f| f == names::FINALIZER));
    let (going, staying): (Vec<_>, Vec<_>) = held.partition(|p| p.metadata.deletion_timestamp.is_some());
    let Some(idle) = idle else {
        return if going.is_empty() {
            line(CHECK, Verdict::Ok, "no Provider waits for its end")
        } else {
            let says = format!("being deleted, until their workload is gone: {}", told(&going));
            line(CHECK, Verdict::Warn, says)
        };
    };
    let hang = (!going.is_empty()).then(|| format!("these hang in their deletion: {}", told(&going)));
    let would = (!staying.is_empty()).then(|| format!("these would, once they are deleted: {}", told(&staying)));
    let all: Vec<_> = [hang, would].into_iter().flatten().collect();
    if all.is_empty() {
        return line(CHECK, Verdict::Ok, "no Provider carries ours");
    }
    let (nobody, todo) = match idle {
        Idle::Absent => ("no operator is there", "run `banlieue bootstrap operator`, which brings it back"),
        Idle::Scaled => (
            "the operator is scaled to 0, and nobody is there",
            "run `banlieue bootstrap operator`, which scales it up",
        ),
        Idle::Unavailable => ("no pod of the operator is available", "mend the operator, which goes on then"),
    };
    let says =
        format!("{nobody} to take ours off; {}; {todo}, or `banlieue uninstall`, which takes them off", all.join("; "));
    line(CHECK, Verdict::Fail, says)
}

/// Names, each with what its status says of a deletion that goes on.
fn told(providers: &[&Provider]) -> String {
    let name = |p: &&Provider| {
        let name = format!("{}/{}", p.namespace().unwrap_or_default(), p.name_any());
        let workload = p.status.as_ref().and_then(|s| s.workload.as_ref());
        // what an operator said before the deletion is no cause of it
        let waits = workload.filter(|w| w.phase == Phase::Terminating).and_then(|w| w.message.as_deref());
        waits.map_or(name.clone(), |message| format!("{name} ({message})"))
    };
    list(providers.iter().map(name).collect())
}

#[cfg(test)]
mod tests {
    use super::super::NAMED;
    use super::*;
    use serde_json::json;

    fn provider(name: &str, finalizer: &str, going: bool) -> Provider {
        let mut object = json!({
            "apiVersion": "banlieue.io/v1alpha1", "kind": "Provider",
            "metadata": { "namespace": "n", "name": name, "finalizers": [finalizer] },
            "spec": { "providerClassRef": { "name": "c" },
                "connection": { "endpoint": "https://vcenter", "credentialsRef": { "name": "s" } } },
        });
        if going {
            object["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z".into();
        }
        serde_json::from_value(object).unwrap()
    }

    #[test]
    fn whoever_hangs_is_named() {
        let all = [
            provider("goes", names::FINALIZER, true),
            provider("stays", names::FINALIZER, false),
            provider("else", "other.example.com/it", true),
        ];
        let found = held(&all, Some(Idle::Absent));
        assert_eq!(found.verdict, Verdict::Fail);
        for says in ["deletion: n/goes;", "deleted: n/stays;", "bootstrap operator", "uninstall"] {
            assert!(found.message.contains(says), "{says}: {found:?}");
        }
        assert!(!found.message.contains("n/else"), "it is not ours to release: {found:?}");
        assert_eq!(held(&all[2..], Some(Idle::Absent)).verdict, Verdict::Ok);
        // one that is there and does nothing is no help
        for (idle, says) in [(Idle::Scaled, "scaled to 0"), (Idle::Unavailable, "no pod of the operator")] {
            let found = held(&all, Some(idle));
            let hangs = found.message.contains("these hang in their deletion: n/goes;");
            assert!(found.verdict == Verdict::Fail && hangs && found.message.contains(says), "{found:?}");
        }
        // an operator is at it
        let found = held(&all, None);
        assert!(found.verdict == Verdict::Warn && found.message.ends_with(": n/goes"), "{found:?}");
        assert_eq!(held(&all[1..], None).verdict, Verdict::Ok);
    }

    #[test]
    fn what_was_said_before_the_deletion_is_no_cause() {
        for (phase, says) in [("Ready", "n/p; "), ("Terminating", "n/p (words); ")] {
            let mut going = provider("p", names::FINALIZER, true);
            let workload = json!({ "phase": phase, "message": "words" });
            going.status = serde_json::from_value(json!({ "workload": workload })).unwrap();
            let found = held(&[going], Some(Idle::Scaled));
            assert!(found.message.contains(says), "{found:?}");
        }
    }

    #[test]
    fn of_a_fleet_the_first_are_named() {
        let fleet: Vec<_> = (0..NAMED + 5).map(|i| provider(&format!("p{i}"), names::FINALIZER, false)).collect();
        assert!(held(&fleet, Some(Idle::Absent)).message.contains(&format!("n/p{}, and 5 more;", NAMED - 1)));
    }
}
