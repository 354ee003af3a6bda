//! Another project's kind under a name of ours: server-side apply would take it over without a word.
use super::Failed;
use crate::k8s::client::Client;
use crate::k8s::kinds;
use crate::k8s::manifests::install::{Object, Stage};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;

/// What a kind of our name is where it is not ours, such as `it is of another project: Thing (Cluster)`.
pub fn foreign(ours: &CustomResourceDefinition, live: &CustomResourceDefinition) -> Option<String> {
    let (ours, live) = (&ours.spec, &live.spec);
    let same = ours.names.kind == live.names.kind && ours.scope == live.scope;
    (!same).then(|| format!("it is of another project: {} ({})", live.names.kind, live.scope))
}

/// Fails where a kind of ours is another project's, before anything is written.
pub(super) async fn refuse(client: &Client, objects: &[Object]) -> Result<(), Failed> {
    for object in objects.iter().filter(|o| o.stage == Stage::Crds) {
        let failed = |why: String, todo: &str| Failed { object: object.to_string(), why, todo: todo.into() };
        let api = kinds::within(client, &object.resource, None);
        let live = api.get_opt(&object.name).await.map_err(|e| Failed::api(object, &e))?;
        let Some(live) = live else { continue };
        let read = |value| serde_json::from_value::<CustomResourceDefinition>(value);
        let both = read(object.body.clone()).and_then(|ours| Ok((ours, read(serde_json::to_value(&live)?)?)));
        let (ours, live) = both.map_err(|e| failed(e.to_string(), "report this as a fault"))?;
        if let Some(why) = foreign(&ours, &live) {
            return Err(failed(why, "remove it, if nobody needs it, then run the command again"));
        }
    }
    Ok(())
}
