//! The Provider that a pod serves, and what keeps it from serving.
use super::Options;
use crate::effects::Refusal;
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

/// Wakes whenever the Provider has changed in what a pod acts on; its status is no such thing. The server narrows the
/// watch to this one object.
pub(super) fn changes(client: &Client, options: &Options) -> impl Stream<Item = ()> + use<> {
    let api: Api<Provider> = Api::namespaced(client.clone(), &options.namespace);
    let mut before = None;
    watcher::watch_object(api, &options.provider).default_backoff().filter_map(move |event| {
        let changed = match event {
            Ok(provider) => {
                let key = provider.map(|p| (p.metadata.uid, p.metadata.generation));
                before.replace(key.clone()) != Some(key)
            }
            Err(error) => {
                tracing::warn!(error = crate::k8s::chain(&error), "the watch of the Provider failed; it starts again");
                false
            }
        };
        future::ready(changed.then_some(()))
    })
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
}
