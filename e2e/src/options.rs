//! What a cluster is asked to be.

use anyhow::{Result, bail};

/// The Kubernetes lines that can be started, newest first.
pub const KUBERNETES: [(&str, &str); 2] = [("1.37", "v1.37.2"), ("1.34", "v1.34.4")];

/// Everything that happened, without bodies.
pub const AUDIT_METADATA: &str = "apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
- level: Metadata
";

/// Everything that happened; of writes of Providers and their five objects also what was answered.
pub const AUDIT_ANSWERS: &str = "apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
omitManagedFields: true
rules:
- level: RequestResponse
  verbs: [create, update, patch, delete]
  resources:
  - {group: '', resources: [serviceaccounts]}
  - {group: apps, resources: [deployments, deployments/status]}
  - {group: rbac.authorization.k8s.io, resources: [roles, rolebindings, clusterrolebindings]}
  - {group: banlieue.io, resources: [providers, providers/status]}
- level: Metadata
";

/// What [`crate::Cluster::start`] is asked for.
#[derive(Clone, Debug)]
pub struct Options {
    /// Name of the box: folder, cgroup and lock are called so.
    pub name: String,
    /// Whether there is a node (containerd, kubelet, kube-proxy) beside the control plane.
    pub node: bool,
    /// Whether a vCenter simulator runs on 10.244.0.1:8989.
    pub vcsim: bool,
    /// Whether the box ends with this process, however that ends.
    pub ephemeral: bool,
    /// The Kubernetes line: `1.37` or `1.34`.
    pub kubernetes: String,
    /// The audit policy of the API server, as YAML.
    pub audit_policy: String,
    /// More arguments for the API server.
    pub api_server_args: Vec<String>,
    /// No progress on standard error.
    pub quiet: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            name: "banlieue".into(),
            node: true,
            vcsim: true,
            ephemeral: false,
            kubernetes: std::env::var("K8S").ok().filter(|v| !v.is_empty()).unwrap_or_else(|| "1.37".into()),
            audit_policy: AUDIT_METADATA.into(),
            api_server_args: Vec::new(),
            quiet: false,
        }
    }
}

impl Options {
    /// A cluster that stays until it is taken down.
    pub fn named(name: impl Into<String>) -> Self {
        Self { name: name.into(), ..Self::default() }
    }

    /// A cluster that ends with this process.
    pub fn ephemeral(name: impl Into<String>) -> Self {
        Self { ephemeral: true, ..Self::named(name) }
    }

    /// Without a node: etcd, API server, controller manager and scheduler alone.
    #[must_use]
    pub fn control_plane_only(mut self) -> Self {
        self.node = false;
        self
    }

    /// Without the vCenter simulator.
    #[must_use]
    pub fn without_vcsim(mut self) -> Self {
        self.vcsim = false;
        self
    }

    /// With another audit policy (YAML).
    #[must_use]
    pub fn audit_policy(mut self, yaml: impl Into<String>) -> Self {
        self.audit_policy = yaml.into();
        self
    }

    /// With one more argument for the API server.
    #[must_use]
    pub fn api_server_arg(mut self, arg: impl Into<String>) -> Self {
        self.api_server_args.push(arg.into());
        self
    }

    /// The full version of the Kubernetes line asked for, such as `v1.37.2`.
    pub fn kubernetes_version(&self) -> Result<&'static str> {
        match KUBERNETES.iter().find(|(line, _)| *line == self.kubernetes) {
            Some((_, version)) => Ok(version),
            None => bail!(
                "K8S={} is not a line this project runs: use {}",
                self.kubernetes,
                KUBERNETES.map(|k| k.0).join(" or ")
            ),
        }
    }
}
