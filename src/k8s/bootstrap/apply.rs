//! One object: looked at, asked for as a dry run, and written only if that would change it.
use super::{Conduct, Failed};
use crate::k8s::client::Client;
use crate::k8s::manifests::install::{Object, Stage};
use crate::k8s::manifests::names::MANAGER_BOOTSTRAP;
use kube::api::{Api, DynamicObject, Patch, PatchParams};
use serde_json::Value;
use std::time::{Duration, Instant};

/// What became of an object.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum Outcome {
    /// It was not there.
    Created,
    /// It was there, and differed.
    Changed,
    /// It was there, as it should be: nothing was written.
    Unchanged,
    /// It was there, differs, and is left alone: a class belongs to who runs the fleet.
    Kept,
}

impl std::fmt::Display for Outcome {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(match self {
            Outcome::Created => "created",
            Outcome::Changed => "changed",
            Outcome::Unchanged => "unchanged",
            Outcome::Kept => "kept",
        })
    }
}

/// How long a kind just established may still be unknown to the path that serves it.
const SERVED: Duration = Duration::from_secs(10);

pub(super) fn api(client: &Client, object: &Object) -> Api<DynamicObject> {
    match &object.namespace {
        Some(namespace) => Api::namespaced_with(client.clone(), namespace, &object.resource),
        None => Api::all_with(client.clone(), &object.resource),
    }
}

pub(super) async fn apply(client: &Client, object: &Object, conduct: Conduct) -> Result<Outcome, Failed> {
    let until = Instant::now() + SERVED;
    loop {
        match attempt(client, object, conduct).await {
            Err(Fault::Api(kube::Error::Api(status)))
                if object.stage == Stage::Classes && matches!(status.code, 404 | 409) && Instant::now() < until =>
            {
                tokio::time::sleep(Duration::from_millis(200)).await;
            }
            Err(Fault::Api(error)) => return Err(Failed::api(object, &error)),
            Err(Fault::Terminating) => {
                return Err(Failed {
                    object: object.to_string(),
                    why: "it is being deleted".into(),
                    todo: "wait until it is gone, then run the command again".into(),
                });
            }
            Ok(outcome) => return Ok(outcome),
        }
    }
}

enum Fault {
    Api(kube::Error),
    Terminating,
}

impl From<kube::Error> for Fault {
    fn from(error: kube::Error) -> Self {
        Fault::Api(error)
    }
}

async fn attempt(client: &Client, object: &Object, conduct: Conduct) -> Result<Outcome, Fault> {
    let api = api(client, object);
    let send = PatchParams::apply(MANAGER_BOOTSTRAP).force();
    let class = object.stage == Stage::Classes;
    let Some(live) = api.get_opt(&object.name).await? else {
        let mut body = object.body.clone();
        if class {
            // this resourceVersion makes it a create: a class that appears in between is not overwritten
            body["metadata"]["resourceVersion"] = "1".into();
        }
        api.patch(&object.name, &send, &Patch::Apply(&body)).await?;
        return Ok(Outcome::Created);
    };
    if live.metadata.deletion_timestamp.is_some() {
        return Err(Fault::Terminating);
    }
    // The server's own answer to "what would this change?": it knows defaults, quantities and fields no longer sent.
    let would_be = api.patch(&object.name, &send.clone().dry_run(), &Patch::Apply(&object.body)).await?;
    if content(&live) == content(&would_be) {
        return Ok(Outcome::Unchanged);
    }
    if class && !conduct.reset_classes {
        return Ok(Outcome::Kept);
    }
    api.patch(&object.name, &send, &Patch::Apply(&object.body)).await?;
    Ok(Outcome::Changed)
}

/// An object without what moves by itself.
fn content(object: &DynamicObject) -> (Value, Value) {
    let mut metadata = object.metadata.clone();
    metadata.managed_fields = None;
    metadata.resource_version = None;
    metadata.generation = None;
    let mut data = object.data.clone();
    if let Some(fields) = data.as_object_mut() {
        fields.remove("status");
    }
    (serde_json::to_value(metadata).unwrap_or_default(), data)
}
