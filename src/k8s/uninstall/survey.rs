//! What a removal finds: what goes, what stays, and what it must not touch.
use super::{Found, Scope, Survey, fail, namespace, workload};
use crate::k8s::bootstrap::{Failed, elsewhere, operator};
use crate::k8s::client::Client;
use crate::k8s::crd::Backend;
use crate::k8s::kinds;
use crate::k8s::manifests::install::{Install, Object, Stage};
use crate::k8s::manifests::{labels, names};
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::rbac::v1::ClusterRoleBinding;
use kube::ResourceExt;
use kube::api::{Api, ApiResource, ListParams};

/// Looks at what is there. Nothing is changed.
///
/// # Errors
/// Where something cannot be read, a static installation needs what would go, or the installation is in another namespace: its
/// rights and workloads would go, and its operator would not.
pub async fn survey(client: &Client, install: &Install, scope: Scope) -> Result<Survey, Failed> {
    let built = match scope {
        Scope::Provider(backend) => install.provider(backend),
        Scope::Operator | Scope::All => {
            if let Some(other) = elsewhere(client, install.namespace()).await? {
                let (at, why) = (install.namespace(), format!("banlieue is installed in {other}"));
                let todo = format!("give --namespace {other}; a static provider goes by --provider");
                return Err(fail(&format!("Namespace {at}"), &why, &todo));
            }
            install.objects()
        }
    };
    let bindings = bindings(client).await?;
    if scope == Scope::All {
        namespace::refuse_another(client, install.namespace()).await?;
        refuse_statics(&bindings)?;
    }
    let mut wanted = built.map_err(|e| fail("the objects", &e.to_string(), "report this as a fault"))?;
    wanted.sort_by_key(|object| rank(object.stage));
    let mut survey = Survey::of(scope);
    for object in &wanted {
        let Some(found) = find(client, object).await? else { continue };
        match keeps(&bindings, install, scope, object) {
            Some(_) if found.ending => survey.ending.push(format!("{found}: it is being deleted already")),
            Some(why) => survey.stays.push(format!("{found}: {why}")),
            None => survey.goes.push(found),
        }
    }
    match scope {
        Scope::Provider(backend) => {
            // the shared role alone is of the platform, or of others
            if survey.goes.iter().all(|found| found.resource.kind == "ClusterRole") {
                survey.goes.clear();
            }
            survey.providers = workload::served(client, install.namespace(), backend).await?;
            if survey.is_empty() {
                survey.hint = others(client, &bindings, install.namespace(), backend).await?;
            }
        }
        Scope::Operator | Scope::All => {
            survey.goes.extend(leases(client, install.namespace()).await?);
            survey.providers = workload::providers(client, scope).await?;
        }
    }
    if scope == Scope::All {
        namespace::look(client, install.namespace(), &mut survey).await?;
    }
    Ok(survey)
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

/// Fails where a static provider needs the kinds.
fn refuse_statics(all: &[ClusterRoleBinding]) -> Result<(), Failed> {
    let Some(binding) = all.iter().find(|b| b.name_any().starts_with(names::STATIC_PREFIX)) else { return Ok(()) };
    let at = format!("ClusterRoleBinding {}", binding.name_any());
    let todo = format!("remove it first (--provider, with --namespace {})", subject(binding));
    Err(fail(&at, "a static provider is installed and needs the kinds", &todo))
}

/// Where else the pods of a backend are, for who looks for them in the wrong place.
async fn others(
    client: &Client,
    all: &[ClusterRoleBinding],
    namespace: &str,
    backend: Backend,
) -> Result<Option<String>, Failed> {
    let statics = all.iter().filter(|b| b.name_any() == names::static_binding(subject(b), backend));
    let there: Vec<_> = statics.map(subject).filter(|n| *n != namespace).collect();
    if !there.is_empty() {
        return Ok(Some(format!("the {backend} provider is installed in {}: give --namespace", there.join(", "))));
    }
    Ok(operator(client)
        .await?
        .map(|at| format!("the operator in {at} runs the pods of Providers: uninstall without --provider removes it")))
}

/// The namespace of whom a binding binds first.
fn subject(binding: &ClusterRoleBinding) -> &str {
    binding.subjects.iter().flatten().find_map(|s| s.namespace.as_deref()).unwrap_or_default()
}

/// Why an object stays, where it does.
fn keeps(all: &[ClusterRoleBinding], install: &Install, scope: Scope, object: &Object) -> Option<String> {
    if scope != Scope::All && matches!(object.stage, Stage::Namespace | Stage::Crds | Stage::Classes) {
        return Some("Providers and their Secrets may need it; --all removes it too".into());
    }
    if object.resource.kind != "ClusterRole" || !object.name.starts_with(names::PREFIX) {
        return None;
    }
    if matches!(scope, Scope::Provider(_)) && all.iter().any(|b| b.role_ref.name == names::OPERATOR) {
        return Some("the operator binds the pods of Providers to it".into());
    }
    // what was minted goes before it, and so does the binding of this very installation
    let goes = |binding: &String| match scope {
        Scope::Provider(backend) => *binding == names::static_binding(install.namespace(), backend),
        Scope::Operator | Scope::All => binding.starts_with(names::PREFIX),
    };
    let mut to_it = all.iter().filter(|b| b.role_ref.name == object.name).map(ResourceExt::name_any);
    to_it.find(|binding| !goes(binding)).map(|binding| format!("ClusterRoleBinding {binding} needs it"))
}

async fn bindings(client: &Client) -> Result<Vec<ClusterRoleBinding>, Failed> {
    let api: Api<ClusterRoleBinding> = Api::all(client.clone());
    Ok(api.list(&ListParams::default()).await.map_err(|e| Failed::of("the ClusterRoleBindings", &e))?.items)
}

/// The object where it is there and the installer made it.
async fn find(client: &Client, object: &Object) -> Result<Option<Found>, Failed> {
    let mut found = Found {
        resource: object.resource.clone(),
        namespace: object.namespace.clone(),
        name: object.name.clone(),
        uid: None,
        ending: false,
        stage: object.stage,
    };
    let live = match kinds::within(client, &found.resource, found.namespace.as_deref()).get_opt(&object.name).await {
        // a class is not known once its kind is gone
        Err(kube::Error::Api(status)) if status.code == 404 => None,
        answer => answer.map_err(|e| Failed::of(&found.to_string(), &e))?,
    };
    let ours = live.filter(|live| live.labels().get(labels::MANAGED_BY).is_some_and(|by| by == labels::INSTALLER));
    found.uid = ours.as_ref().and_then(ResourceExt::uid);
    found.ending = ours.as_ref().is_some_and(|live| live.metadata.deletion_timestamp.is_some());
    Ok(ours.map(|_| found))
}

/// The Leases of operator and controller, which they made themselves.
async fn leases(client: &Client, namespace: &str) -> Result<Vec<Found>, Failed> {
    let mut all = Vec::new();
    for name in [names::OPERATOR, names::CONTROLLER] {
        let api: Api<Lease> = Api::namespaced(client.clone(), namespace);
        let live = api.get_opt(name).await.map_err(|e| Failed::of(&format!("Lease {namespace}/{name}"), &e))?;
        all.extend(live.map(|live| Found {
            resource: ApiResource::erase::<Lease>(&()),
            namespace: Some(namespace.into()),
            name: name.into(),
            uid: live.uid(),
            ending: false,
            stage: Stage::Rights,
        }));
    }
    Ok(all)
}
