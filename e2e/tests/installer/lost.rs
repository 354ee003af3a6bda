//! The operator's namespace was deleted by hand, and Providers are left in others.
use crate::stage::{SOON, Stage, failure, minted, provider, text};
use crate::until::until;
use anyhow::{Result, ensure};
use banlieue::fsm::Part;
use banlieue::k8s::crd::Provider;
use banlieue::k8s::kinds;
use banlieue::k8s::manifests::names;
use banlieue_e2e::watch;
use k8s_openapi::api::core::v1::Namespace;
use kube::ResourceExt;
use kube::api::{Api, ListParams};

/// Where the Providers are.
const LEFT: &str = "left";

/// A deleted Provider hangs, `check` names it and says what to do, and both that it names release it.
pub(crate) async fn with_its_namespace(stage: &Stage) -> Result<()> {
    stage.done(&["bootstrap", "operator", "--no-wait"])?;
    let mut operator = stage.operator().await?;
    stage.cluster.kubectl(["create", "namespace", LEFT])?;
    let api: Api<Provider> = Api::namespaced(stage.client.clone(), LEFT);
    for name in ["goes", "stays"] {
        stage.cluster.apply(&provider(LEFT, name, "vsphere"))?;
        watch::see(&api, name, "it is minted", SOON, minted).await?;
    }
    stage.available().await?;
    stage.told("no Provider waits for its end").await?;

    // first way: bootstrap again
    stage.cluster.kubectl(["delete", "namespace", names::DEFAULT_NAMESPACE])?;
    drop(operator);
    hangs(stage, &api, "goes").await?;
    stage.told("these hang in their deletion: left/goes").await?;
    let says = stage.told("these would, once they are deleted: left/stays").await?;
    ensure!(says.contains("missing: Namespace banlieue-system, "), "what is missing is not listed: {says}");
    ensure!(["`banlieue bootstrap operator`", "`banlieue uninstall`"].iter().all(|w| says.contains(w)), "{says}");
    stage.done(&["bootstrap", "operator", "--no-wait"])?;
    operator = stage.operator().await?;
    watch::gone(&api, "goes", SOON).await?;
    stage.available().await?;
    stage.told("no Provider waits for its end").await?;
    left(stage, |name| name.ends_with("stays")).await?;
    ensure!(minted(&api.get("stays").await?), "what was not deleted lost its workload");

    // second way: uninstall
    stage.cluster.kubectl(["delete", "namespace", names::DEFAULT_NAMESPACE])?;
    drop(operator);
    hangs(stage, &api, "stays").await?;
    stage.told("these hang in their deletion: left/stays").await?;
    stage.done(&["uninstall", "--yes"])?;
    watch::gone(&api, "stays", SOON).await?;
    left(stage, |_| false).await?;
    let says = stage.told("there is none, only CustomResourceDefinition ").await?;
    ensure!(says.lines().count() == 1, "more than that nothing is installed: {says}");
    stage.done(&["uninstall", "--all", "--yes"])?;
    stage.cluster.kubectl(["delete", "namespace", LEFT])?;
    Ok(())
}

/// Providers were in it, too, and our finalizers keep it: nothing can be installed there, `bootstrap` says what to do, and that works.
pub(crate) async fn with_its_namespace_and_what_is_in_it(stage: &Stage) -> Result<()> {
    const NAMESPACE: &str = names::DEFAULT_NAMESPACE;
    stage.done(&["bootstrap", "operator", "--no-wait"])?;
    let operator = stage.operator().await?;
    let api: Api<Provider> = Api::namespaced(stage.client.clone(), NAMESPACE);
    stage.cluster.apply(&provider(NAMESPACE, "within", "vsphere"))?;
    watch::see(&api, "within", "it is minted", SOON, minted).await?;
    operator.stop().await?;
    stage.cluster.kubectl(["delete", "namespace", NAMESPACE, "--wait=false"])?;
    // the API server's own words come with the namespace controller's first try
    let says = ["banlieue.io/provider-workload", "run `banlieue uninstall --namespace banlieue-system`"];
    until("it says what holds the namespace", SOON, async || {
        let said = failure(&stage.banlieue(&["bootstrap", "operator", "--no-wait"])?)?;
        Ok(if says.iter().all(|words| said.contains(words)) { Ok(()) } else { Err(said) })
    })
    .await?;
    for args in [&["check", "--pre"][..], &["check"]] {
        let check = text(&stage.banlieue(args)?);
        ensure!(says.iter().all(|words| check.contains(words)), "{check}");
    }

    let dry = stage.done(&["uninstall", "--dry-run"])?;
    let goes =
        ["Provider banlieue-system/within: it is being deleted", "Namespace banlieue-system: it is being deleted"];
    ensure!(goes.iter().all(|what| dry.contains(&format!("goes       {what}"))), "{dry}");
    stage.done(&["uninstall", "--yes", "--namespace", NAMESPACE])?;
    let namespaces: Api<Namespace> = Api::all(stage.client.clone());
    watch::gone(&namespaces, NAMESPACE, SOON).await?;
    left(stage, |_| false).await?;
    stage.done(&["bootstrap", "operator", "--no-wait"])?;
    stage.done(&["uninstall", "--all", "--yes"]).map(drop)
}

/// Deletes a Provider: it is being deleted, and nobody takes the finalizer off.
async fn hangs(stage: &Stage, api: &Api<Provider>, name: &str) -> Result<()> {
    stage.cluster.kubectl(["-n", LEFT, "delete", "provider", name, "--wait=false"])?;
    let live = api.get(name).await?;
    ensure!(live.metadata.deletion_timestamp.is_some() && minted(&live), "it does not hang: {live:?}");
    Ok(())
}

/// Waits until nothing carries the stamp of a Provider but what may: the collector comes after the Provider is gone.
async fn left(stage: &Stage, may: impl Fn(&str) -> bool) -> Result<()> {
    until("nothing else is left", SOON, async || {
        let other: Vec<_> = stamped(stage).await?.into_iter().filter(|name| !may(name)).collect();
        Ok(if other.is_empty() { Ok(()) } else { Err(other.join(", ")) })
    })
    .await
}

/// What carries the stamp of a Provider.
async fn stamped(stage: &Stage) -> Result<Vec<String>> {
    let (mut all, stamped) = (Vec::new(), ListParams::default().labels(names::PROVIDER_UID));
    for part in Part::ALL {
        let found = kinds::everywhere(&stage.client, part).list(&stamped).await?;
        all.extend(found.iter().map(ResourceExt::name_any));
    }
    Ok(all)
}
