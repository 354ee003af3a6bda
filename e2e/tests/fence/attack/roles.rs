//! On Roles: each rule is tried wider than the table has it.
use super::{Attack, By, Write, change, create_but, hands_off};
use crate::scene::Scene;
use banlieue::fsm::Part::Role;
use serde_json::{Value, json};

fn rule(group: &str, resource: &str, verbs: &[&str], names: Option<&[&str]>) -> Value {
    let mut rule = json!({ "apiGroups": [group], "resources": [resource], "verbs": verbs });
    if let Some(names) = names {
        rule["resourceNames"] = json!(names);
    }
    rule
}

pub(super) fn attacks(scene: &Scene) -> Vec<Attack> {
    let (rbac, leases) = ("rbac.authorization.k8s.io", "coordination.k8s.io");
    let words = "get on named Secrets";
    let wide = |what: &str, rule: Value| {
        let write = create_but(scene, Role, what, |o| o["rules"] = json!([rule]));
        (write, By::Fence("roles", words))
    };
    let more =
        |what: &str, rule: Value| (create_but(scene, Role, what, |o| o["rules"] = json!([rule])), By::Escalation);
    let mut all = vec![
        // what the operator holds and the table does not have so
        wide("every Secret", rule("", "secrets", &["get"], None)),
        wide("an empty list of Secrets", rule("", "secrets", &["get"], Some(&[]))),
        wide("a Secret without a name", rule("", "secrets", &["get"], Some(&[""]))),
        wide("many Secrets", rule("", "secrets", &["get"], Some(&["a", "b", "c"]))),
        wide("every ConfigMap", rule("", "configmaps", &["get"], None)),
        wide("every Provider", rule("banlieue.io", "providers", &["get"], None)),
        wide("another Provider", rule("banlieue.io", "providers", &["get"], Some(&["minted"]))),
        wide("to write a Provider", rule("banlieue.io", "providers", &["patch"], Some(&["paused"]))),
        wide("another's status", rule("banlieue.io", "providers/status", &["patch"], Some(&["minted"]))),
        wide("every status", rule("banlieue.io", "providers/status", &["patch"], None)),
        wide("every Lease", rule(leases, "leases", &["get", "create", "update"], None)),
        wide("a Lease of others", rule(leases, "leases", &["update"], Some(&["kube-scheduler"]))),
        wide("two Leases", rule(leases, "leases", &["update"], Some(&["banlieue-provider-a", "banlieue-provider-b"]))),
        wide("Deployments", rule("apps", "deployments", &["create"], None)),
        wide("ServiceAccounts", rule("", "serviceaccounts", &["create"], None)),
        wide("RoleBindings", rule(rbac, "rolebindings", &["create"], None)),
        wide("pods", rule("", "pods", &["list"], None)),
        wide(
            "two kinds in one rule",
            json!({ "apiGroups": [""], "resources": ["secrets", "configmaps"], "verbs": ["get"], "resourceNames": ["a"] }),
        ),
        // what it does not hold
        more("to list Secrets", rule("", "secrets", &["list"], Some(&["a"]))),
        more("to create pods", rule("", "pods", &["create"], None)),
        more("everything", rule("*", "*", &["*"], None)),
        more("to escalate", rule(rbac, "roles", &["escalate"], None)),
        more("to impersonate", rule("", "serviceaccounts", &["impersonate"], None)),
        more("to request tokens", rule("", "serviceaccounts/token", &["create"], None)),
        (
            change(scene, Role, "every Secret", json!({ "rules": [rule("", "secrets", &["get"], None)] })),
            By::Fence("roles", words),
        ),
        (
            create_but(scene, Role, "in another namespace", |o| {
                o["metadata"]["namespace"] = "kube-system".into();
                o["metadata"].as_object_mut().map(|m| m.remove("ownerReferences"));
            }),
            By::Fence("roles", "in the namespace of its Provider"),
        ),
    ];
    let named = ["named banlieue-provider-*"; 2];
    all.extend(hands_off(
        Role,
        "kube-system",
        "extension-apiserver-authentication-reader",
        json!({ "rules": [] }),
        named,
    ));
    all.extend(hands_off(Role, "banlieue-system", "banlieue-operator", json!({ "rules": [] }), named));
    all
}

/// A Role on any Secret of the Provider's namespace: the policy cannot read what the Provider names.
pub(super) fn accepted(scene: &Scene) -> Vec<Write> {
    let secrets = json!([rule("", "secrets", &["get"], Some(&["another"]))]);
    vec![create_but(scene, Role, "on another Secret of the namespace", |o| o["rules"] = secrets)]
}
