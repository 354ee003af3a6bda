//! Objects that tests of every suite make.
use anyhow::{Context, Result};
use banlieue::k8s::crd::{Backend, ProviderClass};
use k8s_openapi::api::core::v1::Namespace;
use kube::api::PostParams;
use kube::{Api, Client};
use serde_json::{Value, json};

/// A new namespace.
pub async fn namespace(client: &Client, name: &str) -> Result<()> {
    let namespace = serde_json::from_value(json!({ "metadata": { "name": name } }))?;
    Api::<Namespace>::all(client.clone()).create(&PostParams::default(), &namespace).await?;
    Ok(())
}

/// A new class, with an image that nobody can pull; `more` is merged into its spec.
pub async fn class(client: &Client, name: &str, backend: Backend, more: Value) -> Result<ProviderClass> {
    let mut spec = json!({ "backend": backend, "image": { "repository": "registry.invalid/banlieue", "tag": "1" } });
    for (field, content) in more.as_object().into_iter().flatten() {
        spec[field] = content.clone();
    }
    let class = ProviderClass::new(name, serde_json::from_value(spec)?);
    let api: Api<ProviderClass> = Api::all(client.clone());
    api.create(&PostParams::default(), &class).await.context("the class was not taken")
}
