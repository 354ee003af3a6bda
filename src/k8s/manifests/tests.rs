//! Names are injective and valid whatever Providers are called; the minted Role is exactly the design's row.
mod golden;

use super::{Workload, five, names};
use crate::fsm::Part;
use crate::k8s::crd::{Backend, Provider, ProviderClass};
use proptest::prelude::*;
use serde_json::{Value, json};
use std::collections::HashMap;

fn provider(namespace: &str, name: &str, ca: Value) -> Provider {
    serde_json::from_value(json!({
        "apiVersion": "banlieue.io/v1alpha1", "kind": "Provider",
        "metadata": { "namespace": namespace, "name": name, "uid": names::provider_hash(namespace, name) },
        "spec": {
            "providerClassRef": { "name": "c" },
            "connection": { "endpoint": "https://x", "credentialsRef": { "name": "creds" }, "caBundle": ca },
        },
    }))
    .expect("a Provider")
}

fn class(backend: Backend, place: Option<&str>) -> ProviderClass {
    serde_json::from_value(json!({
        "apiVersion": "banlieue.io/v1alpha1", "kind": "ProviderClass", "metadata": { "name": "c" },
        "spec": { "backend": backend, "image": { "repository": "r", "tag": "t" }, "workloadNamespace": place },
    }))
    .expect("a class")
}

fn built(provider: &Provider, class: &ProviderClass) -> Vec<super::Manifest> {
    five(&Workload { provider, class, install_namespace: "banlieue-system", account_uid: Some("u") }).expect("builds")
}

/// What Kubernetes lets a Provider be called, dots and 253 characters included; and what looks like a name that we make.
fn provider_name() -> impl Strategy<Value = String> {
    let label = "[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?";
    let odd = prop_oneof![
        4 => Just(String::new()),
        1 => "(vsphere|proxmox|libvirt)-",
        1 => "[a-z2-7]{13}-(vsphere|proxmox|libvirt)-",
        1 => "a{20,21}[.-]",
    ];
    (odd, proptest::collection::vec(label, 1..5)).prop_map(|(odd, parts)| {
        let mut name = odd + &parts.join(".");
        name.truncate(253);
        name.trim_end_matches(['.', '-']).to_owned()
    })
}

/// The values of every label and selector in a body.
fn label_values(body: &Value) -> Vec<String> {
    let Some(fields) = body.as_object() else { return vec![] };
    let of = |(key, value): (&String, &Value)| match (key.as_str(), value.as_object()) {
        ("labels" | "matchLabels", Some(all)) => all.values().filter_map(|v| v.as_str().map(str::to_owned)).collect(),
        _ => label_values(value),
    };
    fields.iter().flat_map(of).collect()
}

/// What the API server takes as a label's value.
fn is_label_value(text: &str) -> bool {
    let inner = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    let ends = |c: char| c.is_ascii_alphanumeric();
    text.len() <= 63 && text.chars().all(inner) && text.starts_with(ends) && text.ends_with(ends)
}

fn is_label(text: &str) -> bool {
    let inner = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    (1..=63).contains(&text.len()) && text.chars().all(inner) && !text.starts_with('-') && !text.ends_with('-')
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..Default::default() })]

    #[test]
    fn names_are_valid_and_labels_short(ns in "[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?", name in provider_name(), away in any::<bool>()) {
        for backend in Backend::ALL {
            let class = class(backend, away.then_some("away"));
            for manifest in built(&provider(&ns, &name, Value::Null), &class) {
                let given = &manifest.object.name;
                prop_assert!(given.len() <= 63 && given.split('.').all(is_label), "{given}");
                let labels = label_values(&manifest.body);
                prop_assert!(!labels.is_empty() && labels.iter().all(|v| is_label_value(v)), "{labels:?}");
            }
            prop_assert!(is_label(&names::lease(&ns, &name)));
        }
    }

    #[test]
    fn no_two_providers_meet(
        spaces in proptest::collection::hash_set("[a-z0-9]([a-z0-9-]{0,9}[a-z0-9])?", 1..4),
        all in proptest::collection::hash_set(provider_name(), 1..6),
    ) {
        let mut taken = HashMap::new();
        for (ns, name, backend, away) in spaces.iter().flat_map(|ns| all.iter().map(move |n| (ns, n))).flat_map(|(ns, n)| {
            Backend::ALL.into_iter().flat_map(move |b| [(ns, n, b, None), (ns, n, b, Some("away"))])
        }) {
            for manifest in built(&provider(ns, name, Value::Null), &class(backend, away)) {
                let object = manifest.object;
                let owner = (ns.clone(), name.clone(), backend);
                let before = taken.insert((object.part, object.namespace, object.name), owner.clone());
                prop_assert!(before.is_none_or(|before| before == owner));
            }
        }
    }
}

#[test]
fn two_that_differ_only_after_the_cut_are_two() {
    let long = "a".repeat(250);
    let of = |end: &str| names::own(Backend::Vsphere, "n", &format!("{long}{end}"));
    assert_ne!(of("x"), of("y"));
    assert_eq!(of("x").len(), 63);
    assert!(!names::own(Backend::Vsphere, "n", &format!("{}-b", "a".repeat(22).repeat(2))).ends_with('-'));
}

#[test]
fn the_two_forms_never_meet() {
    let hash = names::provider_hash("n", "p");
    assert_eq!(hash.len(), 13);
    assert!(Backend::ALL.iter().all(|b| b.as_str().len() != 13));
    assert_eq!(names::own(Backend::Vsphere, "n", "p"), "banlieue-provider-vsphere-p");
    assert_eq!(names::hashed(Backend::Vsphere, "n", "p"), format!("banlieue-provider-{hash}-vsphere-p"));
}

/// Group, resource, verbs and names of each rule.
fn rules(ca: Value) -> Vec<String> {
    let manifests = built(&provider("n", "p", ca), &class(Backend::Vsphere, None));
    let role = manifests.into_iter().find(|m| m.object.part == Part::Role).expect("a Role");
    let list = |v: &Value| v.as_array().into_iter().flatten().filter_map(Value::as_str).collect::<Vec<_>>().join(",");
    let rules = role.body["rules"].as_array().expect("rules").clone();
    rules
        .iter()
        .map(|r| {
            format!(
                "{}/{} {} {}",
                list(&r["apiGroups"]),
                list(&r["resources"]),
                list(&r["verbs"]),
                list(&r["resourceNames"])
            )
        })
        .collect()
}

#[test]
fn the_minted_role_is_the_row_of_the_design() {
    let lease = names::lease("n", "p");
    let rest = [
        "banlieue.io/providers get,list,watch p".to_owned(),
        "banlieue.io/providers/status patch p".into(),
        format!("coordination.k8s.io/leases get,create,update {lease}"),
        "events.k8s.io/events create ".into(),
    ];
    let with = |first: &[&str]| first.iter().map(|&r| r.to_owned()).chain(rest.clone()).collect::<Vec<_>>();
    assert_eq!(rules(Value::Null), with(&["/secrets get creds"]));
    assert_eq!(rules(json!({ "secretRef": { "name": "ca" } })), with(&["/secrets get ca,creds"]));
    assert_eq!(rules(json!({ "secretRef": { "name": "creds" } })), with(&["/secrets get creds"]), "one name once");
    let map = json!({ "configMapRef": { "name": "ca" } });
    assert_eq!(rules(map), with(&["/secrets get creds", "/configmaps get ca"]));
}

#[test]
fn owner_references_only_inside_the_providers_namespace() {
    for (away, owned) in [(None, 4), (Some("away"), 2)] {
        let manifests = built(&provider("n", "p", Value::Null), &class(Backend::Vsphere, away));
        let has = |m: &&super::Manifest| m.body["metadata"].get("ownerReferences").is_some();
        assert_eq!(manifests.iter().filter(has).count(), owned);
        assert!(manifests.iter().filter(has).all(|m| m.object.namespace.as_deref() == Some("n")), "I6");
        let bindings =
            manifests.iter().filter(|m| matches!(m.object.part, Part::RoleBinding | Part::ClusterRoleBinding));
        for binding in bindings {
            assert_eq!(binding.body["metadata"]["annotations"][names::WORKLOAD_NAMESPACE], away.unwrap_or("n"));
            assert_eq!(binding.body["subjects"][0]["namespace"], away.unwrap_or("n"));
        }
    }
}

#[test]
fn nothing_empty_is_sent() {
    fn empty(value: &Value) -> bool {
        match value {
            Value::Null => true,
            Value::Array(all) => all.is_empty() || all.iter().any(empty),
            // a selector or a context may be an empty object on purpose
            Value::Object(all) => all.values().any(empty),
            _ => false,
        }
    }
    for manifest in built(&provider("n", "p", Value::Null), &class(Backend::Vsphere, None)) {
        assert!(!empty(&manifest.body), "an empty list or a null is a real write each time: {:#}", manifest.body);
    }
}
