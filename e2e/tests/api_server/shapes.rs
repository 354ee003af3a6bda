//! `diff` against the real API server: for every shape of class, what was applied is read back without a difference, and
//! applied once more it is not even a write.
use crate::stage::{NAMESPACES, Stage, seed};
use anyhow::{Context, Result, ensure};
use banlieue::fsm::Part;
use banlieue::k8s::crd::{Provider, ProviderClass};
use banlieue::k8s::diff::diff;
use banlieue::k8s::manifests::{Manifest, Workload, five, names};
use banlieue::k8s::{kinds, stamp};
use kube::ResourceExt;
use kube::api::{Api, DeleteParams, DynamicObject, Patch, PatchParams, PostParams};
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use serde_json::{Value, json};

fn map(values: &'static str) -> impl Strategy<Value = Value> {
    proptest::collection::btree_map("[a-z]{1,8}(\\.example/[a-z]{1,8})?", values, 1..3).prop_map(|map| json!(map))
}

/// Quantities in any spelling that Kubernetes reads.
fn resources() -> impl Strategy<Value = Value> {
    let cpu = prop::sample::select(vec![
        json!("250m"),
        json!("0.25"),
        json!(1),
        json!("1000m"),
        json!(0.5),
        json!("1e0"),
        json!("2"),
    ]);
    let memory = prop::sample::select(vec![
        json!("64Mi"),
        json!("65536Ki"),
        json!(67108864),
        json!("67108864"),
        json!("0.0625Gi"),
        json!("64e6"),
    ]);
    (cpu, memory, any::<bool>(), any::<bool>()).prop_map(|(cpu, memory, requests, limits)| {
        let all = json!({ "cpu": cpu, "memory": memory });
        let mut resources = json!({});
        for (field, _) in [("requests", requests), ("limits", limits)].into_iter().filter(|(_, there)| *there) {
            resources[field] = all.clone();
        }
        resources
    })
}

fn toleration() -> impl Strategy<Value = Value> {
    prop::sample::select(vec![
        json!({ "operator": "Exists" }),
        json!({ "key": "a", "operator": "Exists", "effect": "NoSchedule" }),
        json!({ "key": "a", "value": "b" }),
        json!({ "key": "a", "operator": "Equal", "value": "b", "effect": "NoExecute", "tolerationSeconds": 30 }),
    ])
}

fn affinity() -> impl Strategy<Value = Value> {
    let term = json!({ "matchExpressions": [{ "key": "zone", "operator": "In", "values": ["a", "b"] }] });
    let near = json!({ "labelSelector": { "matchLabels": { "a": "b" } }, "topologyKey": "zone" });
    prop::sample::select(vec![
        json!({ "nodeAffinity": { "requiredDuringSchedulingIgnoredDuringExecution": { "nodeSelectorTerms": [term] } } }),
        json!({ "nodeAffinity": { "preferredDuringSchedulingIgnoredDuringExecution": [{ "weight": 5, "preference": term }] } }),
        json!({ "podAntiAffinity": { "requiredDuringSchedulingIgnoredDuringExecution": [near] } }),
        json!({ "podAffinity": { "preferredDuringSchedulingIgnoredDuringExecution": [{ "weight": 1, "podAffinityTerm": near }] } }),
    ])
}

fn image() -> impl Strategy<Value = Value> {
    let digest = "sha256:[0-9a-f]{64}";
    let policy = prop::sample::select(vec!["Always", "IfNotPresent", "Never"]);
    let secrets = proptest::collection::btree_set("[a-z]{1,9}", 1..3);
    (proptest::option::of(digest), proptest::option::of(policy), proptest::option::of(secrets)).prop_map(
        |(digest, policy, secrets)| {
            let mut image = json!({ "repository": "registry.example.com:5000/a/b", "tag": "v1" });
            for (field, value) in [("digest", json!(digest)), ("pullPolicy", json!(policy))] {
                if !value.is_null() {
                    image[field] = value;
                }
            }
            if let Some(secrets) = secrets {
                image["pullSecrets"] = secrets.iter().map(|name| json!({ "name": name })).collect();
            }
            image
        },
    )
}

/// The spec of a class: each field there or not.
fn class() -> impl Strategy<Value = Value> {
    let backend = prop::sample::select(vec!["vsphere", "libvirt", "proxmox"]);
    let logging = (prop::sample::select(vec!["error", "debug"]), prop::sample::select(vec!["text", "json"]));
    let pod = (
        proptest::option::of(resources()),
        proptest::option::of(map("[a-z]{0,9}")),
        proptest::option::of(proptest::collection::vec(toleration(), 1..3)),
        proptest::option::of(affinity()),
        proptest::option::of(map("[a-z]{0,9}")),
        // what YAML takes: the API server reads an apply as such, whatever it is
        proptest::option::of(map("[ -~äß€語😀\\n\\t]{0,30}")),
    );
    let rest =
        (proptest::option::of(0..4i32), proptest::option::of(1..900i32), proptest::option::of(logging), any::<bool>());
    (backend, image(), pod, rest).prop_map(|(backend, image, pod, (replicas, deadline, logging, away))| {
        let (resources, nodes, tolerations, affinity, labels, annotations) = pod;
        let mut spec = json!({ "backend": backend, "image": image });
        let fields = [
            ("resources", json!(resources)),
            ("nodeSelector", json!(nodes)),
            ("tolerations", json!(tolerations)),
            ("affinity", json!(affinity)),
            ("podLabels", json!(labels)),
            ("podAnnotations", json!(annotations)),
            ("replicas", json!(replicas)),
            ("progressDeadlineSeconds", json!(deadline)),
            ("logging", logging.map_or(Value::Null, |(level, format)| json!({ "level": level, "format": format }))),
            ("workloadNamespace", if away { json!(NAMESPACES[1]) } else { Value::Null }),
        ];
        for (field, value) in fields.into_iter().filter(|(_, value)| !value.is_null()) {
            spec[field] = value;
        }
        spec
    })
}

/// A Provider's connection, as far as the five depend on it.
fn ca() -> impl Strategy<Value = Value> {
    prop::sample::select(vec![
        Value::Null,
        json!({ "secretRef": { "name": "ca" } }),
        json!({ "configMapRef": { "name": "ca", "key": "k" } }),
    ])
}

/// A sample.
pub(crate) async fn classes_are_stored_as_they_were_wanted(stage: &Stage) -> Result<()> {
    stored(stage, "sample", 24).await
}

/// The whole.
pub(crate) async fn many_classes_are_stored_as_they_were_wanted(stage: &Stage) -> Result<()> {
    stored(stage, "whole", 400).await
}

async fn stored(stage: &Stage, name: &str, shapes: usize) -> Result<()> {
    let mut bytes = [0; 32];
    bytes[..8].copy_from_slice(&seed().to_le_bytes());
    let chance = TestRng::from_seed(RngAlgorithm::ChaCha, &bytes);
    let mut runner = TestRunner::new_with_rng(Config { failure_persistence: None, ..Config::default() }, chance);
    let mut changed = 0;
    for number in 0..shapes {
        let shape = (class(), ca()).new_tree(&mut runner).map_err(|e| anyhow::anyhow!("{e}"))?.current();
        let shown = format!("shape {number} of seed {}: {}", seed(), shape.0);
        changed += stored_as_wanted(stage, &format!("{name}-{number}"), shape).await.context(shown)?;
    }
    println!("figure: {} shapes of class, {changed} objects compared", shapes);
    Ok(())
}

/// Applies the five of one shape as the operator does; returns how many were compared.
async fn stored_as_wanted(stage: &Stage, name: &str, (spec, ca): (Value, Value)) -> Result<usize> {
    let classes: Api<ProviderClass> = Api::all(stage.client.clone());
    let class = json!({ "apiVersion": "banlieue.io/v1alpha1", "kind": "ProviderClass", "metadata": { "name": name }, "spec": spec });
    // what the operator sees is what the API server made of it
    let class = classes
        .create(&PostParams::default(), &serde_json::from_value(class)?)
        .await
        .context("the class was not taken")?;
    let providers: Api<Provider> = Api::namespaced(stage.client.clone(), NAMESPACES[0]);
    let endpoint = format!("{}://host.example.com", class.spec.backend.schemes()[0]);
    let mut connection = json!({ "endpoint": endpoint, "credentialsRef": { "name": "creds" } });
    if !ca.is_null() {
        connection["caBundle"] = ca;
    }
    let provider = json!({
        "apiVersion": "banlieue.io/v1alpha1", "kind": "Provider", "metadata": { "name": name },
        "spec": { "providerClassRef": { "name": name }, "connection": connection },
    });
    let provider = providers.create(&PostParams::default(), &serde_json::from_value(provider)?).await?;

    let build = |account_uid| {
        five(&Workload { provider: &provider, class: &class, install_namespace: names::DEFAULT_NAMESPACE, account_uid })
    };
    let first = build(None)?;
    let account = apply(stage, &first[Part::ServiceAccount as usize]).await?.uid();
    let wanted = build(account.as_deref())?;
    for manifest in &wanted {
        apply(stage, manifest).await?;
    }
    for manifest in &wanted {
        let object = &manifest.object;
        let stored = kinds::api(&stage.client, object).get(&object.name).await?;
        let differs = diff(&manifest.body, &stamp::whole(&stored));
        ensure!(
            differs.is_empty(),
            "{object} differs in {differs:?}\nwanted: {:#}\nstored: {:#}",
            manifest.body,
            stamp::whole(&stored)
        );
        let again = apply(stage, manifest).await?;
        // a Deployment's status is written by its controller meanwhile: its spec is counted by the generation
        let same = (again.uid(), again.metadata.generation) == (stored.uid(), stored.metadata.generation);
        let written = object.part != Part::Deployment && again.resource_version() != stored.resource_version();
        ensure!(same && !written, "{object}: an apply of what is stored already was a write");
    }
    providers.delete(name, &DeleteParams::default()).await?;
    classes.delete(name, &DeleteParams::default()).await?;
    for manifest in wanted.iter().filter(|m| m.body["metadata"].get("ownerReferences").is_none()) {
        kinds::api(&stage.client, &manifest.object).delete(&manifest.object.name, &DeleteParams::default()).await?;
    }
    Ok(wanted.len())
}

async fn apply(stage: &Stage, manifest: &Manifest) -> Result<DynamicObject> {
    let object = &manifest.object;
    let params = PatchParams::apply(names::MANAGER_OPERATOR).force();
    let applied = kinds::api(&stage.client, object).patch(&object.name, &params, &Patch::Apply(&manifest.body)).await;
    applied.with_context(|| format!("{object} was not taken: {}", manifest.body))
}
