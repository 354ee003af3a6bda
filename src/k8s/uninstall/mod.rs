//! The removal of an installation: what runs first, then what it made, then what limits it and what it may do.
mod namespace;
mod survey;
mod workload;

use super::bootstrap::Failed;
use super::client::Client;
use super::crd::Backend;
use super::kinds;
use super::manifests::install::{Section, Stage};
use kube::ResourceExt;
use kube::api::{Api, ApiResource, DeleteParams, DynamicObject, Preconditions};
use std::time::{Duration, Instant};
pub use survey::survey;

/// How long one object may take to go: pods get some seconds to end.
const PATIENCE: Duration = Duration::from_secs(120);
/// How long nothing is said of a wait.
const SILENCE: Duration = Duration::from_secs(2);
/// Between two looks.
const LOOK: Duration = Duration::from_millis(200);

/// What is to be removed.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Scope {
    /// Operator and controller, and all that they made; kinds, classes and Providers stay.
    Operator,
    /// That, and kinds, classes, Providers and the namespace too.
    All,
    /// The static installation of a backend.
    Provider(Backend),
}

/// One object as it was found.
#[derive(Clone, Debug)]
pub struct Found {
    resource: ApiResource,
    namespace: Option<String>,
    name: String,
    uid: Option<String>,
    /// It is being deleted, whoever asked for that.
    ending: bool,
    stage: Stage,
}

/// What happens meanwhile.
#[derive(Clone, Debug)]
pub enum Step {
    /// An object is gone.
    Removed(String),
    /// It waits, and for what.
    Waiting(String),
}

/// Whoever is told.
pub type Tell<'a> = dyn FnMut(Step) + Send + 'a;

/// What a removal would do.
#[derive(Debug)]
pub struct Survey {
    scope: Scope,
    /// Installed objects, in the order in which they go.
    pub goes: Vec<Found>,
    /// What goes with the namespace, and is not of banlieue.
    pub others: Vec<Found>,
    /// The Providers whose workload and finalizer go, or who lose the pod that serves them.
    pub providers: Vec<DynamicObject>,
    /// What would stay, and is being deleted already.
    pub ending: Vec<String>,
    /// What stays, and why.
    pub stays: Vec<String>,
    /// Where to look for what is not here.
    pub hint: Option<String>,
    /// The namespace where somebody else made it.
    lent: Option<String>,
}

impl Survey {
    fn of(scope: Scope) -> Self {
        let (goes, others, providers) = (Vec::new(), Vec::new(), Vec::new());
        let (ending, stays) = (Vec::new(), Vec::new());
        Survey { scope, goes, others, providers, ending, stays, hint: None, lent: None }
    }

    /// Whether there is nothing to do.
    pub fn is_empty(&self) -> bool {
        self.goes.is_empty() && self.providers.is_empty() && self.lent.is_none()
    }
}

impl std::fmt::Display for Found {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} ", self.resource.kind)?;
        if let Some(namespace) = &self.namespace {
            write!(f, "{namespace}/")?;
        }
        f.write_str(&self.name)
    }
}

/// Removes it all, and tells of each object that is gone. A second run goes on where one ended.
///
/// # Errors
/// At the first object that does not go.
pub async fn remove(client: &Client, survey: &Survey, tell: &mut Tell<'_>) -> Result<(), Failed> {
    let of = |runs: bool| survey.goes.iter().filter(move |f| (f.stage == Stage::Workloads) == runs);
    // whoever would make it anew ends first
    for found in of(true) {
        delete(client, found, tell).await?;
    }
    if !matches!(survey.scope, Scope::Provider(_)) {
        workload::remove(client, tell).await?;
        for provider in &survey.providers {
            workload::release(client, provider).await?;
        }
    }
    for found in of(false).filter(|f| f.stage.section() == Section::Platform && f.stage != Stage::Namespace) {
        delete(client, found, tell).await?;
    }
    if survey.scope == Scope::All {
        workload::delete(client, &survey.providers, tell).await?;
    } else {
        for provider in &survey.providers {
            workload::forget(client, provider).await?;
        }
    }
    if survey.scope == Scope::Operator {
        workload::forget_classes(client).await?;
    }
    for found in of(false).filter(|f| f.stage.section() != Section::Platform || f.stage == Stage::Namespace) {
        delete(client, found, tell).await?;
    }
    if let Some(lent) = &survey.lent {
        namespace::give_back(client, lent).await?;
    }
    Ok(())
}

/// Deletes what was found, with all that it owns, and waits until it is gone.
async fn delete(client: &Client, found: &Found, tell: &mut Tell<'_>) -> Result<(), Failed> {
    let api = kinds::within(client, &found.resource, found.namespace.as_deref());
    let preconditions = Preconditions { uid: found.uid.clone(), resource_version: None };
    // what owns pods waits for them; the rest owns nothing, and would wait for the garbage collector alone
    let how = if found.stage == Stage::Workloads { DeleteParams::foreground() } else { DeleteParams::background() };
    let params = DeleteParams { preconditions: Some(preconditions), ..how };
    match api.delete(&found.name, &params).await {
        // gone, or another one has its name by now
        Err(kube::Error::Api(status)) if matches!(status.code, 404 | 409) => return Ok(()),
        answer => answer.map(drop).map_err(|e| Failed::of(&found.to_string(), &e))?,
    }
    gone(&api, &found.name, found.uid.as_deref(), &found.to_string(), tell).await
}

/// Waits until an object is gone, and says what it waits for.
async fn gone(
    api: &Api<DynamicObject>,
    name: &str,
    uid: Option<&str>,
    what: &str,
    tell: &mut Tell<'_>,
) -> Result<(), Failed> {
    let (began, mut told) = (Instant::now(), false);
    loop {
        let live = api.get_opt(name).await.map_err(|e| Failed::of(what, &e))?;
        let Some(live) = live.filter(|live| live.metadata.uid.as_deref() == uid) else {
            tell(Step::Removed(what.into()));
            return Ok(());
        };
        let held = match live.finalizers() {
            [] => String::new(),
            held => format!(", held by {}", held.join(", ")),
        };
        if began.elapsed() > PATIENCE {
            let why = format!("it is not gone after {} s{held}", PATIENCE.as_secs());
            return Err(fail(what, &why, "see what holds it (its finalizers, its pods), then run the command again"));
        }
        if began.elapsed() > SILENCE && !std::mem::replace(&mut told, true) {
            tell(Step::Waiting(format!("{what} to be gone{held}")));
        }
        tokio::time::sleep(LOOK).await;
    }
}

fn fail(object: &str, why: &str, todo: &str) -> Failed {
    Failed { object: object.into(), why: why.into(), todo: todo.into() }
}
