//! Failure domains: one per node. Pure, and blind to the order of the answers.
use crate::backends::Inventory;
use crate::backends::label::{name, shown};
use crate::k8s::crd::FailureDomain;
use serde::Deserialize;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// How many storages of a node the API takes.
const MOST_NAMES: usize = 64;

/// An entry of `/cluster/status`: the cluster itself, or a node.
#[derive(Debug, Deserialize)]
pub(super) struct Part {
    #[serde(rename = "type")]
    kind: String,
    #[serde(default)]
    name: String,
    #[serde(default)]
    quorate: Option<Value>,
}

/// An entry of `/nodes`.
#[derive(Debug, Deserialize)]
pub(super) struct Node {
    node: String,
    #[serde(default)]
    status: String,
}

/// An entry of `/cluster/resources?type=storage`.
#[derive(Debug, Deserialize)]
pub(super) struct Storage {
    #[serde(default)]
    node: String,
    #[serde(default)]
    storage: String,
}

/// The failure domains, and what is wrong with them; `problems` holds what could not be read.
pub(super) fn domains(nodes: &[Node], parts: &[Part], storages: &[Storage], problems: Vec<String>) -> Inventory {
    let mut problems: BTreeSet<String> = problems.into_iter().collect();
    let cluster = parts.iter().find(|part| part.kind == "cluster");
    if cluster.and_then(|c| c.quorate.as_ref()).is_some_and(no) {
        problems.insert("the cluster has no quorum".into());
    }
    if nodes.is_empty() {
        problems.insert(
            "the token sees no node; give the role PVEAuditor on / to the token itself: with privilege separation it has \
             none of its user's rights"
                .into(),
        );
    }
    let mut domains = BTreeMap::new();
    let nodes: BTreeMap<&str, &Node> = nodes.iter().map(|node| (node.node.as_str(), node)).collect();
    for (node, Node { status, .. }) in nodes {
        if status != "online" {
            let status = if status.is_empty() { "in no known state".into() } else { shown(status) };
            problems.insert(format!("the node {} is {status}", shown(node)));
        }
        let storages = storages.iter().filter(|s| s.node == node && !s.storage.is_empty()).map(|s| shown(&s.storage));
        let domain = |name: String| FailureDomain {
            name,
            cluster: cluster.map(|c| shown(&c.name)).filter(|name| !name.is_empty()),
            host: Some(shown(node)),
            datastores: storages.collect::<BTreeSet<_>>().into_iter().take(MOST_NAMES).collect(),
            ..Default::default()
        };
        let plain = name(&[node], None);
        let key = if domains.contains_key(&plain) { name(&[node], Some(node)) } else { plain };
        domains.insert(key.clone(), domain(key));
    }
    Inventory { domains: domains.into_values().collect(), problems: problems.into_iter().collect() }
}

/// Whether a flag says no: Perl writes it as a number or as a text.
fn no(flag: &Value) -> bool {
    matches!(flag, Value::Bool(false)) || flag.as_f64() == Some(0.0) || matches!(flag.as_str(), Some("0" | ""))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde::de::DeserializeOwned;
    use serde_json::json;

    fn read<T: DeserializeOwned>(value: Value) -> Vec<T> {
        serde_json::from_value(value).unwrap()
    }

    fn lab(quorate: Value, second: &str) -> Inventory {
        let nodes =
            [json!({"node": "pve2", "status": second}), json!({"node": "pve1", "status": "online", "cpu": 0.1})];
        let parts = json!([
            {"type": "node", "name": "pve1", "online": 1}, {"type": "cluster", "name": "lab", "quorate": quorate},
        ]);
        let storages = json!([
            {"node": "pve1", "storage": "local-lvm"}, {"node": "pve1", "storage": "ceph", "shared": 1},
            {"node": "pve2", "storage": "ceph"}, {"node": "pve9", "storage": "gone"}, {"type": "storage"},
        ]);
        domains(&read(json!(nodes)), &read(parts), &read(storages), vec![])
    }

    #[test]
    fn one_domain_per_node() {
        let read = lab(json!(1), "online");
        assert_eq!(read.problems, [""; 0]);
        let domain = |name: &str, datastores: &[&str]| FailureDomain {
            name: name.into(),
            cluster: Some("lab".into()),
            host: Some(name.into()),
            datastores: datastores.iter().map(|d| (*d).to_owned()).collect(),
            ..Default::default()
        };
        assert_eq!(read.domains, [domain("pve1", &["ceph", "local-lvm"]), domain("pve2", &["ceph"])]);
    }

    #[test]
    fn a_node_that_is_away_stays_and_is_named() {
        for zero in [json!(0), json!("0"), json!(false)] {
            let read = lab(zero, "offline");
            assert_eq!(read.problems, ["the cluster has no quorum", "the node pve2 is offline"]);
            assert_eq!(read.domains.len(), 2);
        }
    }

    #[test]
    fn a_token_without_rights_is_told_so() {
        let read = domains(&[], &[], &[], vec![]);
        assert!(read.problems[0].contains("PVEAuditor"), "{:?}", read.problems);
    }
}
