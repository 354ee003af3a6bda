//! Whom a pod trusts: the sources of a CA, edited while it runs, and none at all.
use crate::place::condition;
use crate::site::{LOOK, Site};
use crate::stage::Stage;
use crate::watch;
use anyhow::{Context, Result, ensure};
use banlieue::k8s::crd::ConditionStatus::{False, True};
use banlieue::k8s::crd::{CaBundle, KeyRef, Provider};
use banlieue_e2e::files::RunDir;
use banlieue_e2e::pki::Authority;
use futures::future::try_join_all;
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kube::api::{Patch, PatchParams};
use serde_json::json;
use std::time::{Duration, Instant};

/// The Providers are called after where their CA comes from.
const SOURCES: [&str; 3] = ["inline", "map", "secret"];

/// Writes an authority into each of the three sources.
async fn publish(site: &Site, pem: &str) -> Result<()> {
    let apply = PatchParams::apply("test").force();
    let (map, secret) = (json!({"root.pem": pem}), json!({"ca.crt": pem}));
    let map = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "ca"}, "data": map});
    site.api::<ConfigMap>().patch("ca", &apply, &Patch::Apply(map)).await?;
    let secret = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "ca"}, "stringData": secret});
    site.api::<Secret>().patch("ca", &apply, &Patch::Apply(secret)).await?;
    if site.api::<Provider>().get_opt("inline").await?.is_some() {
        site.reconnect("inline", json!({"caBundle": {"inline": pem}})).await?;
    }
    Ok(())
}

fn source(name: &str, pem: &str) -> Option<CaBundle> {
    let key = |key: Option<&str>| Some(KeyRef { name: "ca".into(), key: key.map(Into::into) });
    Some(match name {
        "inline" => CaBundle { inline: Some(pem.into()), ..Default::default() },
        "map" => CaBundle { config_map_ref: key(Some("root.pem")), ..Default::default() },
        "secret" => CaBundle { secret_ref: key(None), ..Default::default() },
        _ => return None,
    })
}

/// Each source is used, and so is its edit: within 40 seconds, without a restart. Without any, the certificate is not
/// trusted; without the check, it is not looked at, and a condition says so.
pub(crate) async fn a_ca_of_each_source_and_its_edit(stage: &Stage) -> Result<()> {
    let site = Site::new(stage, "trust").await?;
    let sim = stage.cluster.vcsim()?;
    publish(&site, &sim.ca_pem).await?;
    for name in SOURCES.into_iter().chain(["none"]) {
        site.secret(name, &sim.password).await?;
        let mut draft = site.draft(name);
        draft.spec.connection.ca_bundle = source(name, &sim.ca_pem);
        site.create(&draft).await?;
    }
    let untrusted = (False, "CertificateUntrusted");
    let provider = site.says("none", "TLSVerified", untrusted, LOOK).await?;
    let ready = condition(&provider, "Ready").context("no Ready")?;
    ensure!((ready.status, ready.reason.as_str()) == untrusted, "{ready:?}");
    site.reconnect("none", json!({"insecureSkipTLSVerify": true})).await?;
    for name in SOURCES {
        site.good(name).await?;
    }

    let foreign = RunDir::at(stage.cluster.run_dir().join("test/foreign"));
    Authority::create(&foreign)?;
    let foreign = std::fs::read_to_string(foreign.join("pki/ca.crt"))?;
    for (pem, type_, outcome) in
        [(&foreign, "TLSVerified", untrusted), (&sim.ca_pem, "Ready", (True, "BackendAvailable"))]
    {
        let began = Instant::now();
        publish(&site, pem).await?;
        let used = try_join_all(SOURCES.map(async |name| {
            let provider = site.says(name, type_, outcome, LOOK).await?;
            let known = provider.status.as_ref().map_or(0, |s| s.failure_domains.len());
            ensure!(known > 0, "what was known is gone: {}", watch::show(&Some(&provider)));
            anyhow::Ok(began.elapsed())
        }))
        .await?;
        let seconds = used.iter().map(Duration::as_secs_f64).map(|s| format!("{s:.1}")).collect::<Vec<_>>().join(", ");
        println!("figure: an edited caBundle is used after (inline, ConfigMap, Secret): {seconds} s");
    }
    for name in SOURCES {
        site.undisturbed(name).await?;
    }
    site.good("none").await?;
    site.says("none", "TLSVerified", (False, "VerificationSkipped"), LOOK).await?;
    site.end().await
}
