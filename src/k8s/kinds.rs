//! Kinds as the API addresses them: the five, and any.
use crate::fsm::{ObjectRef, Part};
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::ServiceAccount;
use k8s_openapi::api::rbac::v1::{ClusterRoleBinding, Role, RoleBinding};
use kube::api::{Api, ApiResource, DynamicObject};
use kube::{Client, Resource};

/// How the API names the kind of a part.
pub fn resource(part: Part) -> ApiResource {
    fn of<K: Resource<DynamicType = ()>>() -> ApiResource {
        ApiResource::erase::<K>(&())
    }
    match part {
        Part::ServiceAccount => of::<ServiceAccount>(),
        Part::Role => of::<Role>(),
        Part::ClusterRoleBinding => of::<ClusterRoleBinding>(),
        Part::RoleBinding => of::<RoleBinding>(),
        Part::Deployment => of::<Deployment>(),
    }
}

/// The API of a part in every namespace.
pub fn everywhere(client: &Client, part: Part) -> Api<DynamicObject> {
    Api::all_with(client.clone(), &resource(part))
}

/// The API that an object is read and written by.
pub fn api(client: &Client, object: &ObjectRef) -> Api<DynamicObject> {
    within(client, &resource(object.part), object.namespace.as_deref())
}

/// The API of any kind, in a namespace where there is one.
pub fn within(client: &Client, kind: &ApiResource, namespace: Option<&str>) -> Api<DynamicObject> {
    match namespace {
        Some(namespace) => Api::namespaced_with(client.clone(), namespace, kind),
        None => Api::all_with(client.clone(), kind),
    }
}

/// The address of an object of this part.
pub fn address(part: Part, object: &DynamicObject) -> ObjectRef {
    ObjectRef {
        part,
        namespace: object.metadata.namespace.clone(),
        name: object.metadata.name.clone().unwrap_or_default(),
    }
}
