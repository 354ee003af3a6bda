//! A Provider that moves to another backend, and back: nothing of the one stays with the other.
use crate::place::condition;
use crate::sim::Sim;
use crate::site::Site;
use crate::stage::Stage;
use crate::until::SOON;
use crate::watch;
use anyhow::{Context, Result, ensure};
use banlieue::k8s::crd::ConditionStatus::{False, True};
use banlieue::k8s::crd::{Aspect, Provider};
use banlieue_e2e::vcsim::Model;
use k8s_openapi::api::core::v1::Secret;
use kube::ResourceExt;
use kube::api::{Patch, PatchParams};
use serde_json::json;

/// Every condition is there once, and speaks of the spec as it is now; one writer has written them.
fn whole(provider: &Provider) -> Result<()> {
    let conditions = &provider.status.as_ref().context("no status")?.conditions;
    let shown = || watch::show(&Some(provider));
    ensure!(conditions.len() == Aspect::ALL.len(), "{} conditions: {}", conditions.len(), shown());
    for aspect in Aspect::ALL {
        let condition = condition(provider, aspect.as_str()).with_context(|| format!("no {aspect:?}: {}", shown()))?;
        ensure!(condition.observed_generation == provider.metadata.generation, "{condition:?} is stale: {}", shown());
    }
    let fields = provider
        .managed_fields()
        .iter()
        .filter(|e| e.fields_v1.as_ref().is_some_and(|f| f.0.pointer("/f:status/f:conditions").is_some()));
    let writers: Vec<_> = fields.filter_map(|e| e.manager.as_deref()).collect();
    ensure!(writers == ["banlieue.io/provider"], "written by {writers:?}");
    Ok(())
}

/// From a vCenter to a Proxmox, which answers as none, and back.
pub(crate) async fn to_another_backend_and_back_leaves_nothing_stale(stage: &Stage) -> Result<()> {
    let site = Site::new(stage, "repoint").await?;
    let sim = Sim::start(stage, "repoint", Model::default())?;
    let token = json!({"username": "banlieue@pve!operator", "tokenValue": "12345678-1234-1234-1234-123456789abc"});
    let body = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "pve"}, "stringData": token});
    site.api::<Secret>().patch("pve", &PatchParams::apply("test").force(), &Patch::Apply(body)).await?;
    whole(&site.join(&sim, "vc").await?)?;

    let endpoint = sim.endpoint.trim_end_matches("/sdk");
    let proxmox = json!({"providerClassRef": {"name": "proxmox"}, "connection": {"endpoint": endpoint, "credentialsRef": {"name": "pve"}}});
    let edited = site.edit("vc", proxmox).await?;
    let lied = |p: &Provider| {
        condition(p, "Ready").is_some_and(|c| c.status == True && c.observed_generation == edited.metadata.generation)
    };
    let story = site.says("vc", "Ready", (False, "UnexpectedAnswer"), SOON);
    let provider = site.while_never("vc", "what the vCenter said is said of the Proxmox", lied, story).await?;
    whole(&provider)?;
    let status = provider.status.clone().unwrap_or_default();
    ensure!(status.backend.is_none() && status.failure_domains.is_empty(), "{}", watch::show(&Some(&provider)));
    watch::gone(&site.workload("vc").deployments, &site.workload("vc").pods, SOON).await?;
    sim.sessions(0).await?;

    let vsphere = json!({"providerClassRef": {"name": "vsphere"}, "connection": {"endpoint": sim.endpoint, "credentialsRef": {"name": "vc"}}});
    site.edit("vc", vsphere).await?;
    let provider = site.says("vc", "Ready", (True, "BackendAvailable"), SOON).await?;
    whole(&provider)?;
    let status = provider.status.clone().unwrap_or_default();
    ensure!(status.backend.is_some() && status.failure_domains.len() == 1, "{}", watch::show(&Some(&provider)));
    sim.sessions(1).await?;
    site.ready("vc").await?;
    site.end().await
}
