//! [`Identity`]: what somebody may do, and the policies that limit it, all from what the installer builds.
use anyhow::Result;
use banlieue::k8s::crd::Backend;
use banlieue::k8s::manifests::install::Object;
use banlieue::k8s::manifests::names;
use banlieue_e2e::rights::Right;
use banlieue_suite::grants::{self, Rights};
use serde_json::Value;
use std::sync::LazyLock;

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
    pub(crate) rights: Rights,
    /// The policies on it.
    pub(crate) policies: Vec<Policy>,
    /// Whether its rights end with one namespace.
    pub(crate) at_home: bool,
}

fn texts(list: &Value) -> Vec<String> {
    list.as_array().into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect()
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
pub(crate) static POD: LazyLock<Rights> = LazyLock::new(|| grants::pod().expect("a Role is minted"));

/// Everybody of ours.
pub(crate) fn all() -> Result<[Identity; 4]> {
    let install = grants::install()?;
    let fence = policies(&install.objects()?, &install.operator());
    let who = |name, rights, policies, at_home| Identity { name, rights, policies, at_home };
    Ok([
        who("operator", grants::operator()?, fence, false),
        who("controller", grants::controller()?, vec![], false),
        who("provider pod", POD.clone(), vec![], true),
        who("static provider", grants::standalone(names::DEFAULT_NAMESPACE, Backend::Vsphere)?, vec![], true),
    ])
}
