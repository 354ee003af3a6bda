//! Before an installation.
use super::{Line, Verdict, line, unknown};
use crate::k8s::bootstrap::{self, ending, foreign, refuse_elsewhere};
use crate::k8s::client::Client;
use crate::k8s::crd::crds;
use crate::k8s::kinds;
use crate::k8s::manifests::install::{Install, Object};
use k8s_openapi::api::authorization::v1::SelfSubjectAccessReview;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{Api, ApiResource, DynamicObject, PostParams};
use kube::{Resource, ResourceExt};
use serde_json::json;
use std::collections::BTreeSet;

/// The oldest minor version of Kubernetes 1 that the live tests run on.
const OLDEST: u32 = 34;

/// Whether `install` would work here: the server, the person's rights, the namespace, other installations, the kinds.
pub async fn before(client: &Client, install: &Install, objects: &[Object]) -> Vec<Line> {
    let mut lines = vec![server(client).await, admission(client).await];
    lines.extend(rights(client, objects).await);
    lines.push(namespace(client, install.namespace()).await);
    lines.push(match refuse_elsewhere(client, install.namespace()).await {
        Ok(()) => line("other installation", Verdict::Ok, "there is none"),
        Err(failed) => line("other installation", Verdict::Fail, failed.to_string()),
    });
    lines.extend(of_our_names(client).await);
    lines
}

async fn server(client: &Client) -> Line {
    const CHECK: &str = "server";
    match client.apiserver_version().await {
        Err(error) => unknown(CHECK, &error),
        Ok(version) => {
            let minor: u32 = version.minor.trim_end_matches(|c: char| !c.is_ascii_digit()).parse().unwrap_or(0);
            let old = version.major == "1" && minor < OLDEST;
            let verdict = if old { Verdict::Fail } else { Verdict::Ok };
            let hint = if old { format!("; it has to be 1.{OLDEST} or newer") } else { String::new() };
            line(CHECK, verdict, format!("Kubernetes {}{hint}", version.git_version))
        }
    }
}

async fn admission(client: &Client) -> Line {
    const CHECK: &str = "admission policies";
    match client.list_api_group_resources("admissionregistration.k8s.io/v1").await {
        Err(error) => unknown(CHECK, &error),
        Ok(list) if list.resources.iter().any(|r| r.name == "validatingadmissionpolicies") => {
            line(CHECK, Verdict::Ok, "ValidatingAdmissionPolicy v1 is served")
        }
        Ok(_) => {
            line(CHECK, Verdict::Fail, "ValidatingAdmissionPolicy v1 is not served: nothing would limit the operator")
        }
    }
}

/// What the person may do, asked for each kind and verb that the installation needs.
async fn rights(client: &Client, objects: &[Object]) -> Vec<Line> {
    const CHECK: &str = "your rights";
    let mut asked = BTreeSet::new();
    for object in objects {
        for verb in ["get", "create", "patch"] {
            let kind = &object.resource;
            asked.insert((kind.group.clone(), kind.plural.clone(), object.namespace.clone(), verb));
        }
    }
    let (count, mut missing) = (asked.len(), Vec::new());
    for (group, plural, namespace, verb) in asked {
        match may(client, &group, &plural, namespace.as_deref(), verb).await {
            Err(error) => return vec![unknown(CHECK, &error)],
            Ok(true) => {}
            Ok(false) => missing.push(format!("{verb} {plural}")),
        }
    }
    let whole = if missing.is_empty() {
        line(CHECK, Verdict::Ok, format!("all {count} that are needed"))
    } else {
        line(CHECK, Verdict::Fail, format!("you may not {}; ask a cluster administrator", missing.join(", ")))
    };
    let grants = match may(client, "rbac.authorization.k8s.io", "clusterroles", None, "escalate").await {
        Err(error) => unknown("what you may grant", &error),
        Ok(true) => line("what you may grant", Verdict::Ok, "everything"),
        Ok(false) => line(
            "what you may grant",
            Verdict::Warn,
            "only what you hold yourself: the operator's rights must be among it",
        ),
    };
    vec![whole, grants]
}

async fn may(client: &Client, group: &str, plural: &str, namespace: Option<&str>, verb: &str) -> kube::Result<bool> {
    let kind = ApiResource::erase::<SelfSubjectAccessReview>(&());
    let attributes = json!({ "group": group, "resource": plural, "namespace": namespace, "verb": verb });
    let review = DynamicObject::new("", &kind).data(json!({ "spec": { "resourceAttributes": attributes } }));
    let answer = kinds::within(client, &kind, None).create(&PostParams::default(), &review).await?;
    Ok(answer.data["status"]["allowed"] == true)
}

async fn namespace(client: &Client, name: &str) -> Line {
    const CHECK: &str = "namespace";
    match bootstrap::namespace(client, name).await {
        Err(error) => unknown(CHECK, &error),
        Ok(None) => line(CHECK, Verdict::Ok, format!("{name} will be made")),
        Ok(Some(live)) => match ending(client, &live).await {
            Some(failed) => line(CHECK, Verdict::Fail, failed.to_string()),
            None => level(&live),
        },
    }
}

/// Whether what is in a namespace meets what will be asked of it.
fn level(live: &DynamicObject) -> Line {
    const CHECK: &str = "namespace";
    let name = live.name_any();
    match live.labels().get("pod-security.kubernetes.io/enforce").map(String::as_str) {
        Some("restricted") => line(CHECK, Verdict::Ok, format!("{name} is there, with Pod Security restricted")),
        level => {
            let level = level.unwrap_or("none");
            let says = format!(
                "{name} is there, with Pod Security {level}; it will be restricted: do its other pods meet that?"
            );
            line(CHECK, Verdict::Warn, says)
        }
    }
}

/// Kinds of our names: ours, and stored in versions that we know.
async fn of_our_names(client: &Client) -> Vec<Line> {
    const CHECK: &str = "kinds";
    let api: Api<CustomResourceDefinition> = Api::all(client.clone());
    let mut lines = Vec::new();
    for ours in crds() {
        let name = ours.name_any();
        lines.push(match api.get_opt(&name).await {
            Err(error) => unknown(CHECK, &error),
            Ok(None) => line(CHECK, Verdict::Ok, format!("{name} will be made")),
            Ok(Some(live)) => judge(&ours, &live),
        });
    }
    lines
}

fn judge(ours: &CustomResourceDefinition, live: &CustomResourceDefinition) -> Line {
    const CHECK: &str = "kinds";
    let name = ours.name_any();
    if live.meta().deletion_timestamp.is_some() {
        return line(CHECK, Verdict::Fail, format!("{name} is being deleted: wait until it is gone"));
    }
    if let Some(says) = foreign(ours, live) {
        return line(CHECK, Verdict::Fail, format!("{name} is there, and {says}"));
    }
    let known: Vec<_> = ours.spec.versions.iter().map(|v| v.name.as_str()).collect();
    let stored = live.status.as_ref().and_then(|s| s.stored_versions.clone()).unwrap_or_default();
    match stored.iter().find(|version| !known.contains(&version.as_str())) {
        Some(version) => line(
            CHECK,
            Verdict::Fail,
            format!("{name} has objects stored as {version}, which this version does not know"),
        ),
        None => line(CHECK, Verdict::Ok, format!("{name} is there, stored as {}", stored.join(", "))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kind_of_our_name_may_be_anybodys() {
        let ours = crds().remove(0);
        assert_eq!(judge(&ours, &ours).verdict, Verdict::Ok);
        let mut other = ours.clone();
        other.spec.names.kind = "Thing".into();
        assert_eq!(judge(&ours, &other).verdict, Verdict::Fail);
        let mut newer = ours.clone();
        newer.status = Some(Default::default());
        if let Some(status) = &mut newer.status {
            status.stored_versions = Some(vec!["v1alpha1".into(), "v9".into()]);
        }
        let found = judge(&ours, &newer);
        assert!(found.verdict == Verdict::Fail && found.message.contains("v9"), "{found:?}");
    }
}
