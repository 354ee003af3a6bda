//! What a Provider refers to and is not there, or cannot be used: one reason each, and its correction is used by itself.
use crate::place::condition;
use crate::site::{LOOK, Site};
use crate::stage::Stage;
use crate::watch;
use anyhow::{Context, Result, ensure};
use banlieue::k8s::crd::ConditionStatus::False;
use banlieue::k8s::crd::{CaBundle, KeyRef};
use futures::future::try_join_all;
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kube::api::{Patch, PatchParams};
use serde_json::{Value, json};
use std::time::Instant;

/// What the password of a Secret is where it must not be shown.
const PASSWORD: &str = "hunter2-marker";

/// (the Provider, what its Secret has at first, what its ConfigMap has at first, the condition, the reason, a word of the message)
type Case = (&'static str, Option<Value>, Option<Value>, &'static str, &'static str, &'static str);

fn cases(ca: &str) -> Vec<Case> {
    let (user, good) = ("svc-banlieue@vsphere.local", json!({"ca.crt": ca}));
    let secret = json!({"username": user, "password": PASSWORD});
    let newline = json!({"username": user, "password": format!("{PASSWORD}\n")});
    let (found, trust) = ("CredentialsValid", "TLSVerified");
    vec![
        ("absent", None, Some(good.clone()), found, "SecretNotFound", "absent"),
        ("keyless", Some(json!({"user": user})), Some(good.clone()), found, "SecretKeyMissing", "username"),
        (
            "empty",
            Some(json!({"username": user, "password": ""})),
            Some(good.clone()),
            found,
            "SecretKeyMissing",
            "is empty",
        ),
        ("newline", Some(newline), Some(good), found, "SecretKeyMalformed", "newline"),
        ("mapless", Some(secret.clone()), None, trust, "CABundleNotFound", "mapless"),
        ("caless", Some(secret.clone()), Some(json!({"tls.crt": ca})), trust, "CABundleNotFound", "no key ca.crt"),
        ("no-pem", Some(secret), Some(json!({"ca.crt": "nonsense"})), trust, "CABundleInvalid", "no certificate"),
    ]
}

async fn put(site: &Site, name: &str, secret: Option<&Value>, map: Option<&Value>) -> Result<()> {
    let apply = PatchParams::apply("test").force();
    if let Some(data) = secret {
        let body = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name}, "stringData": data});
        site.api::<Secret>().patch(name, &apply, &Patch::Apply(body)).await?;
    }
    if let Some(data) = map {
        let body = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data});
        site.api::<ConfigMap>().patch(name, &apply, &Patch::Apply(body)).await?;
    }
    Ok(())
}

/// Each has its reason in the condition it belongs to, nothing is sent, and within 40 seconds after the correction all is well.
pub(crate) async fn what_is_missing_or_broken_is_named_and_its_correction_used(stage: &Stage) -> Result<()> {
    let site = Site::new(stage, "references").await?;
    let sim = stage.cluster.vcsim()?;
    let cases = cases(&sim.ca_pem);
    for (name, secret, map, ..) in &cases {
        put(&site, name, secret.as_ref(), map.as_ref()).await?;
        let mut draft = site.draft(name);
        let reference = KeyRef { name: (*name).into(), key: None };
        draft.spec.connection.ca_bundle = Some(CaBundle { config_map_ref: Some(reference), ..Default::default() });
        site.create(&draft).await?;
    }
    for (name, _, _, type_, reason, word) in &cases {
        let provider = site.says(name, type_, (False, reason), LOOK).await?;
        let shown = watch::show(&Some(&provider));
        let message = &condition(&provider, type_).context("no condition")?.message;
        ensure!(message.contains(word), "{word:?} is not in {message:?}");
        ensure!(!shown.contains(PASSWORD), "the status repeats the password: {shown}");
        let ready = condition(&provider, "Ready").context("no Ready")?;
        ensure!(ready.status == False && ready.reason == *reason, "{ready:?}");
    }
    let right = json!({"username": sim.username, "password": sim.password});
    let began = Instant::now();
    for (name, ..) in &cases {
        put(&site, name, Some(&right), Some(&json!({"ca.crt": sim.ca_pem}))).await?;
    }
    try_join_all(cases.iter().map(|(name, ..)| site.good(name))).await?;
    let took = began.elapsed();
    println!(
        "figure: {} corrected Secrets and CA sources are used after at most {:.1} s",
        cases.len(),
        took.as_secs_f64()
    );
    ensure!(took < LOOK, "{took:?}");
    for (name, ..) in &cases {
        site.undisturbed(name).await?;
    }
    site.end().await
}
