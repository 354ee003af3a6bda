//! The status write: what is ours alone, by server-side apply, and only if it differs.
use super::conditions::{is_stored, wanted};
use super::{Options, Seen, event};
use crate::effects::Refusal;
use crate::fsm::Fault;
use crate::k8s::crd::{Aspect, Condition, Provider};
use crate::k8s::manifests::names;
use crate::k8s::refusal::bounded;
use chrono::Utc;
use kube::api::{Patch, PatchParams};
use kube::{Api, Client, Resource};

/// How often a write is tried that the operator's own was faster than.
const TRIES: usize = 5;

/// Writes what was seen of a Provider, as it was read before the look; says whether there was anything to write. `before` is an
/// earlier generation of the same backend.
///
/// The write carries the resourceVersion, because neither name nor uid guard a status: a Provider of another uid is
/// never written to.
pub(super) async fn write(
    client: &Client,
    options: &Options,
    provider: &Provider,
    seen: &Seen,
    before: Option<i64>,
) -> Result<bool, Refusal> {
    let api: Api<Provider> = Api::namespaced(client.clone(), &options.namespace);
    let mut latest = provider.clone();
    for attempt in 1.. {
        // The generation that was acted on is the one of the look; a newer one is looked at next.
        latest.metadata.generation = provider.metadata.generation;
        let status = wanted(&latest, seen, before, Utc::now());
        if is_stored(&status, latest.status.as_ref()) {
            return Ok(false);
        }
        let body = serde_json::json!({
            "apiVersion": Provider::api_version(&()),
            "kind": Provider::kind(&()),
            "metadata": {"name": options.provider, "resourceVersion": latest.metadata.resource_version},
            "status": status,
        });
        let params = PatchParams::apply(names::MANAGER_PROVIDER).force();
        let body = Patch::Apply(body);
        let request = api.patch_status(&options.provider, &params, &body);
        match bounded("write the status", request).await {
            Ok(written) => {
                announce(client, options, &latest, &written).await;
                return Ok(true);
            }
            Err(refusal) if refusal.fault == Fault::Conflict && attempt < TRIES => {}
            Err(refusal) => return Err(refusal),
        }
        match bounded("read the Provider", api.get_opt(&options.provider)).await? {
            Some(now) if now.metadata.uid == provider.metadata.uid => latest = now,
            _ => return Ok(false),
        }
    }
    Ok(false)
}

/// One Event for each change of Ready's reason.
async fn announce(client: &Client, options: &Options, before: &Provider, after: &Provider) {
    let ready =
        |p: &Provider| p.status.as_ref().and_then(|s| Condition::find(&s.conditions, Aspect::Ready.as_str())).cloned();
    let Some(now) = ready(after) else { return };
    if ready(before).is_some_and(|then| then.reason == now.reason) {
        return;
    }
    let provider = &options.provider;
    tracing::info!(provider, ready = ?now.status, reason = now.reason, message = now.message, "the backend's state changed");
    if let Err(refusal) = event::publish(client, options, after, &now).await {
        tracing::warn!(provider, error = refusal.words, "the Event was not published");
    }
}
