//! An installation that is there.
use super::held::held;
use super::parts::Parts;
use super::providers::phases;
use super::role::{Idle, role};
use super::statics;
use super::{Line, Verdict, line, list, unknown};
use crate::k8s::bootstrap::{self, elsewhere, ending};
use crate::k8s::client::Client;
use crate::k8s::crd::Provider;
use crate::k8s::fence;
use crate::k8s::kinds;
use crate::k8s::manifests::install::{Install, Object};
use crate::k8s::manifests::{labels, names};
use crate::k8s::stamp;
use k8s_openapi::api::admissionregistration::v1::ValidatingAdmissionPolicy;
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::rbac::v1::ClusterRoleBinding;
use kube::ResourceExt;
use kube::api::{Api, ApiResource, DynamicObject, ListParams};
use std::collections::BTreeSet;

/// What puts back what is missing.
const INSTALL: &str = "`banlieue bootstrap operator`";
/// The same, where there shall be no operator.
const WITHOUT: &str = "`kubectl apply -R -f deploy/controller/`";

/// How an installation is: its parts, their versions, the fence, the Deployments, leaked grants, the Providers and what holds them. `taken_over`
/// is the same API server, asked as the operator. Where there is none, or it is in another namespace, that is said, and what was left of one.
pub async fn installed(client: &Client, taken_over: &Client, install: &Install, objects: &[Object]) -> Vec<Line> {
    let namespace = install.namespace();
    let deployments: Api<Deployment> = Api::namespaced(client.clone(), namespace);
    let operator = deployments.get_opt(names::OPERATOR).await;
    // where it cannot be asked, nothing is said of its absence
    let mut idle = match &operator {
        Ok(Some(live)) => Idle::of(live),
        Ok(None) => Some(Idle::Absent),
        Err(_) => None,
    };
    let mut lines = Vec::new();
    if idle == Some(Idle::Absent) {
        match elsewhere(client, namespace).await {
            Ok(None) => {}
            Ok(Some(other)) => return vec![nothing_here(namespace, &other)],
            Err(failed) => {
                lines.push(line("other installation", Verdict::Fail, failed.to_string()));
                idle = None;
            }
        }
    }
    let parts = Parts::of(client, objects).await;
    let providers = Api::<Provider>::all(client.clone()).list(&ListParams::default()).await.map(|l| l.items);
    let bindings = Api::<ClusterRoleBinding>::all(client.clone()).list(&ListParams::default()).await.map(|l| l.items);
    let statics = statics::among(bindings.as_deref().unwrap_or_default());

    lines.extend(ending_namespace(client, namespace).await);
    let without = parts.as_ref().ok().filter(|_| idle == Some(Idle::Absent));
    if let Some(parts) = without.filter(|parts| parts.are_none() && statics.is_empty()) {
        lines.extend(nothing(parts.none(), &bindings, providers));
        return lines;
    }
    let alone = without.is_some_and(|parts| parts.are_without_operator() && !statics.is_empty());
    let todo = if alone { WITHOUT } else { INSTALL };
    match &parts {
        Ok(parts) => lines.extend(parts.lines(!alone, todo)),
        Err(error) => lines.push(unknown("parts", error)),
    }
    lines.push(types(client).await);
    lines.push(if alone {
        line(names::OPERATOR, Verdict::Ok, "there is none, and static providers do without")
    } else {
        role(client, namespace, names::OPERATOR, &operator, todo).await
    });
    let controller = deployments.get_opt(names::CONTROLLER).await;
    lines.push(role(client, namespace, names::CONTROLLER, &controller, todo).await);
    lines.push(if alone {
        line("fence", Verdict::Ok, "there is no operator to fence in")
    } else {
        probes(taken_over, namespace, providers.iter().flatten().next()).await
    });
    let providers = match providers {
        Ok(providers) => providers,
        Err(error) => return [lines, vec![unknown("Providers", &error)]].concat(),
    };
    lines.push(grants(&bindings, &providers));
    if alone {
        lines.push(statics::alone(client, &statics).await);
    } else if !statics.is_empty() && bindings.iter().flatten().any(|b| b.name_any() == names::OPERATOR) {
        lines.push(statics::beside(&statics));
    }
    lines.push(held(&providers, idle));
    lines.push(phases(&providers, alone));
    lines
}

/// What keeps a namespace that is being deleted: nothing comes back in there.
async fn ending_namespace(client: &Client, name: &str) -> Option<Line> {
    const CHECK: &str = "namespace";
    match bootstrap::namespace(client, name).await {
        Ok(live) => Some(line(CHECK, Verdict::Fail, ending(client, &live?).await?.to_string())),
        Err(error) => Some(unknown(CHECK, &error)),
    }
}

/// Where nothing is installed: that, and what was left of an installation that was. Without the kinds there are no Providers.
fn nothing(
    none: Line,
    bindings: &kube::Result<Vec<ClusterRoleBinding>>,
    providers: kube::Result<Vec<Provider>>,
) -> Vec<Line> {
    let providers = match providers {
        Ok(providers) => providers,
        Err(kube::Error::Api(status)) if status.code == 404 => Vec::new(),
        Err(error) => return vec![none, unknown("Providers", &error)],
    };
    let names = |p: &Provider| format!("{}/{}", p.namespace().unwrap_or_default(), p.name_any());
    let unserved = format!("nobody serves {}", list(providers.iter().map(names).collect()));
    let unserved = line("Providers", if providers.is_empty() { Verdict::Ok } else { Verdict::Warn }, unserved);
    let left = [grants(bindings, &providers), held(&providers, Some(Idle::Absent)), unserved];
    let left = left.into_iter().filter(|line| line.verdict != Verdict::Ok);
    std::iter::once(none).chain(left).collect()
}

fn nothing_here(namespace: &str, other: &str) -> Line {
    let says = format!("there is none in the namespace {namespace}, and one in {other}: give --namespace {other}");
    line("installation", Verdict::Fail, says)
}

/// Whether the API server has anything to say of the policies' types. They are read as any object is: the program is the smaller for it.
async fn types(client: &Client) -> Line {
    const CHECK: &str = "policies";
    let kind = ApiResource::erase::<ValidatingAdmissionPolicy>(&());
    let ours = ListParams::default().labels(labels::OURS);
    match kinds::within(client, &kind, None).list(&ours).await {
        Err(error) => unknown(CHECK, &error),
        Ok(list) => {
            let names: Vec<_> = list.iter().filter(|p| is_warned_of(p)).map(ResourceExt::name_any).collect();
            if names.is_empty() {
                line(CHECK, Verdict::Ok, format!("{}, without a warning", list.items.len()))
            } else {
                line(CHECK, Verdict::Fail, format!("the API server warns of {}", names.join(", ")))
            }
        }
    }
}

fn is_warned_of(policy: &DynamicObject) -> bool {
    let warnings = policy.data["status"]["typeChecking"]["expressionWarnings"].as_array();
    warnings.is_some_and(|w| !w.is_empty())
}

/// The operator's own probes, under its own name.
async fn probes(taken_over: &Client, namespace: &str, provider: Option<&Provider>) -> Line {
    const CHECK: &str = "fence";
    let open = fence::open(taken_over, namespace, provider).await;
    match open.as_slice() {
        [] => line(CHECK, Verdict::Ok, "every policy denies what it must"),
        [first, ..] if first.contains("impersonate") => line(
            CHECK,
            Verdict::Warn,
            "not probed: you may not impersonate the operator; its /readyz says how the fence is",
        ),
        open => line(CHECK, Verdict::Fail, format!("{}; run `banlieue bootstrap operator`", open.join("; "))),
    }
}

/// Grants whose Provider is gone.
fn grants(bindings: &kube::Result<Vec<ClusterRoleBinding>>, providers: &[Provider]) -> Line {
    const CHECK: &str = "grants";
    let all = match bindings {
        Err(error) => return unknown(CHECK, error),
        Ok(all) => all,
    };
    let uids: BTreeSet<_> = providers.iter().filter_map(|p| p.metadata.uid.as_deref()).collect();
    let minted = all.iter().filter_map(|b| Some((b, stamp::uid(&b.metadata)?)));
    let leaked: Vec<_> = minted.filter(|(_, uid)| !uids.contains(uid)).map(|(b, _)| b.name_any()).collect();
    if leaked.is_empty() {
        return line(CHECK, Verdict::Ok, "none is left of a Provider that is gone");
    }
    let says = format!("left of Providers that are gone: {}; a running operator removes them", list(leaked));
    line(CHECK, Verdict::Fail, says)
}

#[cfg(test)]
mod tests {
    use super::*;
    use k8s_openapi::api::admissionregistration::v1::{
        ExpressionWarning, TypeChecking, ValidatingAdmissionPolicyStatus as Status,
    };

    #[test]
    fn a_policy_that_the_api_server_warns_of_is_seen() {
        let policy = |warnings: Option<Vec<ExpressionWarning>>| {
            let type_checking = Some(TypeChecking { expression_warnings: warnings });
            let status = Some(Status { type_checking, ..Default::default() });
            let policy = ValidatingAdmissionPolicy { status, ..Default::default() };
            serde_json::from_value(serde_json::to_value(&policy).unwrap()).unwrap()
        };
        assert!(is_warned_of(&policy(Some(vec![ExpressionWarning::default()]))));
        assert!(!is_warned_of(&policy(Some(vec![]))) && !is_warned_of(&policy(None)));
    }
}
