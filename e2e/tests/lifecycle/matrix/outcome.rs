//! [`Outcome`]: how a story ended, told so that two runs of it can be compared.
use super::story::{away, everywhere};
use crate::place::{Place, workload};
use crate::writes::{Writes, what};
use anyhow::{Result, ensure};
use banlieue::fsm::Part;
use banlieue::k8s::manifests::names;
use k8s_openapi::api::core::v1::Pod;
use kube::api::DynamicObject;
use kube::{Api, ResourceExt};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};

/// How a story ended. What differs from run to run (names, uids, times) is spelled alike.
#[derive(Clone, Debug)]
pub(crate) struct Outcome {
    /// Every object of the Provider, and what it is like.
    pub(crate) objects: BTreeMap<String, Value>,
    /// What the Provider says, and which pods there are.
    pub(crate) end: Value,
    /// How often the operator created and deleted what.
    pub(crate) counts: BTreeMap<String, usize>,
    /// The operator's writes until its death, in short.
    pub(crate) writes: Vec<String>,
    /// Whether the moment came at which it was to be killed.
    pub(crate) reached: bool,
}

impl Outcome {
    /// Looks at a place whose story has ended.
    pub(crate) async fn of(
        place: &Place<'_>,
        uid: String,
        writes: &Writes,
        counted: Vec<String>,
        reached: bool,
    ) -> Result<Self> {
        let mut alike =
            Alike(vec![(uid, "UID"), (names::provider_hash(&place.name, "p"), "HASH"), (place.name.clone(), "PLACE")]);
        let mut found = BTreeMap::new();
        for five in everywhere(place) {
            for part in Part::ALL {
                if let Some(object) = five.find(part).await? {
                    if part == Part::ServiceAccount {
                        alike.0.push((object.uid().unwrap_or_default(), "ACCOUNT"));
                    }
                    // hashes of what speaks of uids
                    let pods = object.data.pointer("/spec/template/metadata/annotations").cloned();
                    let pods = pods.and_then(|a| Some(a.get(names::DESIRED_HASH)?.as_str()?.to_owned()));
                    let own = object.annotations().get(names::DESIRED_HASH).cloned();
                    alike.0.extend(own.into_iter().chain(pods).map(|hash| (hash, "DESIRED")));
                    found.insert(five.at(part).to_string(), object);
                }
            }
        }
        let objects = found.into_iter().map(|(at, object)| Ok((alike.text(&at), alike.value(&content(object))?)));
        let objects = objects.collect::<Result<_>>()?;

        let mut pods = Vec::new();
        for namespace in [place.name.clone(), away(place)] {
            let all = Api::<Pod>::namespaced(place.stage.client.clone(), &namespace).list(&Default::default()).await?;
            pods.push(all.items.iter().filter(|p| p.metadata.deletion_timestamp.is_none()).count());
        }
        let provider = place.providers.get_opt("p").await?;
        let edges = provider.as_ref().and_then(workload).map(|w| w.transitions.clone()).unwrap_or_default();
        let mut status = serde_json::to_value(provider.as_ref().and_then(workload))?;
        if let Some(status) = status.as_object_mut() {
            status.remove("lastTransitionTime");
            // which of several true reasons is told of an edge depends on what was done before it was crossed
            let crossed: Vec<_> = edges.iter().map(|t| (t.from, t.to)).collect();
            status.insert("transitions".into(), json!(crossed));
        }
        let finalizers = provider.as_ref().map(|p| p.finalizers().to_vec());
        let end = alike.value(&json!({ "status": status, "finalizers": finalizers, "pods": pods }))?;

        let mut counts = BTreeMap::new();
        let mut events = 0;
        let mut seen = BTreeSet::new();
        for entry in writes.entries()? {
            let created = entry.code() == 201;
            if created && entry.resource() == "events" {
                events += 1;
            } else if created || entry.verb == "delete" {
                ensure!(seen.insert((entry.verb.clone(), entry.uri.clone())), "sent twice: {}", entry.line());
                *counts.entry(format!("{}{}", if created { "create, by " } else { "" }, what(&entry))).or_insert(0) +=
                    1;
            }
        }
        // where the Provider is gone, so is the record of its edges: there it is one, into Terminating
        let crossed = if provider.is_some() { edges.len() } else { 1 };
        ensure!(events <= crossed, "{events} Events for {crossed} edges");
        Ok(Self { objects, end, counts, writes: counted, reached })
    }

    /// That it is as the fault-free run.
    pub(crate) fn like(&self, free: &Self) -> Result<()> {
        let told = |o: &Self| json!({ "counts": o.counts, "end": o.end, "objects": o.objects });
        let (killed, free) = (format!("{:#}", told(self)), format!("{:#}", told(free)));
        let only = |one: &str, other: &str| -> String {
            one.lines().filter(|line| !other.lines().any(|l| l == *line)).collect::<Vec<_>>().join("\n")
        };
        ensure!(
            killed == free,
            "it ends otherwise than without a fault. Only here:\n{}\nonly there:\n{}\nits writes until the kill: {:#?}",
            only(&killed, &free),
            only(&free, &killed),
            self.writes
        );
        Ok(())
    }
}

/// What an object is like, other than its identity.
fn content(object: DynamicObject) -> Value {
    let mut data = object.data;
    if let Some(data) = data.as_object_mut() {
        data.remove("status");
    }
    json!({
        "labels": object.metadata.labels,
        "annotations": object.metadata.annotations,
        "owners": object.metadata.owner_references,
        "generation": object.metadata.generation,
        "data": data,
    })
}

/// Strings that differ from run to run, and what is put in their place.
struct Alike(Vec<(String, &'static str)>);

impl Alike {
    fn text(&self, text: &str) -> String {
        self.0.iter().fold(text.to_owned(), |text, (from, to)| text.replace(from.as_str(), to))
    }

    fn value(&self, value: &Value) -> Result<Value> {
        Ok(serde_json::from_str(&self.text(&value.to_string()))?)
    }
}
