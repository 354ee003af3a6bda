//! Static providers, which need no operator.
use super::role::Idle;
use super::{Line, Verdict, line, list};
use crate::k8s::client::Client;
use crate::k8s::failure::words;
use crate::k8s::manifests::names;
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::rbac::v1::ClusterRoleBinding;
use kube::ResourceExt;
use kube::api::Api;

const CHECK: &str = "static providers";

/// The bindings of static providers among all.
pub(super) fn among(bindings: &[ClusterRoleBinding]) -> Vec<&ClusterRoleBinding> {
    bindings.iter().filter(|b| b.name_any().starts_with(names::STATIC_PREFIX)).collect()
}

/// Beside an operator they are one too many.
pub(super) fn beside(statics: &[&ClusterRoleBinding]) -> Line {
    let names: Vec<_> = statics.iter().map(|b| b.name_any()).collect();
    let says = format!("installed beside the operator: {}; both serve the same Providers", names.join(", "));
    line(CHECK, Verdict::Warn, says)
}

/// Without one they do its work: whether each is up. Account and Deployment have one name.
pub(super) async fn alone(client: &Client, statics: &[&ClusterRoleBinding]) -> Line {
    let (mut up, mut down) = (Vec::new(), Vec::new());
    for account in statics.iter().flat_map(|b| b.subjects.iter().flatten()) {
        let namespace = account.namespace.as_deref().unwrap_or_default();
        let api: Api<Deployment> = Api::namespaced(client.clone(), namespace);
        let why = match api.get_opt(&account.name).await {
            Err(error) => Some(words(&error)),
            Ok(None) => Some("its Deployment is not there".into()),
            Ok(Some(live)) => Idle::of(&live).map(|idle| match idle {
                Idle::Scaled => "it is scaled to 0".into(),
                Idle::Absent | Idle::Unavailable => "no pod is available".into(),
            }),
        };
        let name = format!("{namespace}/{}", account.name);
        match why {
            None => up.push(name),
            Some(why) => down.push(format!("{name} ({why})")),
        }
    }
    if down.is_empty() {
        return line(CHECK, Verdict::Ok, list(up));
    }
    let says = format!("not at work: {}; `banlieue bootstrap provider` puts one back", list(down));
    line(CHECK, Verdict::Fail, says)
}
