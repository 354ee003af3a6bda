//! Guardrails on classes, whoever writes them: where workloads may run, and from which images.
use super::super::Install;
use super::policy::Policy;
use crate::k8s::manifests::names;

/// Namespaces of the cluster itself: `workloadNamespace` is none of them.
const RESERVED: [&str; 2] = ["kube-", "openshift-"];

/// How the message of the rule on images begins.
pub const ALLOWED_IMAGES: &str = "this installation allows images under";

pub(super) fn guard(install: &Install) -> Policy {
    let reserved = RESERVED.map(|prefix| format!("!object.spec.workloadNamespace.startsWith('{prefix}')")).join(" && ");
    let mut rules = vec![(
        // what is there already may still be edited, for instance paused
        format!(
            "!has(object.spec.workloadNamespace) || (request.operation == 'UPDATE' && \
             oldObject.spec.?workloadNamespace == object.spec.?workloadNamespace) || ({reserved})"
        ),
        "workloads do not belong in the namespaces of the cluster itself (kube-*, openshift-*)".to_owned(),
    )];
    if !install.allowed_images.is_empty() {
        let prefixes = install.allowed_images.iter();
        let under = prefixes.map(|p| {
            format!("object.spec.image.repository == '{p}' || object.spec.image.repository.startsWith('{p}/')")
        });
        rules.push((
            format!(
                "(request.operation == 'UPDATE' && oldObject.spec.image == object.spec.image) || {}",
                under.collect::<Vec<_>>().join(" || ")
            ),
            format!("{ALLOWED_IMAGES} {} only", install.allowed_images.join(", ")),
        ));
    }
    Policy {
        name: names::GUARD_OF_CLASSES.into(),
        comment: "A ProviderClass runs its workloads neither in the namespaces of the cluster itself nor from images that are not allowed.",
        component: "platform",
        kind: (names::GROUP, "v1alpha1", "providerclasses"),
        operations: &["CREATE", "UPDATE"],
        conditions: vec![],
        rules,
    }
}
