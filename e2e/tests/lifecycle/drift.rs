//! Drift: what somebody else deletes or edits comes back, and what others add stays.
use crate::five::{Five, SOON};
use crate::place::{Place, namespace};
use crate::pod::Pod;
use crate::stage::Stage;
use crate::until::until;
use anyhow::{Context, Result, ensure};
use banlieue::fsm::Part;
use banlieue::k8s::crd::Provider;
use banlieue::k8s::manifests::names;
use kube::ResourceExt;
use kube::api::DynamicObject;
use serde_json::{Value, json};
use std::time::{Duration, Instant};

/// What is deleted or edited comes back within this time; it takes a tenth of a second where nothing else is done.
const BACK: Duration = Duration::from_secs(10);

pub(crate) async fn each_of_the_five_comes_back(stage: &Stage) -> Result<()> {
    let place = Place::new(stage, "drift-deleted").await?;
    let provider = place.registered("p").await?;
    each_comes_back(&place, &provider, &place.five("p")).await
}

pub(crate) async fn each_of_the_five_comes_back_in_a_workload_namespace(stage: &Stage) -> Result<()> {
    let place = Place::new(stage, "drift-away").await?;
    namespace(stage, "drift-away-pods").await?;
    place.edit_class(&place.name, json!({ "workloadNamespace": "drift-away-pods" })).await?;
    let provider = place.registered("p").await?;
    each_comes_back(&place, &provider, &place.five_in("drift-away-pods", "p")).await
}

async fn each_comes_back(place: &Place<'_>, provider: &Provider, five: &Five) -> Result<()> {
    for part in Part::ALL {
        let before = five.get(part).await?;
        five.delete(part).await?;
        let began = Instant::now();
        let uid = provider.uid().unwrap_or_default();
        let back = until(&format!("{} is back", five.at(part)), BACK, async || {
            let found = five.stands(part, &uid).await?.filter(|o| o.uid() != before.uid());
            Ok(found.context("it is missing").map_err(|e| e.to_string()))
        })
        .await?;
        println!("figure: {} deleted in {}: back after {} ms", part.kind(), place.name, began.elapsed().as_millis());
        // where the account is another one, so are the pods' annotation and the hash
        if part != Part::Deployment {
            ensure!(back.data == before.data, "{} came back as {:#}, not {:#}", five.at(part), back.data, before.data);
        }
        place.ready("p").await?;
        if part == Part::ServiceAccount {
            let rolled = "/spec/template/metadata/annotations/banlieue.io~1service-account-uid";
            until("the pods follow the account", SOON, async || {
                let told = five.deployment(rolled).await?;
                Ok(if told == Some(json!(back.uid())) { Ok(()) } else { Err(format!("{told:?}")) })
            })
            .await?;
            place.ready("p").await?;
        }
    }
    five.stamped(provider).await
}

/// The account is deleted and comes back: a pod under a token of the new one may say again what it finds.
pub(crate) async fn a_pod_speaks_again_once_its_account_is_back(stage: &Stage) -> Result<()> {
    let place = Place::new(stage, "drift-account").await?;
    let provider = place.registered("p").await?;
    let (five, uid) = (place.five("p"), provider.uid().unwrap_or_default());
    let before = five.get(Part::ServiceAccount).await?.uid();
    five.delete(Part::ServiceAccount).await?;
    until("the account is back", SOON, async || {
        let found = five.stands(Part::ServiceAccount, &uid).await?.filter(|o| o.uid() != before);
        Ok(found.context("it is missing").map_err(|e| e.to_string()))
    })
    .await?;
    let account = format!("{}/{}", place.name, five.at(Part::ServiceAccount).name);
    let _pod = Pod::start(stage, &account, &place.name, "p", &uid).await?;
    Pod::is_heard(&place, "p").await
}

/// What is edited by hand, and where it shows. The Deployment's image is filled in where its containers are known.
fn edits() -> [(Part, Value, &'static str); 6] {
    let nobody = json!([{ "kind": "ServiceAccount", "name": "nobody", "namespace": "default" }]);
    let more = json!([{ "apiGroups": [""], "resources": ["secrets"], "verbs": ["get"] }]);
    [
        (Part::ClusterRoleBinding, json!({ "subjects": nobody }), "/subjects"),
        (Part::RoleBinding, json!({ "subjects": [] }), "/subjects"),
        (Part::Role, json!({ "rules": more }), "/rules"),
        (Part::ServiceAccount, json!({ "metadata": { "labels": { names::PROVIDER_UID: null } } }), "/metadata/labels"),
        (Part::Role, json!({ "metadata": { "annotations": { names::PROVIDER_UID: null } } }), "/metadata/annotations"),
        (Part::Deployment, Value::Null, "/spec/template/spec/containers/0/image"),
    ]
}

pub(crate) async fn edits_are_put_back_and_additions_stay(stage: &Stage) -> Result<()> {
    let place = Place::new(stage, "drift-edited").await?;
    namespace(stage, "drift-edited-pods").await?;
    let provider = place.registered("here").await?;
    put_back(&place, &provider, &place.five("here")).await?;
    place.edit_class(&place.name, json!({ "workloadNamespace": "drift-edited-pods" })).await?;
    let provider = place.registered("away").await?;
    put_back(&place, &provider, &place.five_in("drift-edited-pods", "away")).await
}

async fn put_back(place: &Place<'_>, provider: &Provider, five: &Five) -> Result<()> {
    let theirs = json!({ "labels": { "team": "a" }, "annotations": { "example.com/note": "b" } });
    for part in Part::ALL {
        five.edit(part, json!({ "metadata": theirs })).await?;
    }
    let uids = five.uids().await?;
    for (part, mut change, pointer) in edits() {
        let before = whole(&five.get(part).await?)?;
        if part == Part::Deployment {
            let mut containers = before["spec"]["template"]["spec"]["containers"].clone();
            containers[0]["image"] = "registry.invalid/other:9".into();
            change = json!({ "spec": { "template": { "spec": { "containers": containers } } } });
        }
        let edited = whole(&five.edit(part, change).await?)?;
        let began = Instant::now();
        ensure!(edited.pointer(pointer) != before.pointer(pointer), "the edit of {} changed nothing", five.at(part));
        until(&format!("{}{pointer} is put back", five.at(part)), BACK, async || {
            let now = whole(&five.get(part).await?)?;
            let same = now.pointer(pointer) == before.pointer(pointer);
            Ok(if same { Ok(()) } else { Err(format!("{:?}", now.pointer(pointer))) })
        })
        .await?;
        let ms = began.elapsed().as_millis();
        println!("figure: {}{pointer} edited in {}: put back after {ms} ms", part.kind(), place.name);
    }
    place.ready(&provider.name_any()).await?;
    five.stamped(provider).await?;
    ensure!(five.uids().await? == uids, "an object was made anew");
    for part in Part::ALL {
        let object = five.get(part).await?;
        ensure!(object.labels().get("team").is_some_and(|v| v == "a"), "the label of {} is lost", five.at(part));
        let note = object.annotations().get("example.com/note");
        ensure!(note.is_some_and(|v| v == "b"), "the annotation of {} is lost", five.at(part));
    }
    Ok(())
}

fn whole(object: &DynamicObject) -> Result<Value> {
    Ok(serde_json::to_value(object)?)
}

/// The class sets no replicas, so whoever scales the Deployment owns the number.
pub(crate) async fn a_scaled_deployment_stays_scaled(stage: &Stage) -> Result<()> {
    let place = Place::new(stage, "drift-scaled").await?;
    place.registered("p").await?;
    let (five, writes) = (place.five("p"), place.writes(&["p"])?);
    stage.cluster.kubectl([
        "scale",
        "-n",
        &place.name,
        "deployment",
        &five.at(Part::Deployment).name,
        "--replicas=3",
    ])?;
    place.says("p", "3 of 3", |w| w.replicas == Some(3) && w.ready_replicas == Some(3)).await?;
    let replicas = five.deployment("/spec/replicas").await?;
    ensure!(replicas == Some(json!(3)), "it was scaled back to {replicas:?}");
    writes.no_work()?;
    place.edit_class(&place.name, json!({ "replicas": 2 })).await?;
    place.says("p", "2 of 2", |w| w.replicas == Some(2) && w.ready_replicas == Some(2)).await?;
    Ok(())
}
