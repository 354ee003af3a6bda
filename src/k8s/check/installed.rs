//! An installation that is there.
use super::held::held;
use super::{Line, Verdict, line, list, unknown};
use crate::fsm::Phase;
use crate::k8s::bootstrap::elsewhere;
use crate::k8s::client::Client;
use crate::k8s::crd::Provider;
use crate::k8s::fence;
use crate::k8s::kinds;
use crate::k8s::manifests::install::{Install, Object, Stage};
use crate::k8s::manifests::names;
use crate::k8s::stamp;
use k8s_openapi::api::admissionregistration::v1::ValidatingAdmissionPolicy;
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::rbac::v1::ClusterRoleBinding;
use kube::ResourceExt;
use kube::api::{Api, ListParams};
use std::collections::{BTreeMap, BTreeSet};

/// How an installation is: its parts, their versions, the fence, the Deployments, leaked grants, the Providers and what holds them. `taken_over`
/// is the same API server, asked as the operator. Where it is in another namespace, that alone is said.
pub async fn installed(client: &Client, taken_over: &Client, install: &Install, objects: &[Object]) -> Vec<Line> {
    let deployments: Api<Deployment> = Api::namespaced(client.clone(), install.namespace());
    let operator = deployments.get_opt(names::OPERATOR).await;
    // where it cannot be asked, nothing is said of its absence
    let mut there = !matches!(operator, Ok(None));
    let mut lines = Vec::new();
    if !there {
        match elsewhere(client, install.namespace()).await {
            Ok(None) => {}
            Ok(Some(other)) => return vec![nothing_here(install.namespace(), &other)],
            Err(failed) => {
                lines.push(line("other installation", Verdict::Fail, failed.to_string()));
                there = true;
            }
        }
    }
    lines.extend(parts(client, objects).await);
    lines.push(types(client).await);
    lines.push(deployment(install.namespace(), names::OPERATOR, operator));
    let controller = deployments.get_opt(names::CONTROLLER).await;
    lines.push(deployment(install.namespace(), names::CONTROLLER, controller));
    let api: Api<Provider> = Api::all(client.clone());
    let providers = match api.list(&ListParams::default()).await {
        Ok(list) => list.items,
        Err(error) => return [lines, vec![unknown("Providers", &error)]].concat(),
    };
    lines.push(probes(taken_over, install.namespace(), providers.first()).await);
    lines.extend(grants(client, &providers).await);
    lines.push(held(&providers, there));
    lines.push(phases(&providers));
    lines
}

fn nothing_here(namespace: &str, other: &str) -> Line {
    let says = format!("there is none in the namespace {namespace}, and one in {other}: give --namespace {other}");
    line("installation", Verdict::Fail, says)
}

/// Whether every object is there, and of which version.
async fn parts(client: &Client, objects: &[Object]) -> Vec<Line> {
    let (mut missing, mut versions) = (Vec::new(), BTreeSet::new());
    for object in objects.iter().filter(|o| o.stage != Stage::Classes) {
        let api = kinds::within(client, &object.resource, object.namespace.as_deref());
        match api.get_metadata_opt(&object.name).await {
            Err(error) => return vec![unknown("parts", &error)],
            Ok(None) => missing.push(object.to_string()),
            Ok(Some(live)) => versions.extend(live.labels().get("app.kubernetes.io/version").cloned()),
        }
    }
    let whole = if missing.is_empty() {
        line("parts", Verdict::Ok, "all are there")
    } else {
        let says = format!("missing: {}; run `banlieue bootstrap operator`", list(missing));
        line("parts", Verdict::Fail, says)
    };
    let versions: Vec<_> = versions.into_iter().collect();
    let verdict = if versions.len() > 1 { Verdict::Warn } else { Verdict::Ok };
    vec![whole, line("versions", verdict, versions.join(", "))]
}

/// Whether the API server has anything to say of the policies' types.
async fn types(client: &Client) -> Line {
    const CHECK: &str = "policies";
    let api: Api<ValidatingAdmissionPolicy> = Api::all(client.clone());
    let ours = ListParams::default().labels("app.kubernetes.io/part-of=banlieue");
    match api.list(&ours).await {
        Err(error) => unknown(CHECK, &error),
        Ok(list) => {
            let warned = list.iter().filter(|p| {
                let found = p.status.as_ref().and_then(|s| s.type_checking.as_ref());
                found.and_then(|t| t.expression_warnings.as_ref()).is_some_and(|w| !w.is_empty())
            });
            let names: Vec<_> = warned.map(ResourceExt::name_any).collect();
            if names.is_empty() {
                line(CHECK, Verdict::Ok, format!("{}, without a warning", list.items.len()))
            } else {
                line(CHECK, Verdict::Fail, format!("the API server warns of {}", names.join(", ")))
            }
        }
    }
}

fn deployment(namespace: &str, name: &'static str, live: kube::Result<Option<Deployment>>) -> Line {
    match live {
        Err(error) => unknown(name, &error),
        Ok(None) => line(name, Verdict::Fail, format!("it is not in {namespace}; run `banlieue bootstrap operator`")),
        Ok(Some(live)) => {
            let (wanted, status) = (live.spec.replicas.unwrap_or(1), live.status.unwrap_or_default());
            let available = status.available_replicas.unwrap_or(0);
            let containers = live.spec.template.spec.map(|s| s.containers).unwrap_or_default();
            let image = containers.into_iter().find_map(|c| c.image).unwrap_or_default();
            let verdict = if available >= wanted { Verdict::Ok } else { Verdict::Fail };
            line(name, verdict, format!("{available} of {wanted} pods available, {image}"))
        }
    }
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

/// Grants whose Provider is gone, and static installations beside an operator.
async fn grants(client: &Client, providers: &[Provider]) -> Vec<Line> {
    const CHECK: &str = "grants";
    let api: Api<ClusterRoleBinding> = Api::all(client.clone());
    let all = match api.list(&ListParams::default()).await {
        Err(error) => return vec![unknown(CHECK, &error)],
        Ok(list) => list.items,
    };
    let uids: BTreeSet<_> = providers.iter().filter_map(|p| p.metadata.uid.as_deref()).collect();
    let minted = all.iter().filter_map(|b| Some((b, stamp::uid(&b.metadata)?)));
    let leaked: Vec<_> = minted.filter(|(_, uid)| !uids.contains(uid)).map(|(b, _)| b.name_any()).collect();
    let statics: Vec<_> = all.iter().map(ResourceExt::name_any).filter(|n| n.starts_with("banlieue-static-")).collect();
    let mut lines = vec![if leaked.is_empty() {
        line(CHECK, Verdict::Ok, "none is left of a Provider that is gone")
    } else {
        let says = format!("left of Providers that are gone: {}; a running operator removes them", list(leaked));
        line(CHECK, Verdict::Fail, says)
    }];
    let operator = all.iter().any(|b| b.name_any() == names::OPERATOR);
    if operator && !statics.is_empty() {
        let says = format!("installed beside the operator: {}; both serve the same Providers", statics.join(", "));
        lines.push(line("static providers", Verdict::Warn, says));
    }
    lines
}

fn phases(providers: &[Provider]) -> Line {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for provider in providers {
        let workload = provider.status.as_ref().and_then(|s| s.workload.as_ref());
        *counts.entry(workload.map_or("without a phase", |w| w.phase.as_str())).or_insert(0) += 1;
    }
    let verdict = if counts.contains_key(Phase::Pending.as_str()) { Verdict::Warn } else { Verdict::Ok };
    let told: Vec<_> = counts.iter().map(|(phase, count)| format!("{count} {phase}")).collect();
    line("Providers", verdict, if told.is_empty() { "none".into() } else { told.join(", ") })
}
