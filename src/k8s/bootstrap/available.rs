//! Waits until a Deployment is available, and says what it waits for.
use super::{Event, Failed};
use crate::k8s::client::Client;
use crate::k8s::manifests::install::Object;
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::{ContainerStatus, Pod};
use kube::api::{Api, ListParams};
use std::time::{Duration, Instant};

/// Between two looks.
const LOOK: Duration = Duration::from_millis(500);

pub(super) async fn wait(
    client: &Client,
    object: &Object,
    until: Instant,
    patience: Duration,
    tell: &mut (dyn FnMut(Event) + Send),
) -> Result<(), Failed> {
    let api: Api<Deployment> = Api::namespaced(client.clone(), object.namespace.as_deref().unwrap_or_default());
    let mut told = String::new();
    loop {
        let live = api.get(&object.name).await.map_err(|e| Failed::api(object, &e))?;
        let Some(missing) = missing(&live) else { return Ok(()) };
        let why = trouble(client, &live).await.unwrap_or(missing);
        if Instant::now() > until {
            return Err(Failed {
                object: object.to_string(),
                why: format!("it is not available after {} s: {why}", patience.as_secs()),
                todo: "remove the cause (an image is named by --registry and --version), then run the command again; \
                       --timeout waits longer, --no-wait not at all"
                    .into(),
            });
        }
        if told != why {
            told.clone_from(&why);
            tell(Event::Waiting(format!("{object}: {why}")));
        }
        tokio::time::sleep(LOOK).await;
    }
}

/// What a rollout lacks, or nothing if it is complete.
pub fn missing(live: &Deployment) -> Option<String> {
    let status = live.status.clone().unwrap_or_default();
    let wanted = live.spec.replicas.unwrap_or(1);
    let seen = status.observed_generation >= live.metadata.generation;
    let (updated, available) = (status.updated_replicas.unwrap_or(0), status.available_replicas.unwrap_or(0));
    let old = status.replicas.unwrap_or(0) - updated;
    match () {
        () if !seen => Some("the controller manager has not seen it yet".into()),
        () if updated < wanted || available < wanted => Some(format!("{available} of {wanted} pods available")),
        () if old > 0 => Some(format!("{old} old pods to go")),
        () => None,
    }
}

/// What keeps its pods, if anything does: their creation is refused, or one of them waits for a reason.
pub async fn trouble(client: &Client, live: &Deployment) -> Option<String> {
    let conditions = live.status.as_ref()?.conditions.as_deref().unwrap_or_default();
    if let Some(refused) =
        conditions.iter().find(|c| c.type_.as_deref() == Some("ReplicaFailure") && c.status.as_deref() == Some("True"))
    {
        return refused.message.clone();
    }
    let labels = live.spec.selector.match_labels.as_ref()?;
    let selector: Vec<_> = labels.iter().map(|(k, v)| format!("{k}={v}")).collect();
    let namespace = live.metadata.namespace.as_deref().unwrap_or_default();
    let pods: Api<Pod> = Api::namespaced(client.clone(), namespace);
    let pods = pods.list(&ListParams::default().labels(&selector.join(","))).await.ok()?;
    pods.items.iter().find_map(of_pod)
}

fn of_pod(pod: &Pod) -> Option<String> {
    let status = pod.status.as_ref()?;
    let name = pod.metadata.name.as_deref().unwrap_or_default();
    let scheduled = status.conditions.iter().flatten().find(|c| c.type_ == "PodScheduled" && c.status == "False");
    if let Some(message) = scheduled.and_then(|c| c.message.as_ref()) {
        return Some(format!("pod {name}: {message}"));
    }
    status.container_statuses.iter().flatten().find_map(|c| of_container(name, c))
}

fn of_container(pod: &str, container: &ContainerStatus) -> Option<String> {
    let waiting = container.state.as_ref()?.waiting.as_ref()?;
    let reason = waiting.reason.as_deref().filter(|r| *r != "ContainerCreating" && *r != "PodInitializing")?;
    let message = waiting.message.as_deref().unwrap_or_default();
    Some(format!("pod {pod}: {reason} {message}").trim_end().to_owned())
}
