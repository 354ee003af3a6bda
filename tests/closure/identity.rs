//! [`Identity`]: what somebody may do, and the policies that limit it, all from what the installer builds.
use banlieue::fsm::Part;
use banlieue::k8s::crd::Backend;
use banlieue::k8s::manifests::install::{Install, Object};
use banlieue::k8s::manifests::{Workload, five, names};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::sync::LazyLock;

/// A verb on a kind, or on one object of it.
#[derive(Clone, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(crate) struct Right {
    /// The API group; empty for the core.
    pub(crate) group: String,
    /// The plural, with its subresource after a slash.
    pub(crate) resource: String,
    /// The verb.
    pub(crate) verb: String,
    /// Whether it is on named objects alone.
    pub(crate) named: bool,
}

impl Right {
    /// On every object of a kind.
    pub(crate) fn new(verb: &str, group: &str, resource: &str) -> Self {
        Self { group: group.into(), resource: resource.into(), verb: verb.into(), named: false }
    }

    /// Whether who holds this one holds the other.
    pub(crate) fn covers(&self, other: &Self) -> bool {
        let kind = |right: &Self| (right.group.clone(), right.resource.clone(), right.verb.clone());
        kind(self) == kind(other) && (!self.named || other.named)
    }
}

/// A policy that is about one identity's writes.
#[derive(Clone)]
pub(crate) struct Policy {
    /// Its name.
    pub(crate) name: String,
    group: String,
    resources: Vec<String>,
    operations: Vec<String>,
}

impl Policy {
    /// Whether it sees this write.
    pub(crate) fn sees(&self, right: &Right) -> bool {
        // a patch creates what is not there
        let operations: &[&str] = match right.verb.as_str() {
            "create" => &["CREATE"],
            "patch" if !right.resource.contains('/') => &["CREATE", "UPDATE"],
            "patch" | "update" => &["UPDATE"],
            "delete" => &["DELETE"],
            _ => return false,
        };
        let kind = self.group == right.group && self.resources.contains(&right.resource);
        kind && operations.iter().all(|operation| self.operations.iter().any(|o| o == operation))
    }
}

/// Who.
#[derive(Clone)]
pub(crate) struct Identity {
    /// As the table calls it.
    pub(crate) name: &'static str,
    /// What it may do.
    pub(crate) rights: BTreeSet<Right>,
    /// The policies on it.
    pub(crate) policies: Vec<Policy>,
    /// Whether its rights end with one namespace.
    pub(crate) at_home: bool,
}

fn texts(list: &Value) -> Vec<String> {
    list.as_array().into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect()
}

fn rights(rules: &Value) -> BTreeSet<Right> {
    let mut all = BTreeSet::new();
    for rule in rules.as_array().into_iter().flatten() {
        for group in texts(&rule["apiGroups"]) {
            for resource in texts(&rule["resources"]) {
                let named = !texts(&rule["resourceNames"]).is_empty();
                all.extend(texts(&rule["verbs"]).iter().map(|v| Right { named, ..Right::new(v, &group, &resource) }));
            }
        }
    }
    all
}

fn of_roles(objects: &[Object], name: &str) -> BTreeSet<Right> {
    let roles = objects.iter().filter(|o| o.name == name && o.resource.kind.ends_with("Role"));
    roles.flat_map(|role| rights(&role.body["rules"])).collect()
}

/// The policies in force that are about this user alone, and deny.
fn policies(objects: &[Object], user: &str) -> Vec<Policy> {
    let bound = |name: &str| {
        objects.iter().any(|o| {
            let spec = &o.body["spec"];
            o.resource.kind == "ValidatingAdmissionPolicyBinding"
                && spec["policyName"] == name
                && texts(&spec["validationActions"]).contains(&"Deny".to_owned())
        })
    };
    let mut found = Vec::new();
    for object in objects.iter().filter(|o| o.resource.kind == "ValidatingAdmissionPolicy" && bound(&o.name)) {
        let spec = &object.body["spec"];
        let conditions = spec["matchConditions"].as_array().into_iter().flatten();
        let mut conditions: Vec<_> = conditions.filter_map(|c| c["expression"].as_str()).collect();
        let about = |condition: &&str| **condition == format!("request.userInfo.username == '{user}'");
        if !conditions.iter().any(about) || spec["failurePolicy"] != "Fail" {
            continue;
        }
        conditions.retain(|c| !about(c));
        // the one other condition there is: on which subresource
        let part = conditions.iter().map(|c| {
            let part = c.strip_prefix("request.?subResource.orValue('') == '").and_then(|c| c.strip_suffix('\''));
            part.unwrap_or_else(|| panic!("{}: what does {c:?} leave out?", object.name))
        });
        let part: Vec<_> = part.collect();
        let asked = |r: &String| part.iter().all(|part| r.split_once('/').map_or("", |(_, sub)| sub) == *part);
        for rule in spec["matchConstraints"]["resourceRules"].as_array().into_iter().flatten() {
            let [group] = &texts(&rule["apiGroups"])[..] else { panic!("{}: one group a rule", object.name) };
            let (mut resources, operations) = (texts(&rule["resources"]), texts(&rule["operations"]));
            resources.retain(asked);
            found.push(Policy { name: object.name.clone(), group: group.clone(), resources, operations });
        }
    }
    found
}

/// The pods of a Provider that uses all it can.
pub(crate) static POD: LazyLock<BTreeSet<Right>> = LazyLock::new(pod);

fn pod() -> BTreeSet<Right> {
    let connection = json!({ "endpoint": "https://h/", "credentialsRef": { "name": "s" }, "caBundle": { "configMapRef": { "name": "ca" } } });
    let provider = json!({
        "apiVersion": "banlieue.io/v1alpha1", "kind": "Provider", "metadata": { "namespace": "n", "name": "p", "uid": "u" },
        "spec": { "providerClassRef": { "name": "c" }, "connection": connection },
    });
    let class = json!({
        "apiVersion": "banlieue.io/v1alpha1", "kind": "ProviderClass", "metadata": { "name": "c" },
        "spec": { "backend": "vsphere", "image": { "repository": "r" } },
    });
    let provider = serde_json::from_value(provider).expect("a Provider");
    let class = serde_json::from_value(class).expect("a class");
    let workload = Workload { provider: &provider, class: &class, install_namespace: "i", account_uid: Some("a") };
    let five = five(&workload).expect("five objects");
    let role = five.iter().find(|m| m.object.part == Part::Role).expect("a Role");
    let mut all = rights(&role.body["rules"]);
    all.extend(of_roles(&objects(), &names::shared(Backend::Vsphere)));
    all
}

fn install() -> Install {
    Install::new(names::DEFAULT_NAMESPACE, "0.1.0", "localhost").expect("the defaults can be used")
}

fn objects() -> Vec<Object> {
    install().objects().expect("it can be written")
}

/// Everybody of ours.
pub(crate) fn all() -> [Identity; 4] {
    let objects = objects();
    let standalone = install().provider(Backend::Vsphere).expect("it can be written");
    let fence = policies(&objects, &install().operator());
    [
        Identity { name: "operator", rights: of_roles(&objects, names::OPERATOR), policies: fence, at_home: false },
        Identity {
            name: "controller",
            rights: of_roles(&objects, names::CONTROLLER),
            policies: vec![],
            at_home: false,
        },
        Identity { name: "provider pod", rights: POD.clone(), policies: vec![], at_home: true },
        Identity {
            name: "static provider",
            rights: of_roles(&standalone, &names::shared(Backend::Vsphere)),
            policies: vec![],
            at_home: true,
        },
    ]
}
