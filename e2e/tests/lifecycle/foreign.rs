//! Objects of our names that are not ours: never changed, adopted or deleted.
use crate::five::SOON;
use crate::place::{Place, message};
use crate::stage::Stage;
use anyhow::{Result, ensure};
use banlieue::fsm::{Part, Reason};
use banlieue::k8s::kinds;
use kube::api::{DynamicObject, PostParams};
use serde_json::json;

/// Something of that name, of somebody else.
async fn plant(place: &Place<'_>, provider: &str, part: Part) -> Result<DynamicObject> {
    let five = place.five(provider);
    let mut object = DynamicObject::new(&five.at(part).name, &kinds::resource(part));
    object.metadata.namespace = five.at(part).namespace.clone();
    let role = json!({ "apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "view" });
    let labels = json!({ "app": "theirs" });
    object.data = match part {
        Part::ServiceAccount | Part::Role => json!({}),
        Part::RoleBinding | Part::ClusterRoleBinding => json!({ "roleRef": role, "subjects": [] }),
        Part::Deployment => json!({ "spec": {
            "replicas": 0,
            "selector": { "matchLabels": labels },
            "template": { "metadata": { "labels": labels }, "spec": { "containers": [{ "name": "c", "image": "i" }] } },
        } }),
    };
    Ok(five.api(part).create(&PostParams::default(), &object).await?)
}

/// The Provider names the object and what to do; it goes on by itself when the object is gone.
pub(crate) async fn an_object_of_our_name_stays_untouched(stage: &Stage) -> Result<()> {
    let place = Place::new(stage, "foreign").await?;
    let parts = Part::ALL.map(|part| (part.kind().to_lowercase(), part));
    let mut planted = Vec::new();
    for (name, part) in &parts {
        planted.push(plant(&place, name, *part).await?);
        place.register(name).await?;
    }
    for ((name, part), object) in parts.iter().zip(&planted) {
        let seen = place.reason(name, Reason::NameConflict).await?;
        let five = place.five(name);
        let words = message(&seen);
        ensure!(words.contains(&five.at(*part).to_string()) && words.contains("delete or rename"), "it says {words:?}");
        let now = five.get(*part).await?;
        // a Deployment's controller writes its status
        let same = now.data["spec"] == object.data["spec"] && now.metadata.generation == object.metadata.generation;
        let still = now.metadata.resource_version == object.metadata.resource_version;
        ensure!(if *part == Part::Deployment { same } else { still }, "{} was written", five.at(*part));
        ensure!(now.metadata.labels == object.metadata.labels, "{} was labelled", five.at(*part));
    }
    for (name, part) in &parts {
        place.five(name).delete(*part).await?;
    }
    for (name, _) in &parts {
        let ready = place.ready(name).await?;
        place.five(name).stamped(&ready).await?;
    }
    Ok(())
}

/// It does not hang, and the object of somebody else is still there.
pub(crate) async fn a_provider_in_conflict_can_be_deleted(stage: &Stage) -> Result<()> {
    let place = Place::new(stage, "foreign-delete").await?;
    let object = plant(&place, "p", Part::ClusterRoleBinding).await?;
    place.register("p").await?;
    place.reason("p", Reason::NameConflict).await?;
    place.remove("p").await?;
    let five = place.five("p");
    let left = five.get(Part::ClusterRoleBinding).await?;
    ensure!(left.metadata.resource_version == object.metadata.resource_version, "it was written");
    crate::until::until("nothing of ours is left", SOON, async || {
        let left: Vec<_> = five.marks().await?.into_keys().filter(|p| *p != Part::ClusterRoleBinding).collect();
        Ok(if left.is_empty() { Ok(()) } else { Err(format!("{left:?}")) })
    })
    .await?;
    five.delete(Part::ClusterRoleBinding).await
}
