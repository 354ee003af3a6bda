//! The Deployments of operator and controller.
use super::{Install, Object, Stage};
use crate::k8s::manifests::deployment::rolling;
use crate::k8s::manifests::{labels, names, pod};
use k8s_openapi::api::apps::v1::{Deployment, DeploymentSpec};
use k8s_openapi::api::core::v1::{
    Container, EnvVar, LocalObjectReference, PodSpec, PodTemplateSpec, ResourceRequirements,
};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, ObjectMeta};
use std::collections::BTreeMap;

pub(super) fn objects(install: &Install) -> Result<Vec<Object>, serde_json::Error> {
    let at = Stage::Workloads;
    Ok(vec![
        Object::new(
            at,
            "The operator: makes one workload per Provider.",
            deployment(install, names::OPERATOR, "operator", "256Mi"),
        )?,
        Object::new(
            at,
            "The controller: sums up each class in its status.",
            deployment(install, names::CONTROLLER, "controller", "128Mi"),
        )?,
    ])
}

fn deployment(install: &Install, name: &str, role: &str, memory: &str) -> Deployment {
    let mut args = vec![role.to_owned()];
    args.extend(install.election.flags());
    let mut container = pod::container(role, &install.image(), args, env(install));
    container.resources = Some(resources(memory));
    let pods = Pods { component: role, account: name, selector: labels::selecting(role), container };
    pods.deployment(install, install.replicas)
}

/// What differs between the Deployments of an installation.
pub(super) struct Pods<'a> {
    pub(super) component: &'a str,
    /// The name of ServiceAccount and Deployment.
    pub(super) account: &'a str,
    pub(super) selector: BTreeMap<String, String>,
    pub(super) container: Container,
}

impl Pods<'_> {
    pub(super) fn deployment(self, install: &Install, replicas: i32) -> Deployment {
        // without the version: a pod restarts for what changes in it, and the image says that
        let mut labels = self.selector.clone();
        labels.insert(labels::PART_OF.into(), labels::BANLIEUE.into());
        let secret = install.pull_secret.as_ref().map(|name| vec![LocalObjectReference { name: name.clone() }]);
        Deployment {
            metadata: ObjectMeta {
                name: Some(self.account.into()),
                namespace: Some(install.namespace.clone()),
                labels: Some(labels::installed(self.component, &install.version)),
                ..Default::default()
            },
            spec: DeploymentSpec {
                replicas: Some(replicas),
                selector: LabelSelector { match_labels: Some(self.selector), ..Default::default() },
                strategy: Some(rolling()),
                template: PodTemplateSpec {
                    metadata: Some(ObjectMeta { labels: Some(labels), ..Default::default() }),
                    spec: Some(PodSpec {
                        service_account_name: Some(self.account.into()),
                        automount_service_account_token: Some(true),
                        enable_service_links: Some(false),
                        security_context: Some(pod::pod_security()),
                        containers: vec![self.container],
                        image_pull_secrets: secret,
                        termination_grace_period_seconds: Some(10),
                        ..Default::default()
                    }),
                },
                ..Default::default()
            },
            ..Default::default()
        }
    }
}

/// Little, and a limit on memory alone.
pub(super) fn resources(memory: &str) -> ResourceRequirements {
    ResourceRequirements {
        requests: Some(quantities(&[("cpu", "10m"), ("memory", "32Mi")])),
        limits: Some(quantities(&[("memory", memory)])),
        ..Default::default()
    }
}

fn env(install: &Install) -> Vec<EnvVar> {
    let mut env = vec![
        pod::env_field("POD_NAME", "metadata.name"),
        pod::env_field("POD_NAMESPACE", "metadata.namespace"),
        pod::env_field("POD_UID", "metadata.uid"),
    ];
    env.extend(install.log_format.map(|format| pod::env("BANLIEUE_LOG_FORMAT", format.as_str())));
    env
}

fn quantities(list: &[(&str, &str)]) -> BTreeMap<String, Quantity> {
    list.iter().map(|(name, amount)| ((*name).to_owned(), Quantity((*amount).to_owned()))).collect()
}
