//! A class that is missing, that goes, that comes back.
use crate::place::{Place, message};
use crate::stage::Stage;
use anyhow::{Context, Result, ensure};
use banlieue::fsm::Reason;
use banlieue::k8s::crd::Backend;
use serde_json::json;

/// What runs is left untouched; the Provider says which class is missing, and goes on by itself when it is back.
pub(crate) async fn deleted_under_its_providers(stage: &Stage) -> Result<()> {
    let place = Place::new(stage, "class-gone").await?;
    for name in ["a", "b"] {
        place.registered(name).await?;
    }
    let before = (place.five("a").uids().await?, place.five("b").uids().await?);
    let writes = place.writes(&["a", "b"])?;
    place.drop_class(&place.name).await?;
    for name in ["a", "b"] {
        let seen = place.reason(name, Reason::ClassNotFound).await?;
        ensure!(message(&seen).contains("class-gone"), "it says {:?}", message(&seen));
    }
    writes.no_work()?;
    place.class(&place.name, Backend::Vsphere, json!({})).await?;
    for name in ["a", "b"] {
        place.ready(name).await?;
    }
    let after = (place.five("a").uids().await?, place.five("b").uids().await?);
    ensure!(before == after, "an object was made anew");
    // a class of the same content: nothing of the workload is owed
    writes.no_work()
}

/// Refused at admission, with a sentence that says what to do instead.
pub(crate) async fn its_backend_cannot_be_edited(stage: &Stage) -> Result<()> {
    let place = Place::new(stage, "class-backend").await?;
    let error = place.edit_class(&place.name, json!({ "backend": "proxmox" })).await.err().context("it was taken")?;
    let words = format!("{error:#}");
    ensure!(words.contains("cannot be changed") && words.contains("repoint"), "it says {words}");
    Ok(())
}

/// A Provider may be there before its class.
pub(crate) async fn comes_later(stage: &Stage) -> Result<()> {
    let place = Place::bare(stage, "class-later").await?;
    place.register("p").await?;
    let seen = place.reason("p", Reason::ClassNotFound).await?;
    ensure!(message(&seen).contains("class-later"), "it says {:?}", message(&seen));
    place.class(&place.name, Backend::Vsphere, json!({})).await?;
    place.ready("p").await?;
    Ok(())
}

/// A scheme of another backend blocks, and says what the class takes; a class that takes it unblocks.
pub(crate) async fn for_another_scheme(stage: &Stage) -> Result<()> {
    let place = Place::new(stage, "class-scheme").await?;
    place.class("class-scheme-libvirt", Backend::Libvirt, json!({})).await?;
    let writes = place.writes(&["p"])?;
    let mut draft = place.draft("p");
    draft.spec.provider_class_ref.name = "class-scheme-libvirt".into();
    place.create(&draft).await?;
    let seen = place.reason("p", Reason::EndpointInvalid).await?;
    let words = message(&seen);
    ensure!(words.contains("class-scheme-libvirt") && words.contains("qemu"), "it says {words:?}");
    writes.no_work()?;
    place.edit("p", json!({ "spec": { "providerClassRef": { "name": place.name } } })).await?;
    place.ready("p").await?;
    Ok(())
}
