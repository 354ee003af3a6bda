//! Waits until a kind is established: before that, no object of it is taken.
use super::{Event, Failed};
use crate::k8s::client::Client;
use crate::k8s::manifests::install::Object;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::{
    CustomResourceDefinition, CustomResourceDefinitionCondition,
};
use kube::Api;
use std::time::{Duration, Instant};

pub(super) async fn wait(
    client: &Client,
    object: &Object,
    until: Instant,
    tell: &mut (dyn FnMut(Event) + Send),
) -> Result<(), Failed> {
    let api: Api<CustomResourceDefinition> = Api::all(client.clone());
    let mut told = false;
    loop {
        let live = api.get(&object.name).await.map_err(|e| Failed::api(object, &e))?;
        let condition = |kind: &str| {
            let all = live.status.as_ref()?.conditions.as_ref()?;
            all.iter().find(|c| c.type_ == kind).cloned()
        };
        let holds = |c: &CustomResourceDefinitionCondition| c.status == "True";
        if condition("Established").as_ref().is_some_and(holds) {
            return Ok(());
        }
        let refused = condition("NamesAccepted").filter(|c| c.status == "False").and_then(|c| c.message);
        if refused.is_some() || Instant::now() > until {
            return Err(Failed {
                object: object.to_string(),
                why: refused.unwrap_or_else(|| "it is not established in time".into()),
                todo: "see whether another project has a kind of this name, then run the command again".into(),
            });
        }
        if !std::mem::replace(&mut told, true) {
            tell(Event::Waiting(format!("{object} to be established")));
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}
