//! The provider of a backend without an operator: it serves every Provider of that backend in one namespace.
use super::{Install, Object, Stage, rights, rules, workloads};
use crate::k8s::crd::Backend;
use crate::k8s::manifests::{labels, names, pod};
use k8s_openapi::api::core::v1::{ConfigMap, ConfigMapEnvSource, EnvFromSource};
use k8s_openapi::api::rbac::v1::{ClusterRoleBinding, Role, RoleBinding};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

/// The component of everything here that is not shared with an operator.
const COMPONENT: &str = "static-provider";

impl Install {
    /// Every object of the static installation of a backend, in the order of application. None carries a stamp.
    ///
    /// # Errors
    /// None is expected: a type of ours that cannot be written as JSON.
    pub fn provider(&self, backend: Backend) -> Result<Vec<Object>, serde_json::Error> {
        let (at, name) = (Stage::Rights, names::shared(backend));
        let here = ObjectMeta {
            name: Some(name.clone()),
            namespace: Some(self.namespace.clone()),
            labels: Some(labels::installed(COMPONENT, &self.version)),
            ..Default::default()
        };
        let anywhere =
            ObjectMeta { name: Some(names::static_binding(&self.namespace, backend)), namespace: None, ..here.clone() };
        let subjects = Some(vec![rights::subject(self, &name)]);
        Ok(vec![
            rights::shared(self, backend)?,
            Object::new(at, format!("The identity of the {backend} provider."), rights::account(here.clone()))?,
            Object::new(
                at,
                "What it may do, in this namespace alone: read Secrets, ConfigMaps and Providers, write their status, hold their Leases.",
                Role { metadata: here.clone(), rules: Some(rules::standalone()) },
            )?,
            Object::new(
                at,
                "Gives it these rights.",
                RoleBinding {
                    metadata: here.clone(),
                    role_ref: rights::reference("Role", &name),
                    subjects: subjects.clone(),
                },
            )?,
            Object::new(
                at,
                "Lets it read the classes. The name has a hash of the namespace: another installation elsewhere has one of its own.",
                ClusterRoleBinding { metadata: anywhere, role_ref: rights::reference("ClusterRole", &name), subjects },
            )?,
            Object::new(Stage::Workloads, "How its pods log.", self.settings(here))?,
            Object::new(
                Stage::Workloads,
                format!("The {backend} provider: it serves every Provider of the backend in this namespace."),
                self.standalone(backend, &name),
            )?,
        ])
    }

    fn settings(&self, metadata: ObjectMeta) -> ConfigMap {
        let format = self.log_format.unwrap_or_default().as_str();
        let data = [("BANLIEUE_LOG", "info"), ("BANLIEUE_LOG_FORMAT", format)];
        let data = data.map(|(key, value)| (key.to_owned(), value.to_owned()));
        ConfigMap { metadata, data: Some(data.into()), ..Default::default() }
    }

    fn standalone(&self, backend: Backend, name: &str) -> k8s_openapi::api::apps::v1::Deployment {
        let args = vec!["provider".into(), backend.to_string(), format!("--namespace={}", self.namespace)];
        let env = vec![pod::env_field("POD_NAME", "metadata.name"), pod::env_field("POD_UID", "metadata.uid")];
        let mut container = pod::container("provider", &self.image(), args, env);
        container.resources = Some(workloads::resources("256Mi"));
        container.env_from = Some(vec![EnvFromSource {
            config_map_ref: Some(ConfigMapEnvSource { name: name.into(), optional: None }),
            ..Default::default()
        }]);
        let mut selector = labels::selecting(COMPONENT);
        selector.insert(names::BACKEND.into(), backend.to_string());
        workloads::Pods { component: COMPONENT, account: name, selector, container }.deployment(self, 1)
    }
}
