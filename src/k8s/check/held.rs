//! Providers that our finalizer holds.
use super::{Line, Verdict, line, list};
use crate::k8s::crd::Provider;
use crate::k8s::manifests::names;
use kube::ResourceExt;

/// Whom our finalizer keeps from going. Where no operator is there to take it off, that is every Provider which carries it.
pub(super) fn held(providers: &[Provider], operator: bool) -> Line {
    const CHECK: &str = "finalizers";
    let held = providers.iter().filter(|p| p.finalizers().iter().any(|f| f == names::FINALIZER));
    let (going, staying): (Vec<_>, Vec<_>) = held.partition(|p| p.metadata.deletion_timestamp.is_some());
    if operator {
        return if going.is_empty() {
            line(CHECK, Verdict::Ok, "no Provider waits for its end")
        } else {
            let says = format!("being deleted, until their workload is gone: {}", told(&going));
            line(CHECK, Verdict::Warn, says)
        };
    }
    let hang = (!going.is_empty()).then(|| format!("these hang in their deletion: {}", told(&going)));
    let would = (!staying.is_empty()).then(|| format!("these would, once they are deleted: {}", told(&staying)));
    let all: Vec<_> = [hang, would].into_iter().flatten().collect();
    if all.is_empty() {
        return line(CHECK, Verdict::Ok, "no Provider carries ours");
    }
    let says = format!(
        "no operator is there to take ours off; {}; run `banlieue bootstrap operator`, which brings it back, or `banlieue uninstall`, which takes them off",
        all.join("; ")
    );
    line(CHECK, Verdict::Fail, says)
}

/// Names, each with what its status says of a deletion that goes on.
fn told(providers: &[&Provider]) -> String {
    let name = |p: &&Provider| {
        let name = format!("{}/{}", p.namespace().unwrap_or_default(), p.name_any());
        let workload = p.status.as_ref().and_then(|s| s.workload.as_ref());
        let waits = p.metadata.deletion_timestamp.as_ref().and(workload).and_then(|w| w.message.as_deref());
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
        let found = held(&all, false);
        assert_eq!(found.verdict, Verdict::Fail);
        for says in ["deletion: n/goes;", "deleted: n/stays;", "bootstrap operator", "uninstall"] {
            assert!(found.message.contains(says), "{says}: {found:?}");
        }
        assert!(!found.message.contains("n/else"), "it is not ours to release: {found:?}");
        assert_eq!(held(&all[2..], false).verdict, Verdict::Ok);
        // an operator is at it
        let found = held(&all, true);
        assert!(found.verdict == Verdict::Warn && found.message.ends_with(": n/goes"), "{found:?}");
        assert_eq!(held(&all[1..], true).verdict, Verdict::Ok);
    }

    #[test]
    fn of_a_fleet_the_first_are_named() {
        let fleet: Vec<_> = (0..NAMED + 5).map(|i| provider(&format!("p{i}"), names::FINALIZER, false)).collect();
        assert!(held(&fleet, false).message.contains(&format!("n/p{}, and 5 more;", NAMED - 1)));
    }
}
