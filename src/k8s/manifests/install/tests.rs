//! The whole stream against its golden file, and what holds for every object.
#![allow(clippy::unwrap_used)]
use super::{Install, Object, Section, Stage, yaml};
use crate::k8s::crd::{Backend, LogFormat, Provider, ProviderClass};
use crate::k8s::manifests::{Workload, names, role};
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
    // account, two roles, two bindings, Deployment; nine policies with their bindings
    assert_eq!(operator.len(), 6 + 2 * 9);
    for object in &rest {
        let text = object.body["spec"].to_string();
        assert!(!object.name.contains("operator") && !text.contains("serviceaccount:"), "{object}");
    }
    let policies = rest.iter().filter(|o| o.resource.kind == "ValidatingAdmissionPolicy");
    assert_eq!(policies.map(|o| o.name.as_str()).collect::<Vec<_>>(), ["banlieue-deputy", "banlieue-classes"]);
}

#[test]
fn every_policy_is_bound_before_any_right_is_given() {
    let objects = install().objects().unwrap();
    let of =
        |kind: &str| objects.iter().filter(|o| o.resource.kind == kind).map(|o| o.name.clone()).collect::<Vec<_>>();
    assert_eq!(of("ValidatingAdmissionPolicy"), of("ValidatingAdmissionPolicyBinding"));
    let last = objects.iter().rposition(|o| o.stage == Stage::Policies).unwrap();
    assert!(last < objects.iter().position(|o| o.stage == Stage::Rights).unwrap());
}

/// A search for what is not fenced in: whatever may be written without a policy is named here, with the reason.
#[test]
fn every_write_of_the_operator_is_fenced() {
    let objects = install().objects().unwrap();
    let role = objects.iter().find(|o| o.name == "banlieue-operator" && o.resource.kind == "ClusterRole").unwrap();
    let writes =
        grants(&role.body["rules"]).into_iter().filter(|(_, _, v)| !["get", "list", "watch"].contains(&v.as_str()));
    let fenced: BTreeSet<(String, String)> = objects
        .iter()
        .filter(|o| o.resource.kind == "ValidatingAdmissionPolicy" && o.name.starts_with("banlieue-fence-"))
        .flat_map(|o| {
            let rule = &o.body["spec"]["matchConstraints"]["resourceRules"][0];
            let text = |v: &Value| v.as_str().unwrap().to_owned();
            let group = text(&rule["apiGroups"][0]);
            rule["resources"].as_array().unwrap().iter().map(|r| (group.clone(), text(r))).collect::<Vec<_>>()
        })
        .collect();
    let open: BTreeSet<_> = writes.map(|(g, r, _)| (g, r)).filter(|kind| !fenced.contains(kind)).collect();
    let accepted = [
        // names nothing and grants nothing; an Event's name is not known beforehand
        ("events.k8s.io", "events"),
        // asked for by owner references that block, on no object of its own
        ("banlieue.io", "providers/finalizers"),
    ];
    assert_eq!(open, accepted.map(|(g, r)| (g.into(), r.into())).into());
}

#[test]
fn images_are_limited_to_what_is_allowed() {
    let images = |install: Install| {
        let objects = install.objects().unwrap();
        let of = |name: &str| objects.iter().find(|o| o.name == name).unwrap().body.to_string();
        [of("banlieue-fence-deployments"), of("banlieue-classes")].map(|text| text.contains("localhost"))
    };
    assert_eq!(images(install()), [false, false]);
    assert_eq!(
        images(install().allow_images(vec!["localhost".into(), "r.example.com/a".into()]).unwrap()),
        [true, true]
    );
    for (prefix, says) in
        [("r.example.com/", "is no prefix"), ("r.example.com", "does not cover"), ("local", "does not cover")]
    {
        let said = install().allow_images(vec![prefix.into()]).unwrap_err().to_string();
        assert!(said.contains(says) && said.contains("--allow-images"), "{said}");
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

#[test]
fn a_static_provider_is_no_operators_business() {
    let install = || Install::new("infra", "v9", "r.example.com").unwrap();
    let objects = install().provider(Backend::Vsphere).unwrap();
    let kinds: Vec<_> = objects.iter().map(|o| o.to_string()).collect();
    let binding = format!("ClusterRoleBinding {}", names::static_binding("infra", Backend::Vsphere));
    let expected = [
        "ClusterRole banlieue-provider-vsphere",
        "ServiceAccount infra/banlieue-provider-vsphere",
        "Role infra/banlieue-provider-vsphere",
        "RoleBinding infra/banlieue-provider-vsphere",
        binding.as_str(),
        "ConfigMap infra/banlieue-provider-vsphere",
        "Deployment infra/banlieue-provider-vsphere",
    ];
    assert_eq!(kinds, expected);
    for object in &objects {
        let text = object.body.to_string();
        assert!(!text.contains(names::PROVIDER_UID) && !text.contains("ownerReferences"), "{object} is stamped");
    }
    // nothing cluster-wide on Secrets, and nothing that its own namespace would not end
    let cluster = grants(&objects[0].body["rules"]);
    assert!(cluster.iter().all(|(_, resource, _)| resource == "providerclasses"), "{cluster:?}");
    let args = &objects[6].body["spec"]["template"]["spec"]["containers"][0]["args"];
    assert_eq!(*args, json!(["provider", "vsphere", "--namespace=infra"]));
    // two namespaces share the ClusterRole alone
    let other = Install::new("other", "v9", "r.example.com").unwrap().provider(Backend::Vsphere).unwrap();
    let shared: Vec<_> = other.iter().map(|o| o.to_string()).filter(|o| kinds.contains(o)).collect();
    assert_eq!(shared, ["ClusterRole banlieue-provider-vsphere"]);
}

/// What a cluster without an operator holds of ours, with the rights of the account that serves.
#[test]
fn the_whole_static_installation() {
    let objects = Install::new("infra", "v9", "r.example.com").unwrap().provider(Backend::Vsphere).unwrap();
    insta::with_settings!({ omit_expression => true, prepend_module_to_snapshot => false }, {
        insta::assert_snapshot!("static", yaml(&objects).unwrap());
    });
}

#[test]
fn digest_and_pull_secret_reach_every_pod() {
    let digest = format!("sha256:{}", "0".repeat(64));
    let install = install().digest(Some(digest.clone())).unwrap().pull_secret(Some("pull".into())).unwrap();
    for object in install.objects().unwrap().iter().filter(|o| o.stage == Stage::Workloads) {
        let pod = &object.body["spec"]["template"]["spec"];
        assert_eq!(pod["imagePullSecrets"], json!([{ "name": "pull" }]));
        assert_eq!(pod["containers"][0]["image"], format!("localhost/banlieue@{digest}"));
    }
    for object in install.objects().unwrap().iter().filter(|o| o.stage == Stage::Classes) {
        assert_eq!(object.body["spec"]["image"]["digest"], digest);
        assert_eq!(object.body["spec"]["image"]["pullSecrets"], json!([{ "name": "pull" }]));
    }
    assert!(super::Install::new("a", "v", "r").unwrap().digest(Some("sha256:0".into())).is_err());
    assert!(super::Install::new("a", "v", "r").unwrap().pull_secret(Some("A b".into())).is_err());
}

#[test]
fn sections_are_the_whole() {
    let objects = install().objects().unwrap();
    let of = |section| objects.iter().filter(|o| o.stage.section() == section).count();
    assert_eq!(of(Section::Crds), 2);
    assert_eq!(of(Section::Crds) + of(Section::Platform) + of(Section::Classes), objects.len());
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
