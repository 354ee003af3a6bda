//! Failure domains out of the inventory: one per (datacenter, cluster). Pure, and blind to the order of the answer.
use super::properties::Object;
use crate::backends::Inventory;
use crate::backends::label::{name, shown};
use crate::k8s::crd::FailureDomain;
use std::collections::{BTreeMap, BTreeSet};

/// How many datastores and networks of a domain the API takes.
const MOST_NAMES: usize = 64;
/// How deep folders may nest before it must be a loop.
const MOST_FOLDERS: usize = 64;

/// The failure domains, and what is wrong with them.
pub(super) fn domains(objects: Vec<Object>) -> Inventory {
    let mut problems: BTreeSet<String> = objects.iter().flat_map(unread).collect();
    let by_id: BTreeMap<&str, &Object> = objects.iter().map(|o| (o.id.as_str(), o)).collect();
    let mut clusters: Vec<&Object> = by_id.values().copied().filter(|o| o.kind == "ClusterComputeResource").collect();
    // By age: of two of the same name the older one keeps it, so that a newcomer renames nothing.
    clusters.sort_by_key(|o| (o.id.len(), o.id.clone()));

    let mut domains = BTreeMap::new();
    for cluster in clusters.into_iter().filter(|c| !c.name.is_empty()) {
        let Some(datacenter) = datacenter(cluster, &by_id) else {
            let name = shown(&cluster.name);
            problems.insert(format!("the cluster {name} ({}) lies in no readable datacenter", cluster.id));
            continue;
        };
        let mut key = name(&[&datacenter.name, &cluster.name], None);
        if domains.contains_key(&key) {
            let (cluster_name, datacenter_name) = (shown(&cluster.name), shown(&datacenter.name));
            problems.insert(format!(
                "the name {key} is taken: {cluster_name} ({}) of {datacenter_name} has a suffix",
                cluster.id
            ));
            key = name(&[&datacenter.name, &cluster.name], Some(&cluster.id));
        }
        let domain = FailureDomain {
            name: key.clone(),
            datacenter: Some(shown(&datacenter.name)),
            cluster: Some(shown(&cluster.name)),
            host: None,
            datastores: names(&cluster.datastores, &by_id),
            networks: names(&cluster.networks, &by_id),
        };
        domains.insert(key, domain);
    }
    Inventory { domains: domains.into_values().collect(), problems: problems.into_iter().collect() }
}

/// The properties of an object that were not handed out.
fn unread(object: &Object) -> impl Iterator<Item = String> {
    object.missing.iter().map(|(path, fault)| {
        let name = if object.name.is_empty() { "of unknown name".into() } else { shown(&object.name) };
        format!("{} {name} ({}): {path} could not be read ({fault})", object.kind, object.id)
    })
}

fn datacenter<'a>(of: &'a Object, by_id: &BTreeMap<&str, &'a Object>) -> Option<&'a Object> {
    let mut here = of;
    for _ in 0..MOST_FOLDERS {
        if here.kind == "Datacenter" {
            return Some(here).filter(|d| !d.name.is_empty());
        }
        here = by_id.get(here.parent.as_str())?;
    }
    None
}

fn names(ids: &[String], by_id: &BTreeMap<&str, &Object>) -> Vec<String> {
    let names = ids.iter().filter_map(|id| by_id.get(id.as_str())).map(|o| shown(&o.name)).filter(|n| !n.is_empty());
    names.collect::<BTreeSet<_>>().into_iter().take(MOST_NAMES).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn object(kind: &str, id: &str, name: &str, parent: &str) -> Object {
        Object { kind: kind.into(), id: id.into(), name: name.into(), parent: parent.into(), ..Default::default() }
    }

    fn lab() -> Vec<Object> {
        let mut east = object("ClusterComputeResource", "domain-c8", "East_1", "group-h4");
        east.datastores = vec!["datastore-2".into(), "datastore-1".into(), "datastore-9".into()];
        vec![
            object("Datacenter", "datacenter-2", "Lab", "group-d1"),
            object("Folder", "group-h4", "host", "datacenter-2"),
            east,
            object("ClusterComputeResource", "domain-c10", "east 1", "group-h4"),
            object("ClusterComputeResource", "domain-c11", "日本", "group-h4"),
            object("ClusterComputeResource", "domain-c12", "lost", "group-x"),
            object("Datastore", "datastore-1", "b", ""),
            object("Datastore", "datastore-2", "a", ""),
        ]
    }

    #[test]
    fn one_domain_per_cluster_with_stable_names() {
        let read = domains(lab());
        let east = read.domains.iter().find(|d| d.name == "lab-east-1").unwrap();
        assert_eq!(east.cluster.as_deref(), Some("East_1"), "the older of two keeps the plain name");
        assert_eq!(east.datastores, ["a", "b"], "sorted; the one that was not read is left out");
        assert_eq!(read.domains.len(), 3);
        assert!(read.domains.is_sorted_by_key(|d| d.name.clone()));
        assert_eq!(read.problems.len(), 2, "{:?}", read.problems);
        assert!(read.problems.iter().all(|p| p.contains("domain-c10") || p.contains("domain-c12")));
    }

    #[test]
    fn the_order_of_the_answer_does_not_show() {
        let mut turned = lab();
        turned.reverse();
        assert_eq!(domains(turned), domains(lab()));
    }

    #[test]
    fn a_property_that_is_refused_is_named_and_the_rest_kept() {
        let mut objects = lab();
        objects[2].missing.push(("network".into(), "NoPermission".into()));
        let read = domains(objects);
        assert!(read.problems.iter().any(|p| p.contains("East_1") && p.contains("network")), "{:?}", read.problems);
        assert_eq!(read.domains.len(), 3);
    }

    #[test]
    fn folders_in_a_loop_end() {
        let mut objects = lab();
        objects[1].parent = "group-h4".into();
        assert_eq!(domains(objects).domains, []);
    }
}
