//! The pods of one Provider.
use super::{Workload, names, pod};
use crate::fsm::Part;
use crate::k8s::crd::PullPolicy;
use k8s_openapi::api::apps::v1::{Deployment, DeploymentSpec, DeploymentStrategy, RollingUpdateDeployment};
use k8s_openapi::api::core::v1::{EnvVar, LocalObjectReference, PodSpec, PodTemplateSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, ObjectMeta};
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;

/// The container of the provider role.
pub const CONTAINER: &str = "provider";

/// The Deployment. `spec.replicas` is there only if the class sets it, so that an autoscaler may own it.
pub fn build(workload: &Workload<'_>) -> Deployment {
    let class = &workload.class.spec;
    Deployment {
        metadata: workload.metadata(Part::Deployment),
        spec: DeploymentSpec {
            replicas: class.replicas,
            selector: LabelSelector { match_labels: Some(workload.selector()), ..Default::default() },
            strategy: Some(rolling()),
            progress_deadline_seconds: class.progress_deadline_seconds,
            template: template(workload),
            ..Default::default()
        },
        ..Default::default()
    }
}

/// One new pod beside the old ones, and none of them goes before it is available.
pub(super) fn rolling() -> DeploymentStrategy {
    DeploymentStrategy {
        type_: Some("RollingUpdate".into()),
        rolling_update: Some(RollingUpdateDeployment {
            max_surge: Some(IntOrString::Int(1)),
            max_unavailable: Some(IntOrString::Int(0)),
        }),
    }
}

fn template(workload: &Workload<'_>) -> PodTemplateSpec {
    let class = &workload.class.spec;
    let mut labels = class.pod_labels.clone();
    labels.extend(workload.labels());
    let mut annotations = class.pod_annotations.clone();
    annotations.insert(names::PROVIDER.into(), format!("{}/{}", workload.home(), workload.provider_name()));
    if let Some(uid) = workload.account_uid {
        // a re-created account answers 401 to the tokens of the old one: its pods have to go
        annotations.insert(names::SERVICE_ACCOUNT_UID.into(), uid.into());
    }
    let mut template = PodTemplateSpec {
        metadata: Some(ObjectMeta { labels: Some(labels), annotations: Some(annotations), ..Default::default() }),
        spec: Some(pod_spec(workload)),
    };
    if let Some(annotations) = template.metadata.as_mut().and_then(|m| m.annotations.as_mut()) {
        let hash = serde_json::to_value((&annotations, pod_spec(workload))).unwrap_or_default();
        annotations.insert(names::DESIRED_HASH.into(), names::hash_of(&hash));
    }
    template
}

fn pod_spec(workload: &Workload<'_>) -> PodSpec {
    let class = &workload.class.spec;
    let mut container = pod::container(CONTAINER, &class.image.reference(), args(workload), env(workload));
    container.image_pull_policy = class.image.pull_policy.map(PullPolicy::as_str).map(str::to_owned);
    container.resources = class.resources.as_ref().map(Into::into);
    let pull_secrets = class.image.pull_secrets.iter().map(|s| LocalObjectReference { name: s.name.clone() });
    PodSpec {
        service_account_name: Some(workload.object(Part::ServiceAccount).name),
        automount_service_account_token: Some(true),
        enable_service_links: Some(false),
        security_context: Some(pod::pod_security()),
        containers: vec![container],
        image_pull_secrets: some(pull_secrets.collect()),
        node_selector: (!class.node_selector.is_empty()).then(|| class.node_selector.clone()),
        tolerations: some(class.tolerations.clone()),
        affinity: class.affinity.clone(),
        priority_class_name: class.priority_class_name.clone(),
        termination_grace_period_seconds: Some(10),
        ..Default::default()
    }
}

fn args(workload: &Workload<'_>) -> Vec<String> {
    let flag = |name: &str, value: &str| format!("--{name}={value}");
    vec![
        "provider".into(),
        workload.backend().to_string(),
        flag("provider-name", workload.provider_name()),
        flag("namespace", workload.home()),
        flag("provider-uid", workload.uid()),
    ]
}

fn env(workload: &Workload<'_>) -> Vec<EnvVar> {
    let logging = workload.class.spec.logging.unwrap_or_default();
    vec![
        pod::env_field("POD_NAME", "metadata.name"),
        pod::env_field("POD_UID", "metadata.uid"),
        pod::env("BANLIEUE_LOG", logging.level.unwrap_or_default().as_str()),
        pod::env("BANLIEUE_LOG_FORMAT", logging.format.unwrap_or_default().as_str()),
    ]
}

/// An empty list in an apply is a real write each time: leave it out.
fn some<T>(list: Vec<T>) -> Option<Vec<T>> {
    (!list.is_empty()).then_some(list)
}
