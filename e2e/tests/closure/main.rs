//! A search for ways from what each identity may do to more: from its rights, through every [`Door`](doors) that one of them
//! opens, to whatever may be done behind it, until nothing new is found. Each door is closed by something that is looked up
//! in what the installer builds, or accepted; what was found is the table of `docs/security.md`, word for word.
//!
//! The doors are those of Kubernetes' own list of privilege escalations and of this product's kinds. A write of a kind that
//! is not in the list counts as a door that nothing closes.
mod closers;
mod doors;
mod identity;

use anyhow::Result;
use banlieue_e2e::rights::Right;
use closers::Closer;
use doors::Door;
use identity::Identity;
use std::collections::{BTreeMap, BTreeSet};

/// A door that an identity has a right for, the verbs and kinds of these rights, and what closes it.
type Paths = BTreeMap<(Door, Closer), BTreeSet<Right>>;

/// Every door that is reached, and all that can be done in the end.
fn closure(identity: &Identity) -> (Paths, BTreeSet<Right>) {
    let (mut paths, mut held) = (Paths::new(), identity.rights.clone());
    loop {
        let mut behind = BTreeSet::new();
        for right in &held {
            let Some(door) = doors::door(right) else { continue };
            let closer = closers::closer(identity, right, door);
            behind.extend(closers::behind(identity, &closer, door));
            paths.entry((door, closer)).or_default().insert(right.clone());
        }
        let known = held.len();
        behind.retain(|right| !held.iter().any(|own| own.covers(right)));
        held.extend(behind);
        if held.len() == known {
            return (paths, held);
        }
    }
}

/// The verbs and kinds of rights, in short.
fn by(rights: &BTreeSet<Right>) -> String {
    let mut verbs: BTreeMap<String, BTreeSet<&str>> = BTreeMap::new();
    for right in rights {
        verbs.entry(right.resource.clone()).or_default().insert(&right.verb);
    }
    let mut kinds: BTreeMap<Vec<&str>, Vec<String>> = BTreeMap::new();
    for (kind, verbs) in verbs {
        kinds.entry(verbs.into_iter().collect()).or_default().push(kind);
    }
    let by: Vec<_> = kinds.iter().map(|(verbs, kinds)| format!("{} {}", verbs.join(", "), kinds.join(", "))).collect();
    by.join("; ")
}

/// The rows of the table.
fn table(identities: &[Identity]) -> Vec<String> {
    let rows = |identity: &Identity| {
        // what several policies close alike is one row
        let mut rows: BTreeMap<_, (BTreeSet<Right>, Vec<String>)> = BTreeMap::new();
        for ((door, closer), rights) in closure(identity).0 {
            let row = rows.entry((door, closer.why())).or_default();
            row.0.extend(rights);
            row.1.extend(closer.policy().map(|name| format!("`{name}`")));
        }
        let row = |((door, why), (rights, policies)): ((Door, _), (_, Vec<String>))| {
            let stops: Vec<String> = policies.into_iter().chain(why).collect();
            format!("| {} | {} | {} | {} |", identity.name, by(&rights), door.leads_to(), stops.join(", "))
        };
        rows.into_iter().map(row).collect::<Vec<_>>()
    };
    identities.iter().flat_map(rows).collect()
}

#[test]
fn every_path_is_in_the_threat_model_and_closed() -> Result<()> {
    let docs = include_str!("../../../docs/security.md");
    let begin = docs.find("| identity | by | it would ").expect("the table is there");
    let told: Vec<_> = docs[begin..].lines().skip(2).take_while(|line| line.starts_with('|')).collect();
    let found = table(&identity::all()?);
    assert_eq!(told, found, "docs/security.md should say:\n{}", found.join("\n"));
    assert!(found.iter().all(|row| !row.contains("NOTHING")), "{found:#?}");
    Ok(())
}

#[test]
fn nobody_ends_with_a_kind_of_right_that_was_not_granted() -> Result<()> {
    for identity in identity::all()? {
        let (_, held) = closure(&identity);
        let more: Vec<_> = held.iter().filter(|right| !identity.rights.iter().any(|own| own.covers(right))).collect();
        assert!(more.is_empty(), "{}: {more:#?}", identity.name);
    }
    Ok(())
}

/// The search finds what is planted: each of these grants opens a door that nothing closes.
#[test]
fn a_grant_that_opens_a_path_is_found() -> Result<()> {
    let planted = [
        ("escalate", "rbac.authorization.k8s.io", "clusterroles"),
        ("bind", "rbac.authorization.k8s.io", "roles"),
        ("patch", "rbac.authorization.k8s.io", "clusterroles"),
        ("impersonate", "", "serviceaccounts"),
        ("create", "", "pods"),
        ("create", "", "pods/exec"),
        ("patch", "", "pods/ephemeralcontainers"),
        ("create", "apps", "daemonsets"),
        ("create", "batch", "jobs"),
        ("create", "", "serviceaccounts/token"),
        ("list", "", "secrets"),
        ("create", "", "secrets"),
        ("patch", "", "configmaps"),
        ("patch", "admissionregistration.k8s.io", "validatingadmissionpolicybindings"),
        ("create", "admissionregistration.k8s.io", "mutatingwebhookconfigurations"),
        ("patch", "apiextensions.k8s.io", "customresourcedefinitions"),
        ("create", "apiregistration.k8s.io", "apiservices"),
        ("get", "", "nodes/proxy"),
        ("update", "certificates.k8s.io", "certificatesigningrequests/approval"),
        ("patch", "", "namespaces"),
        ("create", "", "persistentvolumes"),
        ("patch", "banlieue.io", "providerclasses"),
        ("get", "example.com", "*"),
        ("*", "", "events"),
        ("create", "example.com", "unheard"),
    ];
    let identities = identity::all()?;
    for (verb, group, resource) in planted {
        for mut identity in identities.clone() {
            let right = Right::new(verb, group, resource);
            identity.rights.insert(right.clone());
            let (paths, _) = closure(&identity);
            let open = paths.iter().any(|((_, closer), rights)| *closer == Closer::Nothing && rights.contains(&right));
            assert!(open, "{}: {verb} {group}/{resource} opens nothing", identity.name);
        }
    }
    Ok(())
}

/// Without a policy of the fence, what it closes is open.
#[test]
fn a_policy_that_is_missing_is_found() -> Result<()> {
    let [operator, ..] = identity::all()?;
    let closed: BTreeSet<_> = closure(&operator).0.into_keys().filter_map(|(_, closer)| closer.policy()).collect();
    assert!(closed.len() >= 8, "{closed:?}");
    for policy in closed {
        let mut identity = operator.clone();
        identity.policies.retain(|p| p.name != policy);
        let open = closure(&identity).0.into_keys().any(|(_, closer)| closer == Closer::Nothing);
        assert!(open, "without {policy} nothing is open");
    }
    Ok(())
}
