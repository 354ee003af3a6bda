//! One installation per cluster: a second one would take over the bindings of the first without a word.
use super::Failed;
use crate::k8s::client::Client;
use crate::k8s::failure::{remedy, words};
use crate::k8s::manifests::names;
use k8s_openapi::api::core::v1::ServiceAccount;
use k8s_openapi::api::rbac::v1::ClusterRoleBinding;
use kube::Api;

/// Fails where operator or controller are installed in another namespace. A binding whose account is gone counts as a
/// leftover, which the installation repairs.
pub(super) async fn refuse(client: &Client, namespace: &str) -> Result<(), Failed> {
    for name in [names::OPERATOR, names::CONTROLLER] {
        let object = format!("ClusterRoleBinding {name}");
        let failed = |e: kube::Error| Failed { object: object.clone(), why: words(&e), todo: remedy(&e).into() };
        let bindings: Api<ClusterRoleBinding> = Api::all(client.clone());
        let Some(binding) = bindings.get_opt(name).await.map_err(failed)? else { continue };
        let others = binding.subjects.unwrap_or_default().into_iter().filter_map(|s| s.namespace);
        for other in others.filter(|n| n != namespace) {
            let accounts: Api<ServiceAccount> = Api::namespaced(client.clone(), &other);
            if accounts.get_opt(name).await.map_err(failed)?.is_some() {
                return Err(Failed {
                    object,
                    why: format!("banlieue is installed in the namespace {other}, and a cluster has one installation"),
                    todo: format!("give --namespace {other}, or remove that installation first"),
                });
            }
        }
    }
    Ok(())
}
