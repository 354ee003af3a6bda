//! Deployments: pods that are off the host, unprivileged, and read no Secret but by their own account.
use super::super::Install;
use super::policy::Policy;
use super::stamp::{minted, stamp, written};
use crate::k8s::manifests::names;

const POD: &str = "object.spec.template.spec";

pub(super) fn fence(install: &Install) -> Policy {
    let comment = "The operator runs pods under their own account, off the host, unprivileged, without reading a Secret from the pod.";
    // two lists of two types, as CEL has it
    let each = |rule: &str| {
        written(&format!("{POD}.containers.all(c, {rule}) && {POD}.?initContainers.orValue([]).all(c, {rule})"))
    };
    let pod = |rule: &str| written(&rule.replace("$", POD));
    let mut rules = vec![
        (
            written(&format!(
                "object.spec.template.metadata.?labels[?'{uid}'].orValue('') == {is} && \
                 object.spec.selector.?matchLabels[?'{uid}'].orValue('') == {is}",
                uid = names::PROVIDER_UID,
                is = stamp()
            )),
            "the operator selects and stamps the pods of one Provider",
        ),
        (
            pod("$.?serviceAccountName.orValue('') == object.metadata.name"),
            "the operator runs pods under the account of the Deployment's own name",
        ),
        (
            pod("!$.?hostNetwork.orValue(false) && !$.?hostPID.orValue(false) && !$.?hostIPC.orValue(false) && \
                 !has($.nodeName) && !has($.resourceClaims)"),
            "the operator's pods stay off the host and go where the scheduler puts them",
        ),
        (
            pod("$.?volumes.orValue([]).all(v, has(v.emptyDir) || has(v.configMap) || has(v.downwardAPI) || \
                 (has(v.projected) && v.projected.?sources.orValue([]).all(s, has(s.configMap) || has(s.downwardAPI))))"),
            "the operator's pods mount no Secret, token, host path or storage",
        ),
        (
            each(
                "c.?env.orValue([]).all(e, !has(e.valueFrom) || !has(e.valueFrom.secretKeyRef)) && \
                  c.?envFrom.orValue([]).all(e, !has(e.secretRef))",
            ),
            "the operator's pods read no Secret into their environment",
        ),
        (
            pod("$.?securityContext.?runAsNonRoot.orValue(false) && $.?securityContext.?runAsUser.orValue(1) != 0 && \
                 $.?securityContext.?seccompProfile.?type.orValue('Unconfined') != 'Unconfined' && \
                 size($.?securityContext.?sysctls.orValue([])) == 0 && \
                 !$.?securityContext.?windowsOptions.?hostProcess.orValue(false)"),
            "the operator's pods run as nobody in particular, under seccomp",
        ),
        (
            each(
                "has(c.securityContext) && !c.securityContext.?privileged.orValue(false) && \
                  !c.securityContext.?allowPrivilegeEscalation.orValue(true) && \
                  size(c.securityContext.?capabilities.?add.orValue([])) == 0 && \
                  c.securityContext.?runAsNonRoot.orValue(true) && c.securityContext.?runAsUser.orValue(1) != 0 && \
                  c.securityContext.?procMount.orValue('Default') == 'Default' && \
                  c.securityContext.?seccompProfile.?type.orValue('') != 'Unconfined' && \
                  !c.securityContext.?windowsOptions.?hostProcess.orValue(false)",
            ),
            "the operator's containers are unprivileged, without added capabilities",
        ),
        (
            each("c.?ports.orValue([]).all(p, p.?hostPort.orValue(0) == 0)"),
            "the operator's containers take no port of the host",
        ),
        (
            written("!object.metadata.namespace.startsWith('kube-')"),
            "the operator runs nothing in the namespaces of Kubernetes itself (kube-*)",
        ),
    ];
    if !install.allowed_images.is_empty() {
        let allowed = install.allowed_images.iter();
        let under = allowed.flat_map(|p| ["/", ":", "@"].map(|end| format!("c.image.startsWith('{p}{end}')")));
        rules.push((
            each(&format!("has(c.image) && ({})", under.collect::<Vec<_>>().join(" || "))),
            "the operator's pods run only images that the installation allows",
        ));
    }
    minted(install, ("apps", "v1", "deployments"), comment, rules)
}
