//! [`Kubelet`]: a stand-in for a node and its kubelet. Pods of Providers become ready, and end when they are deleted.
use anyhow::Result;
use banlieue::k8s::manifests::names;
use chrono::{SecondsFormat, Utc};
use futures::StreamExt;
use k8s_openapi::api::core::v1::{Node, Pod};
use kube::api::{DeleteParams, ListParams, Patch, PatchParams, PostParams};
use kube::runtime::{WatchStreamExt, watcher};
use kube::{Api, Client, ResourceExt};
use serde_json::json;
use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::task::JoinSet;

/// The node that all pods are said to be on. Pods without one that exists are cleared away by the controller manager.
const NODE: &str = "nowhere";
/// A node that is silent for longer than a few of these is taken for lost.
const HEARTBEAT: Duration = Duration::from_secs(10);

/// Writes the status of pods and ends those that are deleted, other than in namespaces where it is held back.
pub(crate) struct Kubelet {
    client: Client,
    held: Arc<Mutex<HashSet<String>>>,
    /// Its work, which ends with it.
    _tasks: JoinSet<()>,
}

impl Kubelet {
    /// Registers the node, and begins.
    pub(crate) async fn start(client: Client) -> Result<Self> {
        let nodes: Api<Node> = Api::all(client.clone());
        let node = serde_json::from_value(json!({ "metadata": { "name": NODE } }))?;
        nodes.create(&PostParams::default(), &node).await?;
        let mut tasks = JoinSet::new();
        tasks.spawn(async move {
            loop {
                // one that fails is made up for by the next
                let _ = nodes.patch_status(NODE, &PatchParams::default(), &alive()).await;
                tokio::time::sleep(HEARTBEAT).await;
            }
        });
        let held = Arc::default();
        tasks.spawn(run(client.clone(), Arc::clone(&held)));
        Ok(Self { client, held, _tasks: tasks })
    }

    /// From now on pods of this namespace stay as they are.
    pub(crate) fn hold(&self, namespace: &str) {
        self.held.lock().unwrap_or_else(PoisonError::into_inner).insert(namespace.into());
    }

    /// Does for one pod what is due, though its namespace is held.
    pub(crate) async fn tend(&self, pod: &Pod) {
        tend(&self.client, pod).await;
    }

    /// Goes on in this namespace, with pods that are there and pods that come.
    pub(crate) async fn release(&self, namespace: &str) -> Result<()> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner).remove(namespace);
        let ours = ListParams::default().labels(names::PROVIDER_UID);
        for pod in Api::<Pod>::namespaced(self.client.clone(), namespace).list(&ours).await? {
            tend(&self.client, &pod).await;
        }
        Ok(())
    }
}

async fn run(client: Client, held: Arc<Mutex<HashSet<String>>>) {
    let ours = watcher::Config::default().labels(names::PROVIDER_UID);
    let pods = watcher(Api::<Pod>::all(client.clone()), ours).default_backoff().applied_objects();
    pods.for_each_concurrent(8, |pod| async {
        if let Ok(pod) = pod
            && !held.lock().unwrap_or_else(PoisonError::into_inner).contains(&pod.namespace().unwrap_or_default())
        {
            tend(&client, &pod).await;
        }
    })
    .await;
}

/// Does for a pod what is due. What fails shows in the test that waits for it; a pod that is gone by now is no failure.
async fn tend(client: &Client, pod: &Pod) {
    let api: Api<Pod> = Api::namespaced(client.clone(), &pod.namespace().unwrap_or_default());
    let name = pod.name_any();
    if pod.metadata.deletion_timestamp.is_some() {
        let _ = api.delete(&name, &DeleteParams::default().grace_period(0)).await;
        return;
    }
    if pod.status.as_ref().and_then(|s| s.phase.as_deref()) == Some("Running") {
        return;
    }
    let node = json!({ "metadata": { "name": name }, "target": { "kind": "Node", "name": NODE } });
    let _: Result<serde_json::Value, _> = api.create_subresource("binding", &name, &PostParams::default(), &node).await;
    let _ = api.patch_status(&name, &PatchParams::default(), &ready(pod)).await;
}

fn now() -> String {
    Utc::now().to_rfc3339_opts(SecondsFormat::Secs, true)
}

fn alive() -> Patch<serde_json::Value> {
    let condition = json!({ "type": "Ready", "status": "True", "reason": "Pretended", "lastHeartbeatTime": now() });
    Patch::Merge(json!({ "status": { "conditions": [condition] } }))
}

fn ready(pod: &Pod) -> Patch<serde_json::Value> {
    let now = now();
    let condition = |type_: &str| json!({ "type": type_, "status": "True", "lastTransitionTime": now });
    let running = json!({ "running": { "startedAt": now } });
    let container = |c: &k8s_openapi::api::core::v1::Container| {
        json!({
            "name": c.name, "image": c.image, "imageID": "", "ready": true, "started": true, "restartCount": 0,
            "state": running,
        })
    };
    let containers: Vec<_> = pod.spec.iter().flat_map(|spec| &spec.containers).map(container).collect();
    let conditions = ["PodScheduled", "Initialized", "ContainersReady", "Ready"].map(condition);
    Patch::Merge(json!({ "status": { "phase": "Running", "conditions": conditions, "containerStatuses": containers } }))
}
