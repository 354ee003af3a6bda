//! One object: looked at, asked for as a dry run, and written only if that would change it.
use super::{Conduct, Failed, namespace};
use crate::k8s::client::Client;
use crate::k8s::diff::diff;
use crate::k8s::kinds;
use crate::k8s::manifests::install::{Object, Stage};
use crate::k8s::manifests::names::MANAGER_BOOTSTRAP;
use kube::api::{DynamicObject, Patch, PatchParams};
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

impl Outcome {
    /// What a plan says of it: nothing is done yet.
    pub const fn planned(self) -> &'static str {
        match self {
            Outcome::Created => "would create",
            Outcome::Changed => "would change",
            Outcome::Unchanged => "unchanged",
            Outcome::Kept => "kept",
        }
    }
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

/// What became of an object, and the fields it differs in, where they were asked for.
type Done = (Outcome, Vec<String>);

/// How long a kind just established may still be unknown to the path that serves it: longest where it was removed before.
const SERVED: Duration = Duration::from_secs(60);

pub(super) async fn apply(client: &Client, object: &Object, conduct: Conduct) -> Result<Done, Failed> {
    let until = Instant::now() + SERVED;
    loop {
        match attempt(client, object, conduct).await {
            Err(Fault::Api(kube::Error::Api(status)))
                if object.stage == Stage::Classes
                    && matches!(status.code, 404 | 409 | 429)
                    && Instant::now() < until =>
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

async fn attempt(client: &Client, object: &Object, conduct: Conduct) -> Result<Done, Fault> {
    let api = kinds::within(client, &object.resource, object.namespace.as_deref());
    let send = PatchParams::apply(MANAGER_BOOTSTRAP).force();
    let class = object.stage == Stage::Classes;
    let live = match api.get_opt(&object.name).await {
        // before the first installation the kind is unknown, and so is every object of it
        Err(kube::Error::Api(status)) if conduct.plan && status.code == 404 => None,
        answer => answer?,
    };
    let Some(live) = live else {
        if conduct.plan {
            return Ok((Outcome::Created, vec![]));
        }
        let mut body = object.body.clone();
        if class {
            // this resourceVersion makes it a create: a class that appears in between is not overwritten
            body["metadata"]["resourceVersion"] = "1".into();
        }
        api.patch(&object.name, &send, &Patch::Apply(&body)).await?;
        return Ok((Outcome::Created, vec![]));
    };
    if live.metadata.deletion_timestamp.is_some() {
        return Err(Fault::Terminating);
    }
    let body = match object.stage {
        Stage::Namespace => &namespace::lent(&live, &object.body),
        _ => &object.body,
    };
    // The server's own answer to "what would this change?": it knows defaults, quantities and fields no longer sent.
    let would_be = api.patch(&object.name, &send.clone().dry_run(), &Patch::Apply(body)).await?;
    let (before, after) = (content(&live), content(&would_be));
    if before == after {
        return Ok((Outcome::Unchanged, vec![]));
    }
    let fields = if conduct.plan { differing(&before, &after) } else { vec![] };
    if class && !conduct.reset_classes {
        return Ok((Outcome::Kept, fields));
    }
    if conduct.plan {
        return Ok((Outcome::Changed, fields));
    }
    api.patch(&object.name, &send, &Patch::Apply(body)).await?;
    Ok((Outcome::Changed, fields))
}

/// An object without what moves by itself.
fn content(object: &DynamicObject) -> Value {
    let mut metadata = object.metadata.clone();
    metadata.managed_fields = None;
    metadata.resource_version = None;
    metadata.generation = None;
    let mut whole = object.data.clone();
    if let Some(fields) = whole.as_object_mut() {
        fields.remove("status");
        fields.insert("metadata".into(), serde_json::to_value(metadata).unwrap_or_default());
    }
    whole
}

/// The fields in which two contents differ: what is new or another, and what would go.
fn differing(before: &Value, after: &Value) -> Vec<String> {
    let mut fields = diff(after, before);
    let gone = diff(before, after).into_iter().filter(|field| !fields.contains(field)).collect::<Vec<_>>();
    fields.extend(gone);
    fields
}
