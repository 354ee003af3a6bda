//! What each role is granted, by the installer's own functions; and whether anything else was used.
use anyhow::{Context, Result, ensure};
use banlieue::k8s::crd::{Backend, Provider, ProviderClass};
use banlieue::k8s::manifests::install::{Install, Object};
use banlieue::k8s::manifests::{Workload, five, names};
use banlieue_e2e::audit::Entry;
use banlieue_e2e::rights::{Balance, Right};
use k8s_openapi::api::rbac::v1::PolicyRule;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};

/// What a role may do.
pub type Rights = BTreeSet<Right>;

/// The installation, as it is by default.
pub fn install() -> Result<Install> {
    Ok(Install::new(names::DEFAULT_NAMESPACE, Install::VERSION, Install::REGISTRY)?)
}

fn rights(body: &Value) -> Result<Rights> {
    let rules: Vec<PolicyRule> = serde_json::from_value(body["rules"].clone())?;
    Ok(Right::of(&rules))
}

/// What the roles of this name grant, wherever they are.
fn named(objects: &[Object], name: &str) -> Result<Rights> {
    let mut all = Rights::new();
    for role in objects.iter().filter(|o| o.name == name && o.resource.kind.ends_with("Role")) {
        all.extend(rights(&role.body)?);
    }
    ensure!(!all.is_empty(), "no role is called {name}");
    Ok(all)
}

/// The operator, with its Lease.
pub fn operator() -> Result<Rights> {
    named(&install()?.objects()?, names::OPERATOR)
}

/// The controller, with its Lease.
pub fn controller() -> Result<Rights> {
    named(&install()?.objects()?, names::CONTROLLER)
}

/// The pods of a Provider: its Role, and the shared ClusterRole.
pub fn minted(provider: &Provider, class: &ProviderClass) -> Result<Rights> {
    let install_namespace = names::DEFAULT_NAMESPACE;
    let workload = Workload { provider, class, install_namespace, account_uid: Some("account") };
    let five = five(&workload)?;
    let role = five.iter().find(|m| m.object.part == banlieue::fsm::Part::Role).context("no Role is minted")?;
    let mut all = rights(&role.body)?;
    all.extend(named(&install()?.objects()?, &names::shared(class.spec.backend))?);
    Ok(all)
}

/// The pods of a Provider that uses all it can.
pub fn pod() -> Result<Rights> {
    let connection = json!({ "endpoint": "https://vcenter.invalid/sdk", "credentialsRef": { "name": "creds" }, "caBundle": { "configMapRef": { "name": "ca" } } });
    let provider = json!({
        "apiVersion": "banlieue.io/v1alpha1", "kind": "Provider", "metadata": { "name": "p", "namespace": "n", "uid": "u" },
        "spec": { "providerClassRef": { "name": "c" }, "connection": connection },
    });
    let class = json!({
        "apiVersion": "banlieue.io/v1alpha1", "kind": "ProviderClass", "metadata": { "name": "c" },
        "spec": { "backend": "vsphere", "image": { "repository": "localhost/banlieue" } },
    });
    minted(&serde_json::from_value(provider)?, &serde_json::from_value(class)?)
}

/// All that the operator grants to pods, without the names that it grants it for.
pub fn handed_out() -> Result<Rights> {
    Ok(pod()?.iter().map(Right::nameless).collect())
}

/// The provider of a namespace without an operator.
pub fn standalone(namespace: &str, backend: Backend) -> Result<Rights> {
    named(&Install::new(namespace, Install::VERSION, Install::REGISTRY)?.provider(backend)?, &names::shared(backend))
}

/// The name of a role's account, where one of ours asked.
fn account(entry: &Entry) -> Option<&str> {
    entry.user.username.rsplit(':').next().filter(|_| entry.ours())
}

/// No role used a right that the installer's rules for it do not have: what the API server allowed, they granted.
/// Returns how many roles there were.
pub fn nothing_else_was_used(entries: &[Entry]) -> Result<usize> {
    let mut used: BTreeMap<&str, Rights> = BTreeMap::new();
    for entry in entries {
        let Some(account) = account(entry) else { continue };
        let role = if account.starts_with(names::PREFIX) { names::PREFIX } else { account };
        used.entry(role).or_default().extend(Right::used(entry));
    }
    let mut wrong = Vec::new();
    for (role, used) in &used {
        let granted = match *role {
            names::OPERATOR => operator()?,
            names::CONTROLLER => controller()?,
            names::PREFIX => handed_out()?,
            other => anyhow::bail!("{other} is no role of ours"),
        };
        let foreign = Balance::of(&granted, used).foreign;
        println!(
            "figure: {role} used {} rights (by name), {} of them granted by nothing of ours",
            used.len(),
            foreign.len()
        );
        wrong.extend(foreign.iter().map(|right| format!("{role}: {right}")));
    }
    ensure!(wrong.is_empty(), "used, and not granted by us:\n{}", wrong.join("\n"));
    Ok(used.len())
}
