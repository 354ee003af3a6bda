//! Deletion: nothing is left, whoever was away meanwhile.
use crate::place::{Place, workload};
use crate::stage::Stage;
use crate::until::SOON;
use crate::watch;
use anyhow::{Context, Result, ensure};
use banlieue::fsm::{Phase, Reason};
use banlieue::k8s::crd::Provider;
use banlieue::k8s::manifests::names;
use banlieue::k8s::rollout;
use banlieue_e2e::rights::allowed;
use chrono::Utc;
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::Pod;
use kube::api::DeleteParams;
use kube::{Api, ResourceExt};
use std::time::Duration;

fn held(provider: &Provider) -> bool {
    provider.finalizers().iter().any(|f| f == names::FINALIZER)
}

/// None of the five, no Lease, no finalizer, no grant.
pub(crate) async fn nothing_is_left(stage: &Stage) -> Result<()> {
    let place = Place::new(stage, "removal").await?;
    place.register("vc").await?;
    ensure!(held(&place.ready("vc").await?), "the finalizer is not held");
    let objects = place.workload("vc");
    let account = format!("system:serviceaccount:{}:{}", place.namespace, objects.pods);
    ensure!(
        allowed(&stage.client, &account, ("banlieue.io", "providerclasses"), "list", None).await?,
        "the pod may not read classes"
    );
    place.remove("vc", &objects).await?;
    watch::gone(&place.api::<Lease>(), &names::lease(&place.namespace, "vc"), SOON).await?;
    ensure!(
        !allowed(&stage.client, &account, ("banlieue.io", "providerclasses"), "list", None).await?,
        "a grant is left for {account}"
    );
    place.clear().await
}

/// With a `workloadNamespace`, half of the five has no owner that would take it away.
pub(crate) async fn nothing_is_left_in_a_workload_namespace(stage: &Stage) -> Result<()> {
    let place = Place::new(stage, "apart").await?;
    let elsewhere = Place::new(stage, "apart-workloads").await?;
    let name = "apart";
    place.class(name, |class| class.spec.workload_namespace = Some(elsewhere.namespace.clone())).await?;
    place.secret("vc", &stage.cluster.vcsim()?.password).await?;
    let mut draft = place.draft("vc");
    draft.spec.provider_class_ref.name = name.into();
    place.create(&draft).await?;
    let provider = place.ready("vc").await?;
    ensure!(
        workload(&provider).is_some_and(|w| w.namespace.as_deref() == Some("apart-workloads")),
        "{}",
        watch::show(&Some(&provider))
    );

    let objects = place.workload_in(&elsewhere.namespace, "vc");
    let five = objects.there().await?;
    for references in [five.deployment.owner_references(), five.account.owner_references()] {
        ensure!(references.is_empty(), "an owner in another namespace: {references:?}");
    }
    ensure!(
        place.workload("vc").deployments.get_opt("banlieue-provider-vsphere-vc").await?.is_none(),
        "a Deployment beside the Provider too"
    );

    place.remove("vc", &objects).await?;
    // one that has ended may still be told of: nothing of it runs, and the kubelet takes it away
    let left = elsewhere.pods(&provider).await?;
    let running = left.iter().filter(|pod| !rollout::gone(pod, Utc::now())).map(|pod| pod.name_any());
    let running: Vec<_> = running.collect();
    ensure!(running.is_empty(), "still running are {running:?}");
    for pod in left {
        watch::gone(&elsewhere.api::<Pod>(), &pod.name_any(), SOON).await?;
    }
    let class: Api<banlieue::k8s::crd::ProviderClass> = Api::all(stage.client.clone());
    class.delete(name, &DeleteParams::default()).await?;
    elsewhere.clear().await?;
    place.clear().await
}

/// What never had a workload goes as easily.
pub(crate) async fn a_provider_without_a_class_can_be_deleted(stage: &Stage) -> Result<()> {
    let place = Place::new(stage, "classless").await?;
    let mut draft = place.draft("vc");
    draft.spec.provider_class_ref.name = "not-there-and-never-will-be".into();
    place.create(&draft).await?;
    place.phase("vc", Phase::Pending, Reason::ClassNotFound).await?;
    place.remove("vc", &place.workload("vc")).await?;
    place.clear().await
}

/// The operator is scaled to nothing, the Provider deleted, the operator brought back: it ends the same.
pub(crate) async fn what_was_deleted_while_the_operator_was_away(stage: &Stage) -> Result<()> {
    let place = Place::new(stage, "away").await?;
    place.register("vc").await?;
    place.ready("vc").await?;
    let objects = place.workload("vc");

    let operators = stage.operator_leaves().await?;
    place.api::<Provider>().delete("vc", &DeleteParams::default()).await?;
    watch::never(
        &place.api::<Provider>(),
        "vc",
        "its finalizer went without the operator",
        Duration::from_secs(3),
        |p| !held(p),
    )
    .await?;
    let binding = objects.cluster_role_bindings.get_opt(&objects.binding).await?;
    binding.context("the ClusterRoleBinding went by itself")?;

    stage.operator_returns(operators).await?;
    watch::gone(&place.api::<Provider>(), "vc", SOON).await?;
    objects.gone().await?;
    place.clear().await
}
