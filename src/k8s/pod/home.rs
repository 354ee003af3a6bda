//! The Provider that a pod serves, and what keeps it from serving.
use super::Options;
use crate::effects::Refusal;
use crate::fsm::Reason;
use crate::k8s::crd::{Provider, ProviderClass};
use crate::k8s::refusal::bounded;
use futures::{Stream, StreamExt, future};
use kube::runtime::{WatchStreamExt, watcher};
use kube::{Api, Client};

/// How the Provider stands towards this pod.
#[derive(Debug)]
pub(super) enum Home {
    /// It is to be served.
    Serve(Box<Provider>),
    /// It, or its class, is suspended.
    Paused(Box<Provider>),
    /// There is nobody to serve, and why.
    Stranger(&'static str),
}

/// Reads the Provider and its class.
pub(super) async fn look(client: &Client, options: &Options) -> Result<Home, Refusal> {
    let providers: Api<Provider> = Api::namespaced(client.clone(), &options.namespace);
    let Some(provider) = bounded("read the Provider", providers.get_opt(&options.provider)).await? else {
        return Ok(Home::Stranger("the Provider does not exist"));
    };
    let classes: Api<ProviderClass> = Api::all(client.clone());
    let name = &provider.spec.provider_class_ref.name;
    let class = bounded("read the ProviderClass", classes.get_opt(name)).await?;
    Ok(judge(options, provider, class.as_ref()))
}

fn judge(options: &Options, provider: Provider, class: Option<&ProviderClass>) -> Home {
    if options.provider_uid.is_some() && options.provider_uid != provider.metadata.uid {
        return Home::Stranger("the Provider of this name is another one than this pod was made for");
    }
    if class.is_some_and(|c| c.spec.backend != options.backend) {
        return Home::Stranger("the Provider has moved to a class of another backend");
    }
    // A class that is gone stops nothing that runs.
    if provider.spec.paused || class.is_some_and(|c| c.spec.paused) {
        return Home::Paused(provider.into());
    }
    Home::Serve(provider.into())
}

/// Wakes whenever the Provider has changed in what a pod acts on. The server narrows the watch to this one object.
pub(super) fn changes(client: &Client, options: &Options) -> impl Stream<Item = ()> + use<> {
    let api: Api<Provider> = Api::namespaced(client.clone(), &options.namespace);
    let mut before = None;
    watcher::watch_object(api, &options.provider).default_backoff().filter_map(move |event| {
        let changed = match event {
            Ok(provider) => {
                let acted_on = provider.as_ref().map(acted_on);
                before.replace(acted_on.clone()) != Some(acted_on)
            }
            Err(error) => {
                tracing::warn!(error = crate::k8s::chain(&error), "the watch of the Provider failed; it starts again");
                false
            }
        };
        future::ready(changed.then_some(()))
    })
}

/// What of a Provider a pod acts on: the spec. Its status is no such thing, but for one word of the operator: a pod watches no
/// classes, and sees by it at once that its own has been suspended, or is no longer.
fn acted_on(provider: &Provider) -> (Option<String>, Option<i64>, bool) {
    let workload = provider.status.as_ref().and_then(|s| s.workload.as_ref());
    let class_paused = workload.is_some_and(|w| w.reason == Some(Reason::ClassPaused));
    (provider.metadata.uid.clone(), provider.metadata.generation, class_paused)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;
    use serde_json::json;

    #[rstest]
    #[case::served("u", false, "vsphere", Some(false), "Serve")]
    #[case::paused("u", true, "vsphere", Some(false), "Paused")]
    #[case::class_paused("u", false, "vsphere", Some(true), "Paused")]
    #[case::class_gone("u", false, "vsphere", None, "Serve")]
    #[case::other_uid("v", false, "vsphere", Some(false), "Stranger")]
    #[case::other_uid_paused("v", true, "vsphere", Some(true), "Stranger")]
    #[case::other_backend("u", false, "libvirt", Some(false), "Stranger")]
    fn judges(
        #[case] uid: &str,
        #[case] paused: bool,
        #[case] backend: &str,
        #[case] class_paused: Option<bool>,
        #[case] expected: &str,
    ) {
        let options = Options {
            backend: crate::k8s::crd::Backend::Vsphere,
            namespace: "infra".into(),
            provider: "lab".into(),
            provider_uid: Some("u".into()),
            pod_name: "pod".into(),
            pod_uid: "pod-uid".into(),
        };
        let provider = json!({
            "apiVersion": "banlieue.io/v1alpha1", "kind": "Provider", "metadata": {"name": "lab", "uid": uid},
            "spec": {"providerClassRef": {"name": "c"}, "paused": paused,
                "connection": {"endpoint": "https://vcenter", "credentialsRef": {"name": "s"}}},
        });
        let class = class_paused.map(|paused| {
            json!({
                "apiVersion": "banlieue.io/v1alpha1", "kind": "ProviderClass", "metadata": {"name": "c"},
                "spec": {"backend": backend, "paused": paused, "image": {"repository": "r"}},
            })
        });
        let class: Option<ProviderClass> = class.map(|c| serde_json::from_value(c).unwrap());
        let home = judge(&options, serde_json::from_value(provider).unwrap(), class.as_ref());
        assert!(format!("{home:?}").starts_with(expected), "{home:?}");
    }

    #[rstest]
    #[case::spec(json!({"metadata": {"generation": 2}}), true)]
    #[case::another_of_its_name(json!({"metadata": {"uid": "v"}}), true)]
    #[case::class_paused(json!({"status": {"workload": {"phase": "Paused", "reason": "ClassPaused"}}}), true)]
    #[case::paused_itself(json!({"status": {"workload": {"phase": "Paused", "reason": "ProviderPaused"}}}), false)]
    #[case::operator(json!({"status": {"workload": {"phase": "Ready", "reason": "WorkloadAvailable"}}}), false)]
    #[case::own_report(json!({"status": {"observedGeneration": 1}}), false)]
    #[case::label(json!({"metadata": {"labels": {"a": "b"}}}), false)]
    fn wakes_for_what_it_acts_on(#[case] change: serde_json::Value, #[case] wakes: bool) {
        let mut provider = json!({
            "apiVersion": "banlieue.io/v1alpha1", "kind": "Provider",
            "metadata": {"name": "lab", "uid": "u", "generation": 1},
            "spec": {"providerClassRef": {"name": "c"},
                "connection": {"endpoint": "https://vcenter", "credentialsRef": {"name": "s"}}},
            "status": {"workload": {"phase": "Provisioning", "reason": "Creating"}},
        });
        let acted_on_in = |provider: &serde_json::Value| acted_on(&serde_json::from_value(provider.clone()).unwrap());
        let before = acted_on_in(&provider);
        json_patch::merge(&mut provider, &change);
        assert_eq!(acted_on_in(&provider) != before, wakes);
    }
}
