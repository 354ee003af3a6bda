//! What is there after a removal.
use crate::stage::{SOON, Stage, provider, text};
use anyhow::{Context, Result, ensure};
use banlieue::fsm::Part;
use banlieue::k8s::crd::Provider;
use banlieue::k8s::kinds;
use banlieue::k8s::manifests::names;
use banlieue_e2e::watch;
use kube::ResourceExt;
use kube::api::{Api, ListParams};

/// Checked before, planned, installed, looked at, removed: as it was. A second removal is quiet.
pub(crate) async fn a_cluster_is_as_it_was(stage: &Stage) -> Result<()> {
    let before = stage.objects().await?;
    let pre = stage.done(&["check", "--pre"])?;
    ensure!(!pre.contains("fail") && pre.contains("will be made"), "check --pre: {pre}");
    let plan = stage.done(&["bootstrap", "operator", "--plan"])?;
    ensure!(plan.contains("would be installed") && !plan.contains("unchanged  "), "{plan}");
    ensure!(stage.objects().await? == before, "a plan wrote something");

    stage.done(&["bootstrap", "operator", "--no-wait"])?;
    let operator = stage.operator().await?;
    let again = stage.done(&["bootstrap", "operator", "--plan", "--replicas", "2"])?;
    ensure!(again.contains("0 created, 2 changed") && again.contains("spec.replicas"), "{again}");
    // a kind that is made anew may be asked for only after a while
    crate::until::until("check finds it whole", SOON, async || {
        let check = text(&stage.banlieue(&["check"])?);
        let whole = ["all are there", "11, without a warning", "every policy denies", "none is left of a Provider"];
        Ok(if whole.iter().all(|found| check.contains(found)) { Ok(()) } else { Err(check) })
    })
    .await?;
    stage.cluster.kubectl(["delete", "validatingadmissionpolicybinding", "banlieue-fence-roles"])?;
    crate::until::until("check tells of an open fence", SOON, async || {
        let output = stage.banlieue(&["check", "--output", "json"])?;
        let told = output.status.code() == Some(1) && text(&output).contains("banlieue-fence-roles: it lets pass");
        Ok(if told { Ok(()) } else { Err(text(&output)) })
    })
    .await?;
    drop(operator);

    let installed = stage.objects().await?;
    let dry = stage.done(&["uninstall", "--all", "--dry-run"])?;
    let goes = ["goes       Deployment banlieue-system/banlieue-operator", "goes       Namespace banlieue-system"];
    ensure!(goes.iter().all(|line| dry.contains(line)) && dry.contains("nothing was removed"), "{dry}");
    ensure!(stage.objects().await? == installed, "a dry run removed something");
    let asked = stage.banlieue(&["uninstall", "--all"])?;
    ensure!(asked.status.code() == Some(64) && text(&asked).contains("--yes"), "{}", text(&asked));
    stage.done(&["uninstall", "--all", "--yes"])?;
    crate::until::until("the cluster is as it was", SOON, async || {
        let after = stage.objects().await?;
        let more: Vec<_> = after.symmetric_difference(&before).cloned().collect();
        Ok(if more.is_empty() { Ok(()) } else { Err(more.join("\n")) })
    })
    .await?;
    let second = stage.done(&["uninstall", "--all", "--yes"])?;
    ensure!(second.contains("nothing to remove"), "{second}");
    Ok(())
}

/// Workload, finalizer and what the operator said are gone; the Provider is not.
pub(crate) async fn providers_stay_and_nothing_of_ours_does(stage: &Stage) -> Result<()> {
    stage.done(&["bootstrap", "operator", "--no-wait"])?;
    let operator = stage.operator().await?;
    stage.cluster.kubectl(["create", "namespace", "kept"])?;
    stage.cluster.apply(&provider("kept", "vc", "vsphere"))?;
    let api: Api<Provider> = Api::namespaced(stage.client.clone(), "kept");
    let minted = |p: &Provider| {
        p.finalizers().iter().any(|f| f == names::FINALIZER)
            && p.status.as_ref().and_then(|s| s.workload.as_ref()).is_some_and(|w| w.deployment_name.is_some())
    };
    watch::see(&api, "vc", "it is minted", SOON, minted).await?;
    operator.stop().await?;
    stage.done(&["uninstall", "--yes"])?;
    let left = api.get("vc").await?;
    ensure!(left.finalizers().is_empty(), "a finalizer is left: {:?}", left.finalizers());
    ensure!(left.status.is_none_or(|s| s.workload.is_none()), "status.workload is left");
    for part in Part::ALL {
        let stamped = ListParams::default().labels(names::PROVIDER_UID);
        let left = kinds::everywhere(&stage.client, part).list(&stamped).await?;
        let first = left.items.first().map(ResourceExt::name_any);
        ensure!(first.is_none(), "{} {} is left", part.kind(), first.context("none")?);
    }
    stage.done(&["uninstall", "--all", "--yes"])?;
    stage.cluster.kubectl(["delete", "namespace", "kept"])?;
    Ok(())
}
