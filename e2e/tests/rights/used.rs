//! What each role uses is what it is granted.
use crate::grants::{self, Rights};
use crate::lives::pod::{Alone, Minted};
use crate::lives::scene::Scene;
use crate::lives::{controller, live, operator};
use crate::stage::{Stage, installed};
use anyhow::{Result, ensure};
use banlieue::k8s::crd::Backend;
use banlieue::k8s::manifests::names;
use banlieue_e2e::rights::{Balance, Right};

/// Rights that no request shows. The API server asks for this one when an object gets an owner that its deletion waits for;
/// without it nothing is minted (`ablation::each_right_of_the_operator`).
fn unseen() -> Rights {
    [Right::new("update", names::GROUP, "providers/finalizers")].into()
}

/// Both ways: nothing else is used, and nothing else is granted. `more` is granted for another reason, and only what is
/// not used may be in there.
fn balanced(role: &str, granted: &Rights, used: &Rights, more: &Rights) -> Result<()> {
    let Balance { foreign, idle } = Balance::of(granted, used);
    println!("figure: {role}: {} rights granted, {} of them not used by itself", granted.len(), idle.len());
    let idle: Vec<_> = idle.difference(more).map(ToString::to_string).collect();
    ensure!(foreign.is_empty(), "{role} uses what it is not granted: {foreign:#?}");
    ensure!(idle.is_empty(), "{role} is granted what it does not use: {idle:#?}");
    Ok(())
}

/// Operator, controller, the pods of a Provider, and the pod of a namespace without an operator.
pub(crate) async fn is_what_is_granted(stage: &Stage) -> Result<()> {
    let scene = Scene::new(stage, "used").await?;
    let used = live(stage, &installed(names::OPERATOR), operator::life(stage, &scene)).await?;
    scene.clear().await?;
    let granted = grants::operator()?;
    let handed_out: Rights = grants::handed_out()?;
    ensure!(handed_out.is_subset(&granted), "it hands out what it does not hold");
    let reads = |right: &Right| matches!(right.resource.as_str(), "secrets" | "configmaps");
    ensure!(!used.iter().any(reads), "the operator reads what it only hands out");
    let unseen = unseen();
    ensure!(unseen.is_disjoint(&used) && unseen.is_disjoint(&handed_out), "a request shows it");
    balanced("the operator", &granted, &used, &handed_out.union(&unseen).cloned().collect())?;

    let scene = Scene::new(stage, "used-controller").await?;
    let used = live(stage, &installed(names::CONTROLLER), controller::life(stage, &scene)).await?;
    scene.clear().await?;
    balanced("the controller", &grants::controller()?, &used, &Rights::new())?;

    let minted = Minted::new(stage).await?;
    let used = live(stage, &minted.account(), minted.life(stage)).await?;
    let granted = grants::minted(&minted.provider, &minted.class)?;
    minted.scene.clear().await?;
    balanced("a pod", &granted, &used, &for_a_namespace())?;

    let alone = Alone::new(stage).await?;
    let used = live(stage, &alone.account(), alone.life(stage)).await?;
    let granted = grants::standalone(&alone.scene.name, Backend::Vsphere)?;
    alone.clear(stage).await?;
    balanced("a pod of a namespace", &granted, &used, &Rights::new())
}

/// What the shared ClusterRole has for a pod that serves a namespace, and one of a single Provider does not use.
pub(crate) fn for_a_namespace() -> Rights {
    [Right::new("list", names::GROUP, "providerclasses")].into()
}
