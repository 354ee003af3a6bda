//! Deletion: whatever state a Provider is in, it goes and nothing of it is left.
use crate::five::{Five, SOON};
use crate::place::{Place, message, namespace, workload};
use crate::pod::Pod;
use crate::records::lines;
use crate::stage::Stage;
use crate::until::until;
use crate::writes::what;
use anyhow::{Context, Result, ensure};
use banlieue::fsm::{Part, Phase, Reason};
use banlieue::k8s::crd::Backend;
use banlieue_e2e::audit::{Entry, Log};
use banlieue_e2e::watch;
use k8s_openapi::api::core::v1::Namespace;
use kube::ResourceExt;
use kube::api::{Api, DeleteParams, PropagationPolicy};
use serde_json::{Value, json};

/// A finalizer of somebody else.
const FOREIGN: &str = "example.com/hold";

/// Provider paused, class paused, both, and the class deleted first: all go, and nothing is made anew meanwhile.
pub(crate) async fn while_paused(stage: &Stage) -> Result<()> {
    let place = Place::new(stage, "delete-paused").await?;
    let second = "delete-paused-gone";
    place.class(second, Backend::Vsphere, json!({})).await?;
    let names = ["by-provider", "by-class", "by-both", "class-gone"];
    for name in names {
        let mut draft = place.draft(name);
        if name == "class-gone" {
            draft.spec.provider_class_ref.name = second.into();
        }
        place.create(&draft).await?;
    }
    for name in names {
        place.ready(name).await?;
    }
    for name in ["by-provider", "by-both", "class-gone"] {
        place.edit(name, json!({ "spec": { "paused": true } })).await?;
        place.reason(name, Reason::ProviderPaused).await?;
    }
    let writes = place.writes(&names)?;
    place.remove("by-provider").await?;
    place.edit_class(&place.name, json!({ "paused": true })).await?;
    place.reason("by-class", Reason::ClassPaused).await?;
    place.drop_class(second).await?;
    for name in ["by-class", "by-both", "class-gone"] {
        place.remove(name).await?;
    }
    for name in names {
        place.five(name).gone().await?;
    }
    writes.nothing_created()
}

/// Each way to ask for a deletion.
pub(crate) async fn background_foreground_and_orphan(stage: &Stage) -> Result<()> {
    let place = Place::new(stage, "delete-ways").await?;
    let ways = [
        ("background", PropagationPolicy::Background),
        ("foreground", PropagationPolicy::Foreground),
        ("orphan", PropagationPolicy::Orphan),
    ];
    for (name, _) in &ways {
        place.register(name).await?;
    }
    for (name, policy) in ways {
        place.ready(name).await?;
        let how = DeleteParams { propagation_policy: Some(policy), ..Default::default() };
        place.delete(name, &how).await?;
        watch::gone(&place.providers, name, SOON).await?;
        place.five(name).gone().await?;
    }
    Ok(())
}

/// With the finalizer off a Provider is gone, though the watch has not said so yet: nothing more is sent to it.
pub(crate) async fn nothing_is_sent_to_what_is_gone(stage: &Stage) -> Result<()> {
    let place = Place::new(stage, "delete-vain").await?;
    let names = ["a", "b", "c", "d", "e", "f"];
    for name in names {
        place.register(name).await?;
    }
    for name in names {
        place.ready(name).await?;
    }
    let writes = place.writes(&names)?;
    for name in names {
        place.delete(name, &DeleteParams::default()).await?;
    }
    for name in names {
        watch::gone(&place.providers, name, SOON).await?;
        place.five(name).gone().await?;
    }
    writes.come_to("the releases", |counts| counts.get("patch providers") == Some(&names.len())).await?;
    let vain: Vec<_> = writes.entries()?.into_iter().filter(|e| e.code() >= 400).map(|e| e.line()).collect();
    ensure!(vain.is_empty(), "sent in vain:\n{}", vain.join("\n"));
    Ok(())
}

/// The grant is taken away, our finalizer goes, and the Provider ends when the other one is taken off.
pub(crate) async fn a_foreign_finalizer_survives(stage: &Stage) -> Result<()> {
    let place = Place::new(stage, "delete-foreign").await?;
    let mut draft = place.draft("p");
    draft.metadata.finalizers = Some(vec![FOREIGN.into()]);
    place.create(&draft).await?;
    place.ready("p").await?;
    let five = place.five("p");
    place.delete("p", &DeleteParams::default()).await?;
    watch::see(&place.providers, "p", "only the foreign finalizer, and nothing left", SOON, |p| {
        let status = workload(p).filter(|w| w.phase == Phase::Terminating);
        p.finalizers() == [FOREIGN] && status.is_some() && message(p).contains("nothing is left")
    })
    .await?;
    ensure!(five.find(Part::ClusterRoleBinding).await?.is_none(), "the grant is still there");
    let writes = place.writes(&["p"])?;
    place.edit("p", json!({ "metadata": { "finalizers": null } })).await?;
    watch::gone(&place.providers, "p", SOON).await?;
    five.gone().await?;
    // its end is told by a watch, too: a status that was sent before that came has met nobody
    let vain = |e: &Entry| e.code() == 404 && what(e) == "patch providers/status";
    let met: Vec<_> = writes.entries()?.into_iter().filter(|e| !vain(e)).map(|e| e.line()).collect();
    ensure!(met.is_empty(), "the operator wrote:\n{}", met.join("\n"));
    Ok(())
}

/// The new Provider waits for the end of the old one's objects, and its own are never touched again.
pub(crate) async fn delete_and_create_at_once(stage: &Stage) -> Result<()> {
    let place = Place::new(stage, "delete-again").await?;
    let old = place.registered("p").await?;
    let five = place.five("p");
    let before = five.uids().await?;
    place.delete("p", &DeleteParams::default()).await?;
    let new =
        until("the name is free", SOON, async || Ok(place.register("p").await.map_err(|e| format!("{e:#}")))).await?;
    ensure!(old.uid() != new.uid());
    let writes = place.writes(&["p"])?;
    place.ready("p").await?;
    five.stamped(&new).await?;
    let after = five.uids().await?;
    ensure!(before.iter().all(|(part, uid)| after.get(part) != Some(uid)), "an object of the old one was taken over");
    place.edit("p", json!({ "metadata": { "annotations": { "again": "yes" } } })).await?;
    place.ready("p").await?;
    ensure!(five.uids().await? == after, "an object of the new one was made anew");
    let deletes: Vec<_> = writes.entries()?.into_iter().filter(|e| e.verb == "delete").map(|e| e.line()).collect();
    ensure!(deletes.is_empty(), "deleted after the new one was there: {deletes:?}");
    Ok(())
}

/// Pods of a Provider that outlive it say nothing of a new one of its name: the token of one died with its account, another
/// has a good token, and both know the old uid.
pub(crate) async fn an_old_pod_never_writes_to_the_new_provider(stage: &Stage) -> Result<()> {
    let place = Place::new(stage, "delete-pod").await?;
    let old = place.registered("p").await?.uid().context("no uid")?;
    let account = place.five("p").at(Part::ServiceAccount).name.clone();
    let start = async || Pod::start(stage, &format!("{}/{account}", place.name), &place.name, "p", &old).await;
    let _dead = start().await?;
    Pod::is_heard(&place, "p").await?;
    place.remove("p").await?;
    let log = Log::from_now(stage.cluster.audit_log_path())?;
    let new = place.registered("p").await?;
    ensure!(new.uid().as_ref() != Some(&old));
    let alive = start().await?;
    alive.says("another one than this pod was made for").await?;
    let user = format!("system:serviceaccount:{}:{account}", place.name);
    let entries = log.entries()?;
    // a Lease that one holds says nothing of the Provider
    let about = entries.iter().filter(|e| e.user.username == user && e.resource() == "providers");
    let (writes, reads): (Vec<_>, Vec<_>) = about.partition(|e| e.writes());
    ensure!(!reads.is_empty(), "the log does not show the pod");
    let lines: Vec<_> = writes.into_iter().map(Entry::line).collect();
    ensure!(lines.is_empty(), "a pod of the old Provider wrote:\n{}", lines.join("\n"));
    Ok(())
}

/// What holds a deletion up is named, in the status and in the operator's log: a pod that does not end, then an object with a
/// finalizer of somebody else.
pub(crate) async fn what_is_left_is_named(stage: &Stage) -> Result<()> {
    const PODS: &str = "delete-left-pods";
    let place = Place::new(stage, "delete-left").await?;
    namespace(stage, PODS).await?;
    place.edit_class(&place.name, json!({ "workloadNamespace": PODS })).await?;
    let provider = place.registered("p").await?;
    let five = place.five_in(PODS, "p");
    five.edit(Part::ServiceAccount, json!({ "metadata": { "finalizers": [FOREIGN] } })).await?;
    stage.kubelet.hold(PODS);
    place.delete("p", &DeleteParams::default()).await?;
    let named = async |what: &str| {
        place
            .says("p", &format!("it names {what}"), |w| w.message.as_deref().is_some_and(|m| m.contains(what)))
            .await?;
        until(&format!("the log names {what}"), SOON, async || {
            let lines = lines(stage, &provider)?;
            let told = |l: &Value| l["to"] == "Terminating" && l["message"].as_str().is_some_and(|m| m.contains(what));
            Ok(if lines.iter().any(told) { Ok(()) } else { Err(format!("{:#?}", lines.last())) })
        })
        .await
    };
    named(&format!("{PODS}/{}", five.at(Part::Deployment).name)).await?;
    ensure!(five.find(Part::ClusterRoleBinding).await?.is_none(), "the grant is still there");
    stage.kubelet.release(PODS).await?;
    named(&five.at(Part::ServiceAccount).to_string()).await?;
    ensure!(place.providers.get("p").await?.finalizers().len() == 1, "its finalizer is off");
    five.edit(Part::ServiceAccount, json!({ "metadata": { "finalizers": null } })).await?;
    watch::gone(&place.providers, "p", SOON).await?;
    five.gone().await
}

/// The class no longer tells where the workload is: it was edited, or repointed, while the Provider was paused; or it is
/// gone. Nothing is left in the place that it told of before.
pub(crate) async fn wherever_the_class_points_by_then(stage: &Stage) -> Result<()> {
    const PODS: &str = "delete-astray-pods";
    let place = Place::new(stage, "delete-astray").await?;
    namespace(stage, PODS).await?;
    let names = ["edited", "repointed", "gone"];
    for name in names {
        let class = format!("delete-astray-{name}");
        place.class(&class, Backend::Vsphere, json!({ "workloadNamespace": PODS })).await?;
        let mut draft = place.draft(name);
        draft.spec.provider_class_ref.name = class;
        place.create(&draft).await?;
    }
    place.class("delete-astray-other", Backend::Proxmox, json!({})).await?;
    for name in names {
        place.ready(name).await?;
        place.edit(name, json!({ "spec": { "paused": true } })).await?;
        place.reason(name, Reason::ProviderPaused).await?;
    }
    place.edit_class("delete-astray-edited", json!({ "workloadNamespace": null })).await?;
    place.edit("repointed", json!({ "spec": { "providerClassRef": { "name": "delete-astray-other" } } })).await?;
    place.drop_class("delete-astray-gone").await?;
    let writes = place.writes(&names)?;
    for name in names {
        place.remove(name).await?;
        place.five_in(PODS, name).gone().await?;
        place.five(name).gone().await?;
    }
    writes.nothing_created()
}

/// A namespace that goes takes its Providers along, cluster-wide grants included.
pub(crate) async fn the_namespace_goes(stage: &Stage) -> Result<()> {
    let place = Place::new(stage, "delete-namespace").await?;
    place.registered("p").await?;
    let five: Five = place.five("p");
    let namespaces: Api<Namespace> = Api::all(stage.client.clone());
    namespaces.delete(&place.name, &DeleteParams::default()).await?;
    watch::gone(&namespaces, &place.name, SOON).await.context("the namespace hangs")?;
    ensure!(five.find(Part::ClusterRoleBinding).await?.is_none(), "the grant is still there");
    Ok(())
}
