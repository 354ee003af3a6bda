//! Names: of one spelling in two namespaces, and long and odd ones.
use crate::place::{Place, namespace};
use crate::stage::Stage;
use anyhow::{Result, ensure};
use banlieue::fsm::Part;
use banlieue::k8s::crd::Backend;
use kube::ResourceExt;
use kube::api::DynamicObject;
use serde_json::json;
use std::collections::BTreeSet;

/// Two Providers of one name whose pods share a namespace never touch each other's objects.
pub(crate) async fn one_name_in_two_namespaces(stage: &Stage) -> Result<()> {
    const PODS: &str = "same-name-pods";
    namespace(stage, PODS).await?;
    let one = Place::new(stage, "same-name-1").await?;
    one.edit_class(&one.name, json!({ "workloadNamespace": PODS })).await?;
    let two = Place::bare(stage, "same-name-2").await?;
    for (place, secret) in [(&one, "secret-1"), (&two, "secret-2")] {
        let mut draft = place.draft("p");
        draft.spec.provider_class_ref.name = one.name.clone();
        draft.spec.connection.credentials_ref.name = secret.into();
        place.create(&draft).await?;
    }
    let (first, second) = (one.ready("p").await?, two.ready("p").await?);
    let (ones, twos) = (one.five_in(PODS, "p"), two.five_in(PODS, "p"));
    ones.stamped(&first).await?;
    twos.stamped(&second).await?;
    let selector = "/spec/selector/matchLabels/banlieue.io~1provider-uid";
    ensure!(ones.deployment(selector).await? == Some(json!(first.uid())), "the selector lacks the uid");
    ensure!(twos.deployment(selector).await? == Some(json!(second.uid())), "the selector lacks the uid");
    for (five, secret) in [(&ones, "secret-1"), (&twos, "secret-2")] {
        let named = secrets(&five.get(Part::Role).await?);
        ensure!(named == BTreeSet::from([secret.to_owned()]), "the Role names {named:?}");
    }
    let before = twos.marks().await?;
    ensure!(before.len() == 5);
    one.remove("p").await?;
    ones.gone().await?;
    let after = twos.marks().await?;
    ensure!(before == after, "the other's objects were written: {before:?} {after:?}");
    Ok(())
}

/// The Secrets that a Role names.
fn secrets(role: &DynamicObject) -> BTreeSet<String> {
    let rules = role.data["rules"].as_array().cloned().unwrap_or_default();
    let about = rules.iter().filter(|r| r["resources"].as_array().is_some_and(|r| r.contains(&json!("secrets"))));
    let names = about.flat_map(|r| r["resourceNames"].as_array().cloned().unwrap_or_default());
    names.filter_map(|n| n.as_str().map(str::to_owned)).collect()
}

/// As long as the API takes them, with dots and hyphens where they are cut; two that differ at their ends alone.
pub(crate) async fn long_and_odd_names(stage: &Stage) -> Result<()> {
    let long = |n: usize| "a".repeat(n);
    let names = [
        long(64),
        format!("{}b", long(63)),
        long(200),
        // a valid name of the greatest length: labels of at most 63 characters joined by dots
        [long(63), long(63), long(63), long(61)].join("."),
        "vc.example.com".to_owned(),
        // the cut falls on the hyphen, on the dot
        format!("{}-{}", long(21), long(30)),
        format!("{}.{}", long(21), long(30)),
        format!("0.{}", long(60)),
    ];
    let place = Place::new(stage, &format!("names-{}", long(57))).await?;
    let class = [long(63), long(63), long(63), long(61)].join(".");
    place.class(&class, Backend::Vsphere, json!({})).await?;
    let mut seen = BTreeSet::new();
    for name in &names {
        let mut draft = place.draft(name);
        draft.spec.provider_class_ref.name.clone_from(&class);
        place.create(&draft).await?;
    }
    for name in &names {
        let provider = place.ready(name).await?;
        let five = place.five(name);
        five.stamped(&provider).await?;
        for part in Part::ALL {
            let at = five.at(part);
            ensure!(at.name.len() <= 63, "{at} is too long");
            ensure!(seen.insert(at.clone()), "{at} is the object of two Providers");
        }
    }
    for name in &names {
        place.delete(name, &Default::default()).await?;
    }
    for name in &names {
        banlieue_e2e::watch::gone(&place.providers, name, crate::five::SOON).await?;
        place.five(name).gone().await?;
    }
    Ok(())
}
