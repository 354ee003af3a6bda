//! [`Workload`]: the five objects of a Provider, each looked up by its own name.
use crate::until::SOON;
use anyhow::Result;
use banlieue_e2e::watch;
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::ServiceAccount;
use k8s_openapi::api::rbac::v1::{ClusterRoleBinding, Role, RoleBinding};
use kube::{Api, Client};

/// Where the five are, and how they are called.
pub struct Workload {
    /// Name of Deployment and ServiceAccount.
    pub pods: String,
    /// Name of Role and RoleBinding.
    pub grants: String,
    /// Name of the ClusterRoleBinding.
    pub binding: String,
    /// The Deployments beside it.
    pub deployments: Api<Deployment>,
    /// The ServiceAccounts beside it.
    pub accounts: Api<ServiceAccount>,
    /// The Roles beside it.
    pub roles: Api<Role>,
    /// The RoleBindings beside it.
    pub role_bindings: Api<RoleBinding>,
    /// All ClusterRoleBindings.
    pub cluster_role_bindings: Api<ClusterRoleBinding>,
}

/// The five themselves.
pub struct Five {
    /// The Deployment.
    pub deployment: Deployment,
    /// The ServiceAccount.
    pub account: ServiceAccount,
    /// The Role.
    pub role: Role,
    /// The RoleBinding.
    pub role_binding: RoleBinding,
    /// The ClusterRoleBinding.
    pub cluster_role_binding: ClusterRoleBinding,
}

impl Workload {
    /// (namespace, name) of the pods' objects, of the grants, and the name of the ClusterRoleBinding.
    pub fn new(client: &Client, pods: (&str, &str), grants: (&str, &str), binding: &str) -> Self {
        Workload {
            pods: pods.1.into(),
            grants: grants.1.into(),
            binding: binding.into(),
            deployments: Api::namespaced(client.clone(), pods.0),
            accounts: Api::namespaced(client.clone(), pods.0),
            roles: Api::namespaced(client.clone(), grants.0),
            role_bindings: Api::namespaced(client.clone(), grants.0),
            cluster_role_bindings: Api::all(client.clone()),
        }
    }

    /// Waits until all five are there.
    pub async fn there(&self) -> Result<Five> {
        Ok(Five {
            deployment: watch::see(&self.deployments, &self.pods, "exists", SOON, |_| true).await?,
            account: watch::see(&self.accounts, &self.pods, "exists", SOON, |_| true).await?,
            role: watch::see(&self.roles, &self.grants, "exists", SOON, |_| true).await?,
            role_binding: watch::see(&self.role_bindings, &self.grants, "exists", SOON, |_| true).await?,
            cluster_role_binding: watch::see(&self.cluster_role_bindings, &self.binding, "exists", SOON, |_| true)
                .await?,
        })
    }

    /// Waits until none of the five is there.
    pub async fn gone(&self) -> Result<()> {
        watch::gone(&self.cluster_role_bindings, &self.binding, SOON).await?;
        watch::gone(&self.deployments, &self.pods, SOON).await?;
        watch::gone(&self.accounts, &self.pods, SOON).await?;
        watch::gone(&self.roles, &self.grants, SOON).await?;
        watch::gone(&self.role_bindings, &self.grants, SOON).await
    }

    /// How many of the five are there now.
    pub async fn count(&self) -> Result<usize> {
        let there = [
            self.deployments.get_opt(&self.pods).await?.is_some(),
            self.accounts.get_opt(&self.pods).await?.is_some(),
            self.roles.get_opt(&self.grants).await?.is_some(),
            self.role_bindings.get_opt(&self.grants).await?.is_some(),
            self.cluster_role_bindings.get_opt(&self.binding).await?.is_some(),
        ];
        Ok(there.into_iter().filter(|t| *t).count())
    }
}
