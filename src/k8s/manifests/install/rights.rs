//! Identities, and their roles and bindings.
use super::{Install, Object, Stage, rules};
use crate::k8s::crd::Backend;
use crate::k8s::manifests::{labels, names};
use k8s_openapi::api::core::v1::ServiceAccount;
use k8s_openapi::api::rbac::v1::{ClusterRole, ClusterRoleBinding, PolicyRule, Role, RoleBinding, RoleRef, Subject};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

pub(super) fn objects(install: &Install) -> Result<Vec<Object>, serde_json::Error> {
    let mut objects = Vec::new();
    for backend in Backend::all_compiled() {
        objects.push(shared(install, backend)?);
    }
    objects.extend(operator(install)?);
    objects.extend(controller(install)?);
    Ok(objects)
}

/// The shared ClusterRole of a backend.
pub(super) fn shared(install: &Install, backend: Backend) -> Result<Object, serde_json::Error> {
    let comment = format!("What every {backend} provider may read across namespaces: the classes, and nothing else.");
    Object::new(Stage::Rights, comment, cluster_role(install, &names::shared(backend), "provider", rules::shared()))
}

fn operator(install: &Install) -> Result<Vec<Object>, serde_json::Error> {
    let (name, role) = (names::OPERATOR, "operator");
    let comment = "What the operator may do: mint workloads, and hold what it hands out to their pods. No escalate, no bind, no wildcard.";
    let rules = cluster_role(install, name, role, rules::operator());
    identity(install, name, role, Object::new(Stage::Rights, comment, rules)?)
}

fn controller(install: &Install) -> Result<Vec<Object>, serde_json::Error> {
    let (name, role) = (names::CONTROLLER, "controller");
    let comment = "What the controller may do: read Providers and classes, and write the status of classes.";
    let rules = cluster_role(install, name, role, rules::controller());
    identity(install, name, role, Object::new(Stage::Rights, comment, rules)?)
}

/// An account, its ClusterRole and binding, and the right to its own Lease.
fn identity(install: &Install, name: &str, role: &str, rules: Object) -> Result<Vec<Object>, serde_json::Error> {
    let at = Stage::Rights;
    let here = ObjectMeta { namespace: Some(install.namespace.clone()), ..meta(install, name, role) };
    Ok(vec![
        Object::new(at, format!("The identity of the {role}."), account(here.clone()))?,
        rules,
        Object::new(
            at,
            format!("Gives the {role} its rights."),
            ClusterRoleBinding {
                metadata: meta(install, name, role),
                role_ref: reference("ClusterRole", name),
                subjects: Some(vec![subject(install, name)]),
            },
        )?,
        Object::new(
            at,
            format!("The Lease of the {role}, by which one of its pods leads."),
            Role { metadata: here.clone(), rules: Some(rules::own_lease(name)) },
        )?,
        Object::new(
            at,
            format!("Gives the {role} its Lease."),
            RoleBinding {
                metadata: here,
                role_ref: reference("Role", name),
                subjects: Some(vec![subject(install, name)]),
            },
        )?,
    ])
}

/// The pods ask for the token themselves; nothing else that runs under the account gets one.
pub(super) fn account(metadata: ObjectMeta) -> ServiceAccount {
    ServiceAccount { metadata, automount_service_account_token: Some(false), ..Default::default() }
}

fn cluster_role(install: &Install, name: &str, component: &str, rules: Vec<PolicyRule>) -> ClusterRole {
    ClusterRole { metadata: meta(install, name, component), rules: Some(rules), ..Default::default() }
}

fn meta(install: &Install, name: &str, component: &str) -> ObjectMeta {
    ObjectMeta {
        name: Some(name.into()),
        labels: Some(labels::installed(component, &install.version)),
        ..Default::default()
    }
}

pub(super) fn reference(kind: &str, name: &str) -> RoleRef {
    RoleRef { api_group: Some("rbac.authorization.k8s.io".into()), kind: kind.into(), name: name.into() }
}

pub(super) fn subject(install: &Install, name: &str) -> Subject {
    Subject {
        kind: "ServiceAccount".into(),
        name: name.into(),
        namespace: Some(install.namespace.clone()),
        ..Default::default()
    }
}
