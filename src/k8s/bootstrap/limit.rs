//! The limit on images, which a run without its flag would lift without a word: flags are not remembered.
use super::Failed;
use crate::k8s::client::Client;
use crate::k8s::kinds;
use crate::k8s::manifests::install::{ALLOWED_IMAGES, Object};
use crate::k8s::manifests::names;
use serde_json::Value;

/// Fails where an earlier installation limits the images of classes, and this one does not.
pub(super) async fn refuse(client: &Client, objects: &[Object]) -> Result<(), Failed> {
    let guard = |o: &&Object| o.name == names::GUARD_OF_CLASSES && o.resource.kind == "ValidatingAdmissionPolicy";
    let Some(object) = objects.iter().find(guard).filter(|o| limit(&o.body).is_none()) else { return Ok(()) };
    let live = kinds::within(client, &object.resource, None).get_opt(&object.name).await;
    let live = live.map_err(|e| Failed::api(object, &e))?;
    let Some(limit) = live.as_ref().and_then(|live| limit(&live.data)) else { return Ok(()) };
    let object = object.to_string();
    let todo = format!("give --allow-images again, or delete the {object} first, if any image may run");
    Err(Failed { why: format!("{limit}, and this run would lift that"), todo, object })
}

/// What a policy says of the images that it allows, where it limits them.
fn limit(policy: &Value) -> Option<&str> {
    let rules = policy["spec"]["validations"].as_array()?;
    rules.iter().filter_map(|rule| rule["message"].as_str()).find(|says| says.starts_with(ALLOWED_IMAGES))
}
