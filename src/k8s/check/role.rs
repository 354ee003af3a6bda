//! The Deployment of a role: operator or controller.
use super::{Line, Verdict, line, unknown};
use crate::k8s::bootstrap::{missing, trouble};
use crate::k8s::client::Client;
use crate::k8s::manifests::names;
use k8s_openapi::api::apps::v1::Deployment;

/// Why no operator is at work.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Idle {
    /// There is none.
    Absent,
    /// Somebody scaled it to 0.
    Scaled,
    /// None of its pods is available.
    Unavailable,
}

impl Idle {
    /// Of an operator that is there.
    pub(super) fn of(live: &Deployment) -> Option<Self> {
        match available(live) {
            _ if wanted(live) == 0 => Some(Idle::Scaled),
            0 => Some(Idle::Unavailable),
            _ => None,
        }
    }
}

fn wanted(live: &Deployment) -> i32 {
    live.spec.replicas.unwrap_or(1)
}

fn available(live: &Deployment) -> i32 {
    live.status.as_ref().and_then(|s| s.available_replicas).unwrap_or(0)
}

/// How a role is; `todo` installs one that is not there.
pub(super) async fn role(
    client: &Client,
    namespace: &str,
    name: &'static str,
    live: &kube::Result<Option<Deployment>>,
    todo: &str,
) -> Line {
    match live {
        Err(error) => unknown(name, error),
        Ok(None) => line(name, Verdict::Fail, format!("it is not in {namespace}; run {todo}")),
        Ok(Some(live)) => {
            let lacks = match missing(live) {
                None => None,
                Some(words) => Some(trouble(client, live).await.unwrap_or(words)),
            };
            judge(namespace, name, live, lacks, todo)
        }
    }
}

/// `lacks` is what its rollout lacks, if anything: in the words of its pods where they have any.
fn judge(namespace: &str, name: &'static str, live: &Deployment, lacks: Option<String>, todo: &str) -> Line {
    let (wanted, available) = (wanted(live), available(live));
    if wanted == 0 {
        let idle = if name == names::OPERATOR {
            "no Provider gets a workload, follows an edit or ends its deletion"
        } else {
            "no class says in its status how its Providers are"
        };
        let says = format!(
            "it is scaled to 0: {idle}; run `kubectl -n {namespace} scale deployment {name} --replicas=1`, or {todo}"
        );
        return line(name, Verdict::Fail, says);
    }
    let containers = live.spec.template.spec.iter().flat_map(|s| &s.containers);
    let image = containers.filter_map(|c| c.image.as_deref()).next().unwrap_or_default();
    let count = format!("{available} of {wanted} pods available");
    let Some(lacks) = lacks else { return line(name, Verdict::Ok, format!("{count}, {image}")) };
    let why = if lacks == count { String::new() } else { format!("; {lacks}") };
    let says = format!("{count}, {image}{why}; see `kubectl -n {namespace} describe deployment {name}`");
    line(name, if available == 0 { Verdict::Fail } else { Verdict::Warn }, says)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;
    use serde_json::{Value, json};

    fn deployment(replicas: i32, status: Value) -> Deployment {
        serde_json::from_value(json!({
            "spec": { "replicas": replicas, "selector": {},
                "template": { "spec": { "containers": [{ "name": "c", "image": "r/banlieue:1" }] } } },
            "status": status,
        }))
        .unwrap()
    }

    /// Counts as a complete rollout has them.
    fn pods(updated: i32, available: i32, all: i32) -> Value {
        json!({ "updatedReplicas": updated, "availableReplicas": available, "replicas": all })
    }

    #[rstest]
    #[case::whole(deployment(1, pods(1, 1, 1)), Verdict::Ok, "1 of 1", None)]
    #[case::of_nothing(deployment(0, json!({})), Verdict::Fail, "scale deployment", Some(Idle::Scaled))]
    #[case::on_its_way_down(deployment(0, pods(0, 1, 1)), Verdict::Fail, "scaled to 0", Some(Idle::Scaled))]
    #[case::none_is_up(deployment(1, pods(1, 0, 1)), Verdict::Fail, "describe deployment", Some(Idle::Unavailable))]
    #[case::one_is_up(deployment(2, pods(2, 1, 2)), Verdict::Warn, "1 of 2", None)]
    #[case::the_old_one_is_up(deployment(1, pods(1, 1, 2)), Verdict::Warn, "1 old pods to go", None)]
    fn less_than_wanted_is_told(
        #[case] live: Deployment,
        #[case] verdict: Verdict,
        #[case] says: &str,
        #[case] idle: Option<Idle>,
    ) {
        for name in [names::OPERATOR, names::CONTROLLER] {
            let found = judge("n", name, &live, missing(&live), "it");
            assert_eq!(found.verdict, verdict, "{found:?}");
            assert!(found.message.contains(says), "{found:?}");
            assert!(verdict == Verdict::Ok || found.message.contains("kubectl -n n "), "{found:?}");
        }
        assert_eq!(Idle::of(&live), idle);
    }

    #[test]
    fn the_words_of_its_pods_are_told() {
        let live = deployment(1, pods(1, 0, 1));
        let found = judge("n", names::OPERATOR, &live, Some("pod p: ErrImagePull not found".into()), "it");
        assert!(found.message.contains("r/banlieue:1; pod p: ErrImagePull not found; see"), "{found:?}");
    }
}
