//! The five of a class that says everything: what of it reaches the pods, and where.
use super::{built, provider};
use crate::k8s::crd::ProviderClass;
use serde_json::{Value, json};

fn everything() -> ProviderClass {
    let expression = json!({ "key": "zone", "operator": "In", "values": ["a"] });
    let nodes = json!({ "nodeSelectorTerms": [{ "matchExpressions": [expression] }] });
    let class = json!({
        "apiVersion": "banlieue.io/v1alpha1", "kind": "ProviderClass", "metadata": { "name": "c", "generation": 3 },
        "spec": {
            "backend": "vsphere",
            "image": {
                "repository": "registry.example.com/banlieue", "tag": "v1", "pullPolicy": "Always",
                "pullSecrets": [{ "name": "pull" }],
            },
            "replicas": 2,
            "resources": { "requests": { "cpu": "10m", "memory": "16Mi" }, "limits": { "memory": "64Mi" } },
            "nodeSelector": { "disk": "ssd" },
            "tolerations": [{ "key": "edge", "operator": "Exists", "effect": "NoSchedule" }],
            "affinity": { "nodeAffinity": { "requiredDuringSchedulingIgnoredDuringExecution": nodes } },
            "priorityClassName": "high",
            "podLabels": { "team": "virt" },
            "podAnnotations": { "example.com/note": "theirs" },
            "logging": { "level": "debug", "format": "json" },
            "progressDeadlineSeconds": 90,
        },
    });
    serde_json::from_value(class).expect("a class")
}

#[test]
fn the_five_of_a_class_that_says_everything() {
    let written = |manifest: super::super::Manifest| serde_saphyr::to_string(&manifest.body).expect("YAML");
    let documents: Vec<_> = built(&provider("n", "p", Value::Null), &everything()).into_iter().map(written).collect();
    let text = documents.join("---\n");
    insta::with_settings!({ omit_expression => true, prepend_module_to_snapshot => false }, {
        insta::assert_snapshot!("five", text);
    });
}
