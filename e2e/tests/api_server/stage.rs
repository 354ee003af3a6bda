//! [`Stage`]: a control plane with our kinds and two namespaces in it, and nobody else.
use crate::lab;
use crate::real::collector_is_through;
use crate::story::Kind;
use anyhow::Result;
use banlieue::k8s::crd::{crds, yaml};
use banlieue_e2e::{Cluster, Options};
use banlieue_suite::objects;
use k8s_openapi::api::core::v1::ResourceQuota;
use kube::Client;
use kube::api::{Api, PostParams};
use serde_json::json;

/// Where namespaced objects are.
pub(crate) const NAMESPACES: [&str; 2] = ["here", "there"];

/// What chance is made from.
pub(crate) fn seed() -> u64 {
    std::env::var("BANLIEUE_SEED").ok().and_then(|v| v.parse().ok()).unwrap_or(1)
}

/// A control plane.
pub(crate) struct Stage {
    pub(crate) cluster: Cluster,
    /// The administrator's client.
    pub(crate) client: Client,
}

impl lab::Stage for Stage {
    /// Cluster up, kinds and namespaces there.
    async fn start(name: &str) -> Result<Self> {
        let cluster = Cluster::start(Options::ephemeral(name).control_plane_only().without_vcsim()).await?;
        // the collector learns of kinds when it starts, and then twice a minute
        cluster.stop_component("kube-controller-manager")?;
        for crd in crds() {
            let name = crd.metadata.name.clone().unwrap_or_default();
            cluster.apply(&yaml(&crd)?)?;
            cluster.kubectl(["wait", "--for=condition=Established", "--timeout=60s", &format!("crd/{name}")])?;
        }
        cluster.start_component("kube-controller-manager")?;
        let client = cluster.client().await?;
        for name in NAMESPACES {
            objects::namespace(&client, name).await?;
            // Deployments are looked at here, and their pods are nobody's business
            let quota =
                json!({ "metadata": { "name": "none" }, "spec": { "hard": { "count/replicasets.apps": "0" } } });
            let quotas: Api<ResourceQuota> = Api::namespaced(client.clone(), name);
            quotas.create(&PostParams::default(), &serde_json::from_value(quota)?).await?;
        }
        collector_is_through(&client, Kind::Provider, "first").await?;
        println!("seed: {} (BANLIEUE_SEED)", seed());
        Ok(Stage { cluster, client })
    }

    fn into_cluster(self) -> Cluster {
        self.cluster
    }
}
