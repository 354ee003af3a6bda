//! What the pods may do in the Provider's namespace: one Secret, one status, one Lease, all by name (I11).
use super::{Workload, names};
use crate::fsm::Part;
use k8s_openapi::api::rbac::v1::{PolicyRule, Role};

/// The Role. Only the rule on Events has no names: an Event's name is not known beforehand.
pub fn build(workload: &Workload<'_>) -> Role {
    let connection = &workload.provider.spec.connection;
    let ca = connection.ca_bundle.as_ref();
    let mut secrets = vec![connection.credentials_ref.name.clone()];
    secrets.extend(ca.and_then(|c| c.secret_ref.as_ref()).map(|r| r.name.clone()));
    secrets.sort();
    secrets.dedup();
    let provider = vec![workload.provider_name().to_owned()];
    let lease = vec![names::lease(workload.home(), workload.provider_name())];
    let mut rules = vec![rule("", "secrets", &["get"], secrets)];
    if let Some(map) = ca.and_then(|c| c.config_map_ref.as_ref()) {
        rules.push(rule("", "configmaps", &["get"], vec![map.name.clone()]));
    }
    rules.extend([
        rule(names::GROUP, "providers", &["get", "list", "watch"], provider.clone()),
        rule(names::GROUP, "providers/status", &["patch"], provider),
        rule("coordination.k8s.io", "leases", &["get", "create", "update"], lease),
        events(),
    ]);
    Role { metadata: workload.metadata(Part::Role), rules: Some(rules) }
}

/// A rule on named objects. An empty list of names would mean *every* object, so every caller gives at least one.
fn rule(group: &str, resource: &str, verbs: &[&str], names: Vec<String>) -> PolicyRule {
    PolicyRule {
        api_groups: Some(vec![group.into()]),
        resources: Some(vec![resource.into()]),
        verbs: verbs.iter().map(|&v| v.into()).collect(),
        resource_names: Some(names),
        ..Default::default()
    }
}

fn events() -> PolicyRule {
    PolicyRule {
        api_groups: Some(vec!["events.k8s.io".into()]),
        resources: Some(vec!["events".into()]),
        verbs: vec!["create".into()],
        ..Default::default()
    }
}
