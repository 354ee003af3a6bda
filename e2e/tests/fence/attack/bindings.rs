//! On bindings: other roles, and other subjects.
use super::{Attack, By, change, create_but, delete, hands_off, path};
use crate::scene::{HOME, Scene};
use banlieue::fsm::Part::{ClusterRoleBinding, RoleBinding};
use banlieue::k8s::manifests::names;
use serde_json::{Value, json};

fn to(kind: &str, name: &str) -> Value {
    json!({ "apiGroup": "rbac.authorization.k8s.io", "kind": kind, "name": name })
}

fn account(namespace: &str, name: &str) -> Value {
    json!({ "kind": "ServiceAccount", "namespace": namespace, "name": name })
}

pub(super) fn attacks(scene: &Scene) -> Vec<Attack> {
    let roles = |words| By::Fence("rolebindings", words);
    let cluster = |words| By::Fence("clusterrolebindings", words);
    let role = |part, what: &str, role: Value| create_but(scene, part, what, |o| o["roleRef"] = role);
    let mut all = vec![
        (
            role(RoleBinding, "its own rights in a namespace", to("ClusterRole", names::OPERATOR)),
            roles("Role of the binding's own name"),
        ),
        (role(RoleBinding, "cluster-admin in a namespace", to("ClusterRole", "cluster-admin")), By::Escalation),
        (
            role(RoleBinding, "a Role of another name", to("Role", &scene.name(RoleBinding))),
            roles("Role of the binding's own name"),
        ),
        (role(ClusterRoleBinding, "cluster-admin", to("ClusterRole", "cluster-admin")), By::Escalation),
        (role(ClusterRoleBinding, "admin, which is aggregated", to("ClusterRole", "admin")), By::Escalation),
        (
            role(ClusterRoleBinding, "its own rights", to("ClusterRole", names::OPERATOR)),
            cluster("shared role of a backend"),
        ),
        (role(ClusterRoleBinding, "the controller's rights", to("ClusterRole", names::CONTROLLER)), By::Escalation),
        (
            role(ClusterRoleBinding, "a role that is only named so", to("ClusterRole", "banlieue-provider-evil")),
            cluster("shared role of a backend"),
        ),
    ];
    for (part, by) in [(RoleBinding, roles as fn(_) -> _), (ClusterRoleBinding, cluster)] {
        let whom = |what: &str, subjects: Value| {
            let write = create_but(scene, part, what, |o| {
                o["subjects"] = subjects;
            });
            (write, by("binds one ServiceAccount"))
        };
        let group = |name: &str| json!([{ "apiGroup": "rbac.authorization.k8s.io", "kind": "Group", "name": name }]);
        let user =
            json!([{ "apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "banlieue-provider-mallory" }]);
        let two = json!([account(HOME, &scene.name(RoleBinding)), account(HOME, "banlieue-provider-two")]);
        all.extend([
            whom("to a user", user),
            whom("to everybody", group("system:authenticated")),
            whom("to all accounts", group("system:serviceaccounts")),
            whom("to two accounts", two),
            whom("to nobody yet", json!([])),
            whom("to an account of others", json!([account(HOME, "default")])),
            whom("to itself", json!([account(names::DEFAULT_NAMESPACE, names::OPERATOR)])),
            whom("to an account elsewhere", json!([account("kube-system", &scene.name(RoleBinding))])),
        ]);
        let others = json!({ "subjects": [account(HOME, "default")] });
        all.push((change(scene, part, "another subject", others), by("binds one ServiceAccount")));
    }
    all.push((
        create_but(scene, RoleBinding, "to another Provider's account", |o| {
            o["subjects"] = json!([account(HOME, &scene.name(RoleBinding))]);
        }),
        roles("binds one ServiceAccount"),
    ));
    let named = ["named banlieue-provider-*"; 2];
    let subjects = json!({ "subjects": [account(HOME, &scene.name(RoleBinding))] });
    for name in ["system:node", "system:discovery", names::OPERATOR, names::CONTROLLER] {
        // a change of a binding to what it does not hold is stopped as an escalation first; everybody may discover
        let [change, delete] = hands_off(ClusterRoleBinding, "", name, subjects.clone(), named);
        all.push(if matches!(name, "system:node" | names::CONTROLLER) { (change.0, By::Escalation) } else { change });
        all.push(delete);
    }
    let admin = format!("{}/cluster-admin", path(ClusterRoleBinding, ""));
    all.push((delete("delete the ClusterRoleBinding cluster-admin", admin), cluster(named[0])));
    all.extend(hands_off(RoleBinding, "banlieue-system", names::OPERATOR, subjects, named));
    all
}
