//! The trees under `deploy/gitops/`: Flux and Argo CD would take them, what they name is there, and the order is that of an installation.
#![allow(clippy::unwrap_used)]
use banlieue::k8s::strict::misfits;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

/// The bases of an installation, in the order of their application.
const BASES: [&str; 3] = ["crds", "controller", "operator"];

fn root(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

fn documents<T: serde::de::DeserializeOwned>(path: &str) -> Vec<T> {
    serde_saphyr::from_multiple(&std::fs::read_to_string(root(path)).unwrap()).unwrap()
}

fn tree(of: &str) -> Vec<Value> {
    documents(&format!("deploy/gitops/{of}/banlieue.yaml"))
}

/// What is wrong with an object by the schema of its kind; it has to be a kind that is known here.
fn faults(object: &Value) -> Vec<String> {
    let kind = object["kind"].as_str().unwrap();
    let known = documents::<CustomResourceDefinition>("tests/gitops/crds.yaml");
    let Some(crd) = known.into_iter().find(|crd| crd.spec.names.kind == kind) else {
        return vec![format!("{kind} is not known")];
    };
    let version = &crd.spec.versions[0];
    if object["apiVersion"] != format!("{}/{}", crd.spec.group, version.name) {
        return vec![format!("{kind} is not of {}", object["apiVersion"])];
    }
    let schema = version.schema.clone().unwrap().open_api_v3_schema.unwrap();
    misfits(kind, &schema, &json!({ "spec": object["spec"] }))
}

/// The folder that an object installs from, such as `crds`.
#[track_caller]
fn base(path: &Value) -> String {
    let path = path.as_str().unwrap().trim_start_matches("./");
    assert!(root(path).join("Kustomization").is_file(), "{path} is no base");
    path.strip_prefix("deploy/").unwrap().to_owned()
}

#[test]
fn they_fit_their_kinds() {
    for object in ["flux", "argocd"].into_iter().flat_map(tree) {
        assert_eq!(faults(&object), [""; 0], "{}", object["metadata"]["name"]);
        assert!(object["metadata"]["name"].is_string() && object["metadata"]["namespace"].is_string());
    }
}

#[test]
fn what_does_not_fit_is_seen() {
    let mut flux = tree("flux");
    flux[1]["spec"]["prun"] = flux[1]["spec"]["prune"].take();
    flux[1]["spec"].as_object_mut().unwrap().remove("prune");
    assert_eq!(faults(&flux[1]), ["spec.prune is missing", "spec.prun is no field of Kustomization"]);
    let mut argo = tree("argocd").remove(0);
    argo["spec"]["syncPolicy"]["syncOptions"] = "ServerSideApply=true".into();
    assert_eq!(faults(&argo), ["spec.syncPolicy.syncOptions is to be an array, not a string"]);
    argo["apiVersion"] = "argoproj.io/v1".into();
    assert_eq!(faults(&argo).len(), 1);
}

#[test]
fn flux_installs_one_base_after_the_other() {
    let objects = tree("flux");
    let (source, parts) = objects.split_first().unwrap();
    assert_eq!(source["spec"]["ref"]["tag"], concat!("v", env!("CARGO_PKG_VERSION")));
    assert_eq!(parts.iter().map(|p| base(&p["spec"]["path"])).collect::<Vec<_>>(), BASES);
    for (index, part) in parts.iter().enumerate() {
        let reference = &part["spec"]["sourceRef"];
        assert_eq!((&reference["kind"], &reference["name"]), (&source["kind"], &source["metadata"]["name"]));
        assert_eq!(part["metadata"]["namespace"], source["metadata"]["namespace"]);
        let before = index.checked_sub(1).map(|before| json!([{ "name": parts[before]["metadata"]["name"] }]));
        assert_eq!(part["spec"].get("dependsOn"), before.as_ref());
        assert_eq!(part["spec"]["wait"], true, "what depends on it would not wait");
    }
    // with the kinds go all Providers
    assert_eq!(parts[0]["spec"]["prune"], false);
}

#[test]
fn argo_cd_installs_one_base_in_each_wave() {
    let objects = tree("argocd");
    assert_eq!(objects.iter().map(|o| base(&o["spec"]["source"]["path"])).collect::<Vec<_>>(), BASES);
    for (wave, object) in objects.iter().enumerate() {
        assert_eq!(object["metadata"]["annotations"]["argocd.argoproj.io/sync-wave"], wave.to_string());
        assert_eq!(object["spec"]["source"]["targetRevision"], concat!("v", env!("CARGO_PKG_VERSION")));
        let options = object["spec"]["syncPolicy"]["syncOptions"].as_array().unwrap();
        assert!(
            options.contains(&"ServerSideApply=true".into()),
            "the kinds are too long for the annotation of kubectl apply"
        );
    }
    assert_eq!(objects[0]["spec"]["syncPolicy"]["automated"]["prune"], false);
}
