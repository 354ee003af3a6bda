//! The Secret and the CA source of a Provider, read afresh for each look: never watched, never kept.
use super::Target;
use crate::effects::Refusal;
use crate::fsm::Fault;
use crate::k8s::crd::{CaBundle, Finding, FindingReason as Reason, KeyRef, Provider};
use crate::k8s::refusal::bounded;
use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kube::{Api, Client};
use std::collections::BTreeMap;

/// What is there to reach the backend with, or the finding that it is not. The error is trouble with the API server,
/// which says nothing about the backend.
pub(super) async fn read(
    client: &Client,
    namespace: &str,
    provider: &Provider,
) -> Result<Result<Target, Finding>, Refusal> {
    let connection = provider.spec.connection.clone();
    let name = &connection.credentials_ref.name;
    let secret = match secret(client, namespace, name).await {
        Ok(Some(data)) => data,
        Ok(None) => {
            return Ok(Err(Finding::new(Reason::SecretNotFound, format!("the Secret {name} does not exist"))));
        }
        Err(refusal) => return unreadable(Reason::SecretUnreadable, refusal),
    };
    let ca_bundle = match &connection.ca_bundle {
        Some(source) => match authority(client, namespace, source).await {
            Ok(Ok(bytes)) => Some(bytes),
            Ok(Err(what)) => return Ok(Err(Finding::new(Reason::CABundleNotFound, what))),
            Err(refusal) => return unreadable(Reason::CABundleNotFound, refusal),
        },
        None => None,
    };
    let secret = secret.into_iter().map(|(key, value)| (key, value.0)).collect();
    Ok(Ok(Target { connection, secret, ca_bundle }))
}

async fn secret(client: &Client, namespace: &str, name: &str) -> Result<Option<BTreeMap<String, ByteString>>, Refusal> {
    let api: Api<Secret> = Api::namespaced(client.clone(), namespace);
    Ok(bounded("read the Secret", api.get_opt(name)).await?.map(|s| s.data.unwrap_or_default()))
}

/// The bytes of a CA source, or what of it is missing.
async fn authority(client: &Client, namespace: &str, source: &CaBundle) -> Result<Result<Vec<u8>, String>, Refusal> {
    if let Some(inline) = &source.inline {
        return Ok(Ok(inline.clone().into_bytes()));
    }
    if let Some(KeyRef { name, .. }) = &source.secret_ref {
        let data = secret(client, namespace, name).await?;
        return Ok(keyed("Secret", source.secret_ref.as_ref(), data, |value| value.0));
    }
    let Some(KeyRef { name, .. }) = &source.config_map_ref else {
        return Ok(Err("the caBundle names no source".into()));
    };
    let api: Api<ConfigMap> = Api::namespaced(client.clone(), namespace);
    let data = bounded("read the ConfigMap", api.get_opt(name)).await?.map(|map| map.data.unwrap_or_default());
    Ok(keyed("ConfigMap", source.config_map_ref.as_ref(), data, String::into_bytes))
}

fn keyed<V>(
    kind: &str,
    reference: Option<&KeyRef>,
    data: Option<BTreeMap<String, V>>,
    bytes: fn(V) -> Vec<u8>,
) -> Result<Vec<u8>, String> {
    let (name, key) = reference.map(|r| (r.name.as_str(), r.key())).unwrap_or_default();
    let mut data = data.ok_or_else(|| format!("the {kind} {name} of the caBundle does not exist"))?;
    data.remove(key).map(bytes).ok_or_else(|| format!("the {kind} {name} of the caBundle has no key {key}"))
}

/// A refusal of the API server is a finding: it will not change by itself. Anything else is trouble on the way.
fn unreadable<T>(reason: Reason, refusal: Refusal) -> Result<Result<T, Finding>, Refusal> {
    match refusal.fault {
        Fault::Refused | Fault::NotFound => Ok(Err(Finding::new(reason, refusal.words))),
        _ => Err(refusal),
    }
}
