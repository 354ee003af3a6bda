//! The removal of an installation: what runs first, then what it made, then what limits it and what it may do.
mod workload;

use super::bootstrap::{Failed, refuse_elsewhere};
use super::client::Client;
use super::crd::{Backend, Provider};
use super::failure::{remedy, words};
use super::kinds;
use super::manifests::install::{Install, Object, Section, Stage};
use super::manifests::{labels, names};
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::rbac::v1::ClusterRoleBinding;
use kube::ResourceExt;
use kube::api::{Api, ApiResource, DeleteParams, DynamicObject, ListParams, Preconditions};
use std::time::{Duration, Instant};

/// How long one object may take to go: pods get some seconds to end.
const PATIENCE: Duration = Duration::from_secs(120);
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
    stage: Stage,
}

/// What a removal would do.
#[derive(Debug)]
pub struct Survey {
    scope: Scope,
    /// Installed objects, in the order in which they go.
    pub goes: Vec<Found>,
    /// The Providers whose workload and finalizer go.
    pub providers: Vec<Provider>,
    /// What stays, and why.
    pub stays: Vec<String>,
}

impl Survey {
    /// Whether there is nothing to do.
    pub fn is_empty(&self) -> bool {
        self.goes.is_empty() && self.providers.is_empty()
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

/// Looks at what is there. Nothing is changed.
///
/// # Errors
/// Where something cannot be read, a static installation needs what would go, or the installation is in another namespace: its
/// rights and workloads would go, and its operator would not.
pub async fn survey(client: &Client, install: &Install, scope: Scope) -> Result<Survey, Failed> {
    if !matches!(scope, Scope::Provider(_)) {
        refuse_elsewhere(client, install.namespace()).await?;
    }
    let built = match scope {
        Scope::Provider(backend) => install.provider(backend),
        Scope::Operator | Scope::All => install.objects(),
    };
    let mut wanted = built.map_err(|e| fail("the objects", &e.to_string(), "report this as a fault"))?;
    wanted.sort_by_key(|object| rank(object.stage));
    let mut survey = Survey { scope, goes: Vec::new(), providers: Vec::new(), stays: Vec::new() };
    for object in &wanted {
        let Some(found) = find(client, object).await? else { continue };
        match keeps(client, install, scope, object).await? {
            Some(why) => survey.stays.push(format!("{found}: {why}")),
            None => survey.goes.push(found),
        }
    }
    if !matches!(scope, Scope::Provider(_)) {
        survey.goes.extend(leases(client, install.namespace()).await?);
        survey.providers = workload::providers(client, scope).await?;
    }
    if scope == Scope::All {
        let statics = bound(client, None).await?.into_iter().find(|name| name.starts_with("banlieue-static-"));
        if let Some(binding) = statics {
            let why = "a static provider is installed and needs the kinds";
            return Err(fail(&format!("ClusterRoleBinding {binding}"), why, "remove it first (--provider)"));
        }
    }
    Ok(survey)
}

/// Removes it all, and tells of each object that is gone. A second run goes on where one ended.
///
/// # Errors
/// At the first object that does not go.
pub async fn remove(client: &Client, survey: &Survey, tell: &mut (dyn FnMut(String) + Send)) -> Result<(), Failed> {
    let of = |runs: bool| survey.goes.iter().filter(move |f| (f.stage == Stage::Workloads) == runs);
    // whoever would make it anew ends first
    for found in of(true) {
        delete(client, found).await?;
        tell(found.to_string());
    }
    if !matches!(survey.scope, Scope::Provider(_)) {
        workload::remove(client, tell).await?;
        for provider in &survey.providers {
            workload::release(client, provider).await?;
        }
    }
    for found in of(false).filter(|f| f.stage.section() == Section::Platform && f.stage != Stage::Namespace) {
        delete(client, found).await?;
        tell(found.to_string());
    }
    for provider in &survey.providers {
        match survey.scope {
            Scope::All => workload::delete(client, provider, tell).await?,
            _ => workload::forget(client, provider).await?,
        }
    }
    for found in of(false).filter(|f| f.stage.section() != Section::Platform || f.stage == Stage::Namespace) {
        delete(client, found).await?;
        tell(found.to_string());
    }
    Ok(())
}

/// The order of a removal: classes before their kind, the namespace last.
const fn rank(stage: Stage) -> u8 {
    match stage {
        Stage::Workloads => 0,
        Stage::Rights => 1,
        Stage::Policies => 2,
        Stage::Classes => 3,
        Stage::Crds => 4,
        Stage::Namespace => 5,
    }
}

/// Why an object stays, where it does.
async fn keeps(client: &Client, install: &Install, scope: Scope, object: &Object) -> Result<Option<String>, Failed> {
    if scope != Scope::All && matches!(object.stage, Stage::Namespace | Stage::Crds | Stage::Classes) {
        return Ok(Some("Providers and their Secrets may need it; --all removes it too".into()));
    }
    if object.resource.kind != "ClusterRole" || !object.name.starts_with(names::PREFIX) {
        return Ok(None);
    }
    if matches!(scope, Scope::Provider(_)) && !bound(client, Some(names::OPERATOR)).await?.is_empty() {
        return Ok(Some("the operator binds the pods of Providers to it".into()));
    }
    // what was minted goes before it, and so does the binding of this very installation
    let goes = |binding: &String| match scope {
        Scope::Provider(backend) => *binding == names::static_binding(install.namespace(), backend),
        Scope::Operator | Scope::All => binding.starts_with(names::PREFIX),
    };
    let needs = bound(client, Some(&object.name)).await?.into_iter().find(|binding| !goes(binding));
    Ok(needs.map(|binding| format!("ClusterRoleBinding {binding} needs it")))
}

/// The names of the ClusterRoleBindings, of those to one ClusterRole where it is given.
async fn bound(client: &Client, role: Option<&str>) -> Result<Vec<String>, Failed> {
    let api: Api<ClusterRoleBinding> = Api::all(client.clone());
    let all = api.list(&ListParams::default()).await.map_err(|e| failed("the ClusterRoleBindings", &e))?;
    Ok(all.iter().filter(|b| role.is_none_or(|role| b.role_ref.name == role)).map(ResourceExt::name_any).collect())
}

/// The object where it is there and the installer made it.
async fn find(client: &Client, object: &Object) -> Result<Option<Found>, Failed> {
    let mut found = Found {
        resource: object.resource.clone(),
        namespace: object.namespace.clone(),
        name: object.name.clone(),
        uid: None,
        stage: object.stage,
    };
    let live = match api(client, &found).get_opt(&object.name).await {
        // a class is not known once its kind is gone
        Err(kube::Error::Api(status)) if status.code == 404 => None,
        answer => answer.map_err(|e| failed(&found.to_string(), &e))?,
    };
    let ours = live.filter(|live| live.labels().get(labels::MANAGED_BY).is_some_and(|by| by == labels::INSTALLER));
    found.uid = ours.as_ref().and_then(ResourceExt::uid);
    Ok(ours.map(|_| found))
}

/// The Leases of operator and controller, which they made themselves.
async fn leases(client: &Client, namespace: &str) -> Result<Vec<Found>, Failed> {
    let mut all = Vec::new();
    for name in [names::OPERATOR, names::CONTROLLER] {
        let api: Api<Lease> = Api::namespaced(client.clone(), namespace);
        let live = api.get_opt(name).await.map_err(|e| failed(&format!("Lease {namespace}/{name}"), &e))?;
        all.extend(live.map(|live| Found {
            resource: ApiResource::erase::<Lease>(&()),
            namespace: Some(namespace.into()),
            name: name.into(),
            uid: live.uid(),
            stage: Stage::Rights,
        }));
    }
    Ok(all)
}

fn api(client: &Client, found: &Found) -> Api<DynamicObject> {
    kinds::within(client, &found.resource, found.namespace.as_deref())
}

/// Deletes what was found, with all that it owns, and waits until it is gone.
async fn delete(client: &Client, found: &Found) -> Result<(), Failed> {
    let (api, until) = (api(client, found), Instant::now() + PATIENCE);
    let preconditions = Preconditions { uid: found.uid.clone(), resource_version: None };
    // what owns pods waits for them; the rest owns nothing, and would wait for the garbage collector alone
    let how = if found.stage == Stage::Workloads { DeleteParams::foreground() } else { DeleteParams::background() };
    let params = DeleteParams { preconditions: Some(preconditions), ..how };
    match api.delete(&found.name, &params).await {
        // gone, or another one has its name by now
        Err(kube::Error::Api(status)) if matches!(status.code, 404 | 409) => return Ok(()),
        answer => answer.map(drop).map_err(|e| failed(&found.to_string(), &e))?,
    }
    loop {
        let live = api.get_opt(&found.name).await.map_err(|e| failed(&found.to_string(), &e))?;
        if live.is_none_or(|live| live.uid() != found.uid) {
            return Ok(());
        }
        if Instant::now() > until {
            let why = format!("it is not gone after {} s", PATIENCE.as_secs());
            return Err(fail(
                &found.to_string(),
                &why,
                "see what holds it (its finalizers, its pods), then run the command again",
            ));
        }
        tokio::time::sleep(LOOK).await;
    }
}

fn failed(object: &str, error: &kube::Error) -> Failed {
    fail(object, &words(error), remedy(error))
}

fn fail(object: &str, why: &str, todo: &str) -> Failed {
    Failed { object: object.into(), why: why.into(), todo: todo.into() }
}
