//! The orphan sweep takes nothing for gone that it was not told is gone.
use crate::detour::{Detour, Fault, alone};
use crate::five::SOON;
use crate::place::Place;
use crate::stage::Stage;
use crate::until::until;
use anyhow::{Result, ensure};
use banlieue::fsm::Part;
use banlieue_e2e::watch;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::Api;
use kube::api::{DeleteParams, PostParams};
use serde_json::json;
use std::time::Duration;

/// A sweep that stopped is tried again after half a minute, and an orphan is looked at twice, half a minute apart.
const SWEPT: Duration = Duration::from_secs(120);

/// A proxy that answers bare 404s, then a version of the kind that is not served: the sweep stops and says so each time.
/// Once the API server speaks of the Provider itself, the orphan goes.
pub(crate) async fn a_404_that_names_nobody_stops_it(stage: &Stage) -> Result<()> {
    let place = Place::new(stage, "sweep").await?;
    place.registered("torn").await?;
    let five = place.five("torn");
    alone(stage, async || {
        place.delete("torn", &DeleteParams::default()).await?;
        place.edit("torn", json!({ "metadata": { "finalizers": null } })).await?;
        watch::gone(&place.providers, "torn", SOON).await?;
        let bare =
            |asked: &banlieue_e2e::proxy::Asked| asked.uri.path().ends_with("/providers/torn").then_some(Fault::Bare);
        let detour = Detour::start(stage, &["--no-leader-elect"], bare).await?;
        let stopped = async |times: f64| {
            until("the sweep says that it stopped", SWEPT, async || {
                let seen = detour.operator.metric("banlieue_sweeps_stopped_total").await?.unwrap_or_default();
                Ok(if seen >= times { Ok(()) } else { Err(format!("{seen} of {times}")) })
            })
            .await?;
            ensure!(five.find(Part::ClusterRoleBinding).await?.is_some(), "it swept on the word of a stranger");
            anyhow::Ok(())
        };
        stopped(1.0).await?;
        serve(stage, false).await?;
        detour.faults.plot(|_| None);
        let unserved = stopped(2.0).await;
        serve(stage, true).await?;
        unserved?;
        until("the orphan is swept", SWEPT, async || {
            let there = five.find(Part::ClusterRoleBinding).await?.is_some();
            Ok(if there { Err("it is there".into()) } else { Ok(()) })
        })
        .await?;
        let swept = detour.operator.metric("banlieue_orphans_removed_total").await?;
        ensure!(swept >= Some(1.0), "the metric says {swept:?}");
        ensure!(detour.log()?.contains("removed an orphan"), "no line of audit");
        detour.operator.stop().await
    })
    .await
}

/// Whether the version of Providers is served.
async fn serve(stage: &Stage, served: bool) -> Result<()> {
    let kinds: Api<CustomResourceDefinition> = Api::all(stage.client.clone());
    let mut kind = kinds.get("providers.banlieue.io").await?;
    for version in &mut kind.spec.versions {
        version.served = served;
    }
    kinds.replace("providers.banlieue.io", &PostParams::default(), &kind).await?;
    let providers: Api<banlieue::k8s::crd::Provider> = Api::all(stage.client.clone());
    until("the API server knows", SOON, async || {
        let answer = providers.list_metadata(&Default::default()).await.is_ok();
        Ok(if answer == served { Ok(()) } else { Err(format!("served: {answer}")) })
    })
    .await
}
