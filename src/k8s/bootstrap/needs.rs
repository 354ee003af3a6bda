//! What an installation needs and does not bring: without it the first object that misses it would fail, and those before it stay.
use super::Failed;
use super::namespace::{ending, namespace};
use crate::k8s::client::Client;
use crate::k8s::crd::crds;
use crate::k8s::kinds;
use crate::k8s::manifests::install::{Object, Stage};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::ResourceExt;
use kube::api::ApiResource;
use std::collections::BTreeSet;

/// Fails where the namespace is being deleted, or where namespace or kinds are neither there nor brought along.
pub(super) async fn refuse(client: &Client, objects: &[Object]) -> Result<(), Failed> {
    let brings = |stage| objects.iter().any(|o| o.stage == stage);
    let own = objects.iter().filter(|o| o.stage == Stage::Namespace).map(|o| o.name.as_str());
    let namespaces: BTreeSet<_> = objects.iter().filter_map(|o| o.namespace.as_deref()).chain(own).collect();
    for name in namespaces {
        let what = format!("Namespace {name}");
        match namespace(client, name).await.map_err(|e| Failed::of(&what, &e))? {
            Some(live) => ending(client, &live).await.map_or(Ok(()), Err)?,
            None if brings(Stage::Namespace) => {}
            None => return Err(missing(what, "create it, then run the command again")),
        }
    }
    let api = kinds::within(client, &ApiResource::erase::<CustomResourceDefinition>(&()), None);
    for kind in crds().iter().filter(|_| !brings(Stage::Crds)) {
        let what = format!("CustomResourceDefinition {}", kind.name_any());
        if api.get_opt(&kind.name_any()).await.map_err(|e| Failed::of(&what, &e))?.is_none() {
            let todo =
                "run `banlieue bootstrap operator --part crds`, or apply deploy/crds, then run the command again";
            return Err(missing(what, todo));
        }
    }
    Ok(())
}

fn missing(object: String, todo: &str) -> Failed {
    Failed { object, why: "it is not there".into(), todo: todo.into() }
}
