//! The whole stream against its golden file, and what holds for every object.
#![allow(clippy::unwrap_used)]
use super::{Install, Object, Stage, yaml};
use crate::k8s::crd::{Backend, LogFormat, Provider, ProviderClass};
use crate::k8s::manifests::{Workload, role};
use rstest::rstest;
use serde_json::{Value, json};
use std::collections::BTreeSet;

fn install() -> Install {
    Install::new("banlieue-system", "0.1.0", "localhost").unwrap()
}

fn elsewhere() -> Vec<Object> {
    let install = Install::new("foo", "v9", "registry.example.com:5000/infra").unwrap();
    install.replicas(2).unwrap().log_format(Some(LogFormat::Json)).objects().unwrap()
}

#[test]
#[cfg(all(feature = "vsphere", feature = "libvirt", feature = "proxmox"))]
fn the_whole_stream() {
    insta::with_settings!({ omit_expression => true, prepend_module_to_snapshot => false }, {
        insta::assert_snapshot!("stream", yaml(&install().objects().unwrap()).unwrap());
    });
}

#[test]
fn the_stream_reads_back_as_the_objects() {
    let objects = install().objects().unwrap();
    let text = yaml(&objects).unwrap();
    let documents: Vec<Value> = serde_saphyr::from_multiple(&text).unwrap();
    assert_eq!(documents, objects.into_iter().map(|o| o.body).collect::<Vec<_>>());
}

#[test]
fn stages_only_go_forward_and_the_classes_can_be_left_out() {
    let stages: Vec<_> = install().objects().unwrap().into_iter().map(|o| o.stage).collect();
    assert!(stages.is_sorted(), "{stages:?}");
    assert_eq!(stages.iter().filter(|s| **s == Stage::Classes).count(), Backend::all_compiled().count());
    let without = install().without_provider_classes().objects().unwrap();
    assert!(without.iter().all(|o| o.stage != Stage::Classes));
}

#[test]
fn namespace_version_and_registry_reach_every_object() {
    for object in elsewhere() {
        let text = object.body.to_string();
        assert!(!text.contains("banlieue-system") && !text.contains("localhost"), "{object}: {text}");
        assert!(object.namespace.is_none_or(|n| n == "foo"));
        assert_eq!(object.body["metadata"]["labels"]["app.kubernetes.io/version"], "v9");
    }
    let images: BTreeSet<_> = elsewhere()
        .iter()
        .filter_map(|o| o.body.pointer("/spec/template/spec/containers/0/image")?.as_str().map(str::to_owned))
        .collect();
    assert_eq!(images, BTreeSet::from(["registry.example.com:5000/infra/banlieue:v9".into()]));
}

#[test]
fn the_operator_can_be_dropped_by_its_label() {
    let of = |o: &Object| o.body["metadata"]["labels"]["app.kubernetes.io/component"] == "operator";
    let (operator, rest): (Vec<_>, Vec<_>) = install().objects().unwrap().into_iter().partition(of);
    assert_eq!(operator.len(), 6);
    for object in rest {
        assert!(!object.name.contains("operator"), "{object}");
    }
}

#[test]
fn nobody_may_take_more_than_he_has() {
    for object in install().objects().unwrap() {
        for rule in object.body["rules"].as_array().into_iter().flatten() {
            let text = rule.to_string();
            for word in ["\"*\"", "escalate", "\"bind\"", "impersonate", "deployments/scale", "token"] {
                assert!(!text.contains(word), "{object} has {word}: {text}");
            }
        }
    }
}

/// Each (group, resource, verb) of a list of rules.
fn grants(rules: &Value) -> BTreeSet<(String, String, String)> {
    let list = |v: &Value| v.as_array().into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect();
    let mut all = BTreeSet::new();
    for rule in rules.as_array().into_iter().flatten() {
        let (groups, resources, verbs): (Vec<_>, Vec<_>, Vec<_>) =
            (list(&rule["apiGroups"]), list(&rule["resources"]), list(&rule["verbs"]));
        for group in &groups {
            for resource in &resources {
                all.extend(verbs.iter().map(|v| (group.clone(), resource.clone(), v.clone())));
            }
        }
    }
    all
}

#[test]
fn the_operator_holds_what_it_hands_out() {
    // The API server refuses a grant of what the granter does not hold itself.
    let provider: Provider = serde_json::from_value(json!({
        "apiVersion": "banlieue.io/v1alpha1", "kind": "Provider", "metadata": {"namespace": "n", "name": "p", "uid": "u"},
        "spec": {"providerClassRef": {"name": "vsphere"}, "connection": {
            "endpoint": "https://h/", "credentialsRef": {"name": "s"}, "caBundle": {"configMapRef": {"name": "ca"}},
        }},
    }))
    .unwrap();
    let objects = install().objects().unwrap();
    let rules = |name: &str| {
        grants(&objects.iter().find(|o| o.name == name && o.resource.kind == "ClusterRole").unwrap().body["rules"])
    };
    let holds = rules("banlieue-operator");
    let class = objects.iter().find(|o| o.stage == Stage::Classes).unwrap();
    let backend = class.name.clone();
    let class: ProviderClass = serde_json::from_value(class.body.clone()).unwrap();
    let workload = Workload { provider: &provider, class: &class, install_namespace: "i", account_uid: None };
    let minted = serde_json::to_value(role::build(&workload)).unwrap();
    let mut hands_out = grants(&minted["rules"]);
    hands_out.extend(rules(&format!("banlieue-provider-{backend}")));
    assert!(hands_out.is_subset(&holds), "{:?}", hands_out.difference(&holds));
}

#[rstest]
#[case("Foo", "0.1.0", "localhost", "--namespace \"Foo\" is no name of a namespace")]
#[case("", "0.1.0", "localhost", "--namespace")]
#[case("a.b", "0.1.0", "localhost", "--namespace")]
#[case("-a", "0.1.0", "localhost", "--namespace")]
#[case("kube-system", "0.1.0", "localhost", "Kubernetes' own")]
#[case("a", "", "localhost", "--version")]
#[case("a", "v 1", "localhost", "--version")]
#[case("a", ".1", "localhost", "--version")]
#[case("a", "sha256:abc", "localhost", "--version")]
#[case("a", "v1", "https://r.example.com", "has a scheme")]
#[case("a", "v1", "r.example.com/", "ends with a slash")]
#[case("a", "v1", "", "--registry")]
#[case("a", "v1", "r.example.com:99999", "--registry")]
#[case("a", "v1", "r.example.com/Infra", "--registry")]
#[case("a", "v1", "r.example.com//a", "--registry")]
#[case("a", "v1", "user@r.example.com", "--registry")]
fn an_option_that_cannot_be_used(
    #[case] namespace: &str,
    #[case] version: &str,
    #[case] registry: &str,
    #[case] says: &str,
) {
    let said = Install::new(namespace, version, registry).unwrap_err().to_string();
    assert!(said.contains(says) && !said.contains('\n'), "{said}");
}

#[rstest]
#[case("localhost")]
#[case("localhost:5000")]
#[case("Registry.Example.com/a/b_c")]
#[case("[::1]:5000/x")]
#[case("10.0.0.1")]
fn registries(#[case] registry: &str) {
    Install::new("a", "v1", registry).unwrap();
}

#[test]
fn replicas_are_bounded() {
    assert!(install().replicas(0).is_err() && install().replicas(11).is_err());
}
