//! What caches know of the objects that a decision depends on. Pure: the operator adds live reads, a prediction does not.
use super::caches::Caches;
use super::crd::{Provider, ProviderClass};
use super::kinds;
use super::manifests::Workload;
use super::observe::{Found, class_of};
use crate::fsm::{Class, ObjectRef, Part};
use kube::ResourceExt;

/// The objects that are known, and the wanted addresses of which nothing is known.
#[derive(Debug)]
pub(super) struct Known {
    /// Everything that carries the Provider's stamp, and whatever stands at a wanted address.
    pub(super) found: Vec<Found>,
    /// Wanted addresses at which the caches know nothing.
    pub(super) unknown: Vec<ObjectRef>,
}

impl Known {
    /// What the caches know of this Provider.
    pub(super) fn of(
        caches: &Caches,
        install_namespace: &str,
        provider: &Provider,
        class: Option<&ProviderClass>,
    ) -> Self {
        let uid = provider.uid().unwrap_or_default();
        let ours = |part| caches.part(part).indexed(&uid).into_iter().map(move |raw| (kinds::address(part, &raw), raw));
        let mut found: Vec<Found> =
            Part::ALL.into_iter().flat_map(ours).map(|(object, raw)| Found { object, raw }).collect();
        let mut unknown = Vec::new();
        for object in addresses(install_namespace, provider, class) {
            if found.iter().any(|f| f.object == object) {
                continue;
            }
            match caches.part(object.part).get(object.namespace.as_deref().unwrap_or(""), &object.name) {
                Some(raw) => found.push(Found { object, raw }),
                None => unknown.push(object),
            }
        }
        Self { found, unknown }
    }
}

/// The five addresses that are wanted, where the class can be used.
pub(super) fn addresses(install_namespace: &str, provider: &Provider, class: Option<&ProviderClass>) -> Vec<ObjectRef> {
    let usable = class_of(provider, class) == Class::Usable;
    class.filter(|_| usable).map_or_else(Vec::new, |class| {
        let workload = Workload { provider, class, install_namespace, account_uid: None };
        Part::ALL.map(|part| workload.object(part)).into()
    })
}
