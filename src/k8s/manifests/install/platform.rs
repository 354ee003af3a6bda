//! The namespace and the kinds.
use super::{Install, Object, Stage};
use crate::k8s::crd;
use crate::k8s::manifests::labels;
use k8s_openapi::api::core::v1::Namespace;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

pub(super) fn objects(install: &Install) -> Result<Vec<Object>, serde_json::Error> {
    let mut objects = vec![Object::new(
        Stage::Namespace,
        "The namespace of operator and controller. Its pods meet Pod Security `restricted`, and none that does not is let in.",
        namespace(install),
    )?];
    for mut crd in crd::crds() {
        crd.metadata.labels = Some(labels::installed(labels::PLATFORM, &install.version));
        let comment = match crd.spec.names.kind.as_str() {
            "Provider" => "Provider: one virtualization backend.",
            _ => "ProviderClass: what runs for a class of backends.",
        };
        objects.push(Object::new(Stage::Crds, comment, crd)?);
    }
    Ok(objects)
}

fn namespace(install: &Install) -> Namespace {
    let mut labels = labels::installed(labels::PLATFORM, &install.version);
    for mode in ["enforce", "audit", "warn"] {
        labels.insert(format!("pod-security.kubernetes.io/{mode}"), "restricted".into());
    }
    Namespace {
        metadata: ObjectMeta { name: Some(install.namespace.clone()), labels: Some(labels), ..Default::default() },
        ..Default::default()
    }
}
