//! Backends other than vSphere, in pods.
use crate::place::{Place, condition};
use crate::stage::Stage;
use crate::watch;
use anyhow::{Context, Result, ensure};
use banlieue::k8s::crd::{CaBundle, ConditionStatus, Provider};
use banlieue_e2e::pki::Pair;
use banlieue_e2e::progress::Progress;
use k8s_openapi::api::core::v1::Secret;
use kube::Api;
use kube::api::{DeleteParams, Patch, PatchParams};
use serde_json::json;
use std::time::Duration;

/// How long a pod may take to act on a Secret: it looks every 40 seconds at most.
const LOOKS: Duration = Duration::from_secs(150);

/// Puts a certificate and its key into the Secret.
async fn put(secrets: &Api<Secret>, name: &str, pair: &Pair) -> Result<()> {
    let (certificate, key) = (std::fs::read_to_string(&pair.cert)?, std::fs::read_to_string(&pair.key)?);
    let body = json!({
        "apiVersion": "v1", "kind": "Secret", "metadata": {"name": name},
        "stringData": {"tls.crt": certificate, "tls.key": key},
    });
    secrets.patch(name, &PatchParams::apply("test").force(), &Patch::Apply(body)).await?;
    Ok(())
}

async fn says(place: &Place, name: &str, type_: &str, status: ConditionStatus, reason: &str) -> Result<Provider> {
    let what = format!("{type_}={status:?} for {reason}");
    watch::see(&place.api(), name, &what, LOOKS, |p: &Provider| {
        condition(p, type_).is_some_and(|c| c.status == status && c.reason == reason)
    })
    .await
}

async fn removed(place: &Place, name: &str) -> Result<()> {
    place.api::<Provider>().delete(name, &DeleteParams::default()).await?;
    watch::gone(&place.api::<Provider>(), name, LOOKS).await
}

/// Debian's libvirtd over TLS: connect, a certificate that it does not accept, the right one again, its end and its return.
pub(crate) async fn a_libvirt_host_becomes_ready_and_its_certificate_is_the_login(stage: &Stage) -> Result<()> {
    let place = Place::new(stage, "hosts").await?;
    let host = stage.cluster.start_libvirt(9200, Progress::loud())?;
    put(&place.api(), "host", &host.client).await?;
    let mut draft = place.draft("host");
    draft.spec.provider_class_ref.name = "libvirt".into();
    draft.spec.connection.endpoint = host.endpoint.clone();
    draft.spec.connection.ca_bundle = Some(CaBundle { inline: Some(host.ca_pem.clone()), ..Default::default() });
    place.create(&draft).await?;
    place.ready("host").await?;
    let provider = says(&place, "host", "Ready", ConditionStatus::True, "BackendAvailable").await?;
    let status = provider.status.as_ref().context("no status")?;
    ensure!(status.backend.as_ref().is_some_and(|b| b.product.as_deref() == Some("TEST")), "{:?}", status.backend);
    let domains = &status.failure_domains;
    ensure!(domains.len() == 1 && domains[0].datastores == ["default-pool"], "{domains:?}");

    put(&place.api(), "host", &host.stranger).await?;
    let provider = says(&place, "host", "Authenticated", ConditionStatus::False, "ClientCertificateRefused").await?;
    ensure!(provider.status.is_some_and(|s| s.failure_domains.len() == 1), "what was known is not kept");
    put(&place.api(), "host", &host.client).await?;
    says(&place, "host", "Ready", ConditionStatus::True, "BackendAvailable").await?;

    stage.cluster.stop_component("libvirtd")?;
    says(&place, "host", "Reachable", ConditionStatus::False, "ConnectionRefused").await?;
    stage.cluster.start_component("libvirtd")?;
    says(&place, "host", "Ready", ConditionStatus::True, "BackendAvailable").await?;
    removed(&place, "host").await?;
    place.clear().await
}

/// The keys of a vCenter's Secret for a Proxmox: nothing is sent, and the condition says which key is missing.
pub(crate) async fn a_secret_of_another_backend_is_said_so(stage: &Stage) -> Result<()> {
    let place = Place::new(stage, "keys").await?;
    place.secret("pve", "irrelevant").await?;
    let mut draft = place.draft("pve");
    draft.spec.provider_class_ref.name = "proxmox".into();
    place.create(&draft).await?;
    let provider = says(&place, "pve", "CredentialsValid", ConditionStatus::False, "SecretKeyMissing").await?;
    let why = condition(&provider, "CredentialsValid").context("no condition")?;
    ensure!(why.message == "the key tokenValue of the Secret is missing; it has password, username", "{why:?}");
    ensure!(condition(&provider, "Reachable").is_some_and(|c| c.status == ConditionStatus::Unknown), "{why:?}");
    removed(&place, "pve").await?;
    place.clear().await
}
