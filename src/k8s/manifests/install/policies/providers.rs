//! Providers: the operator writes their finalizer and `status.workload`; nobody else writes the latter; and who has a
//! Secret read must be able to read it.
use super::super::Install;
use super::policy::{Policy, operator};
use crate::k8s::manifests::names;

const WRITES: &[&str] = &["CREATE", "UPDATE", "DELETE"];

/// Nothing but our finalizer. `managedFields`, `resourceVersion` and `generation` move by themselves: hence one by one.
pub(super) fn fence(install: &Install) -> Policy {
    let same = |field: &str| format!("object.?{field} == oldObject.?{field}");
    let fields = ["spec", "metadata.?labels", "metadata.?annotations", "metadata.?ownerReferences"].map(same);
    let others =
        |object: &str| format!("{object}.metadata.?finalizers.orValue([]).filter(f, f != '{}')", names::FINALIZER);
    Policy {
        name: names::fence("providers"),
        comment: "The operator changes nothing of a Provider but its own finalizer.",
        component: "operator",
        kind: (names::GROUP, "v1alpha1", "providers"),
        operations: WRITES,
        conditions: vec![("the-operator-asks", operator(install))],
        rules: vec![
            ("request.operation == 'UPDATE'".into(), "fence: the operator makes and deletes no Providers".into()),
            (
                format!("request.operation != 'UPDATE' || ({})", fields.join(" && ")),
                "fence: the operator changes nothing of a Provider but its own finalizer".into(),
            ),
            (
                format!("request.operation != 'UPDATE' || {} == {}", others("object"), others("oldObject")),
                "fence: the operator leaves the finalizers of others".into(),
            ),
        ],
    }
}

/// Nothing but `status.workload`.
pub(super) fn status(install: &Install) -> Policy {
    let same = |field: &str| format!("object.?status.?{field} == oldObject.?status.?{field}");
    let fields = ["conditions", "failureDomains", "backend", "observedGeneration"].map(same);
    Policy {
        name: names::fence("providers/status"),
        comment: "The operator writes nothing of a Provider's status but `workload`.",
        component: "operator",
        kind: (names::GROUP, "v1alpha1", "providers/status"),
        operations: &["UPDATE"],
        conditions: vec![("the-operator-asks", operator(install))],
        rules: vec![(
            fields.join(" && "),
            "fence: the operator writes status.workload; the rest of the status is the provider's".into(),
        )],
    }
}

/// Nobody else writes `status.workload`.
pub(super) fn owner_of_status(install: &Install) -> Policy {
    Policy {
        name: names::OWNER_OF_STATUS.into(),
        comment: "Nobody but the operator writes `status.workload`: what it says of a workload can be relied on.",
        component: "operator",
        kind: (names::GROUP, "v1alpha1", "providers/status"),
        operations: &["UPDATE"],
        conditions: vec![("somebody-else-asks", format!("!({})", operator(install)))],
        rules: vec![(
            "object.?status.?workload == oldObject.?status.?workload".into(),
            "status.workload is written by the operator alone".into(),
        )],
    }
}

/// Whoever has a Provider read a Secret or ConfigMap must be allowed to read it himself. It applies only where the
/// connection changes: a finalizer or a pause needs no such right, nor does what was stored before.
pub(super) fn deputy() -> Policy {
    let may_get = |resource: &str, reference: &str| {
        format!(
            "!has({reference}) || authorizer.group('').resource('{resource}').namespace(request.namespace)\
             .name({reference}.name).check('get').allowed()"
        )
    };
    let connection = "object.spec.connection";
    let ca = format!("{connection}.caBundle");
    let in_ca =
        |resource: &str, reference: &str| format!("!has({ca}) || {}", may_get(resource, &format!("{ca}.{reference}")));
    let words = |what: &str, field: &str| {
        format!(
            "you may not read the {what} that spec.connection.{field} names (verb get), so no Provider reads it for you"
        )
    };
    Policy {
        name: names::DEPUTY.into(),
        comment: "Who may not read a Secret or CA source has no Provider read it for him.",
        component: "platform",
        kind: (names::GROUP, "v1alpha1", "providers"),
        operations: &["CREATE", "UPDATE"],
        conditions: vec![(
            "the-connection-changes",
            "request.operation == 'CREATE' || object.?spec.?connection != oldObject.?spec.?connection".into(),
        )],
        rules: vec![
            (may_get("secrets", &format!("{connection}.credentialsRef")), words("Secret", "credentialsRef")),
            (in_ca("secrets", "secretRef"), words("Secret", "caBundle.secretRef")),
            (in_ca("configmaps", "configMapRef"), words("ConfigMap", "caBundle.configMapRef")),
        ],
    }
}
