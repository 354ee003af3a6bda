//! One installation per cluster: a second one would take over the bindings of the first without a word.
use super::Failed;
use crate::k8s::client::Client;
use crate::k8s::manifests::names;
use k8s_openapi::api::core::v1::ServiceAccount;
use k8s_openapi::api::rbac::v1::ClusterRoleBinding;
use kube::Api;

/// Another namespace than this one, in which operator or controller are installed. A binding whose account is gone counts
/// as a leftover, which the installation repairs.
///
/// # Errors
/// Where it cannot be asked.
pub async fn elsewhere(client: &Client, namespace: &str) -> Result<Option<String>, Failed> {
    for name in [names::OPERATOR, names::CONTROLLER] {
        let other = installed(client, name).await?.into_iter().find(|n| n != namespace);
        if other.is_some() {
            return Ok(other);
        }
    }
    Ok(None)
}

/// Fails where banlieue is installed in another namespace.
///
/// # Errors
/// Then, and where it cannot be asked.
pub async fn refuse_elsewhere(client: &Client, namespace: &str) -> Result<(), Failed> {
    match elsewhere(client, namespace).await? {
        None => Ok(()),
        Some(other) => Err(Failed {
            object: format!("Namespace {namespace}"),
            why: format!("banlieue is installed in the namespace {other}, and a cluster has one installation"),
            todo: format!("give --namespace {other}, or remove that installation first"),
        }),
    }
}

/// Where an operator is installed.
///
/// # Errors
/// Where it cannot be asked.
pub async fn operator(client: &Client) -> Result<Option<String>, Failed> {
    Ok(installed(client, names::OPERATOR).await?.into_iter().next())
}

/// Fails where an operator is installed, whose pods serve every Provider.
///
/// # Errors
/// Then, and where it cannot be asked.
pub async fn refuse_operator(client: &Client) -> Result<(), Failed> {
    match operator(client).await? {
        Some(namespace) => Err(Failed {
            object: format!("ClusterRoleBinding {}", names::OPERATOR),
            why: format!(
                "an operator is installed in the namespace {namespace}: its pods serve every Provider already"
            ),
            todo: "remove it first, or give --force".into(),
        }),
        None => Ok(()),
    }
}

/// The namespaces in which a role is installed: its account is there, and bound.
async fn installed(client: &Client, name: &str) -> Result<Vec<String>, Failed> {
    let failed = |e: kube::Error| Failed::of(&format!("ClusterRoleBinding {name}"), &e);
    let bindings: Api<ClusterRoleBinding> = Api::all(client.clone());
    let Some(binding) = bindings.get_opt(name).await.map_err(failed)? else { return Ok(vec![]) };
    let mut found = Vec::new();
    for namespace in binding.subjects.unwrap_or_default().into_iter().filter_map(|s| s.namespace) {
        let accounts: Api<ServiceAccount> = Api::namespaced(client.clone(), &namespace);
        if accounts.get_opt(name).await.map_err(failed)?.is_some() {
            found.push(namespace);
        }
    }
    Ok(found)
}
