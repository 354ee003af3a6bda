//! [`Story`]: what somebody does to a Provider called `p`, and when that has come to its end.
use crate::five::{Five, SOON};
use crate::place::{Place, namespace, workload};
use crate::until::until;
use anyhow::{Result, ensure};
use banlieue::fsm::Phase;
use banlieue::k8s::crd::{Backend, Provider};
use banlieue_e2e::watch;
use k8s_openapi::api::core::v1::Namespace;
use kube::{Api, ResourceExt};
use serde_json::json;

/// Where the pods are.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Layout {
    /// Beside the Provider.
    Own,
    /// In the class's `workloadNamespace`.
    Away,
}

impl Layout {
    /// Both.
    pub(crate) const ALL: [Self; 2] = [Self::Own, Self::Away];

    /// The `workloadNamespace` of a class.
    fn field(self, place: &Place<'_>) -> Option<String> {
        (self == Self::Away).then(|| away(place))
    }

    fn other(self) -> Self {
        if self == Self::Own { Self::Away } else { Self::Own }
    }
}

/// What somebody does.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Story {
    /// A new Provider, until it is Ready.
    New,
    /// The class gets another image.
    ClassEdit,
    /// The Provider gets a class of another backend.
    OtherBackend,
    /// The class gets another `workloadNamespace`.
    OtherPlace,
    /// The Provider is deleted.
    Deletion,
    /// The Provider is deleted after its old pods were taken down, and before the new ones are there.
    DeletionHalfMoved,
}

impl Story {
    /// Each of them.
    pub(crate) const ALL: [Self; 6] =
        [Self::New, Self::ClassEdit, Self::OtherBackend, Self::OtherPlace, Self::Deletion, Self::DeletionHalfMoved];

    /// What is there before.
    pub(crate) async fn prepare(self, place: &Place<'_>, layout: Layout) -> Result<()> {
        namespace(place.stage, &away(place)).await?;
        let field = json!({ "workloadNamespace": layout.field(place) });
        place.class(&place.name, Backend::Vsphere, field.clone()).await?;
        place.class(&next(place), Backend::Proxmox, field).await?;
        if self != Self::New {
            place.registered("p").await?;
        }
        if matches!(self, Self::New | Self::ClassEdit | Self::DeletionHalfMoved) {
            place.stage.kubelet.hold(&pods(place, layout));
        }
        if self == Self::DeletionHalfMoved {
            place.edit_class(&place.name, json!({ "workloadNamespace": layout.other().field(place) })).await?;
            place.says("p", "half moved", |w| w.message.as_deref().is_some_and(|m| m.contains("nothing runs"))).await?;
        }
        Ok(())
    }

    /// Does it, and waits for the end. Returns the Provider's uid.
    pub(crate) async fn act(self, place: &Place<'_>, layout: Layout) -> Result<String> {
        let provider = match self {
            Self::New => place.register("p").await?,
            _ => place.providers.get("p").await?,
        };
        match self {
            Self::New => {
                place.says("p", "Provisioning", |w| w.phase == Phase::Provisioning).await?;
                place.stage.kubelet.release(&pods(place, layout)).await?;
                place.ready("p").await?;
            }
            Self::ClassEdit => {
                place.edit_class(&place.name, json!({ "image": { "tag": "2" } })).await?;
                let rolling = |p: &Provider| {
                    let of =
                        |w: &banlieue::fsm::WorkloadStatus| w.image.as_deref() == Some("registry.invalid/banlieue:2");
                    workload(p).is_some_and(|w| w.phase == Phase::Provisioning && of(w))
                };
                watch::see(&place.providers, "p", "it rolls", SOON, rolling).await?;
                place.stage.kubelet.release(&pods(place, layout)).await?;
                place.ready("p").await?;
            }
            Self::OtherBackend => {
                place.edit("p", json!({ "spec": { "providerClassRef": { "name": next(place) } } })).await?;
                place.ready("p").await?;
            }
            Self::OtherPlace => {
                let there = layout.other();
                place.edit_class(&place.name, json!({ "workloadNamespace": there.field(place) })).await?;
                let there = pods(place, there);
                place
                    .says("p", "Ready elsewhere", |w| w.phase == Phase::Ready && w.namespace.as_ref() == Some(&there))
                    .await?;
            }
            Self::Deletion => place.remove("p").await?,
            Self::DeletionHalfMoved => {
                place.leaves("p").await?;
                place.stage.kubelet.release(&pods(place, layout)).await?;
                watch::gone(&place.providers, "p", SOON).await?;
            }
        }
        self.settle(place).await?;
        Ok(provider.uid().unwrap_or_default())
    }

    /// Waits until what others do has ended: the garbage collector, and the end of old pods.
    async fn settle(self, place: &Place<'_>) -> Result<()> {
        if matches!(self, Self::Deletion | Self::DeletionHalfMoved) {
            for five in everywhere(place) {
                five.gone().await?;
            }
        }
        until("what was only old is gone", SOON, async || {
            let mut objects = std::collections::BTreeSet::new();
            for five in everywhere(place) {
                objects.extend(five.marks().await?.into_keys().map(|part| five.at(part).clone()));
            }
            let goal = if matches!(self, Self::Deletion | Self::DeletionHalfMoved) { 0 } else { 5 };
            Ok(if objects.len() == goal { Ok(()) } else { Err(format!("{objects:?}")) })
        })
        .await
    }

    /// Takes away what a restart would have to look at.
    pub(crate) async fn clear(self, place: &Place<'_>) -> Result<()> {
        if place.providers.get_opt("p").await?.is_some() {
            place.remove("p").await?;
        }
        ensure!(place.providers.get_opt("p").await?.is_none());
        let namespaces: Api<Namespace> = Api::all(place.stage.client.clone());
        for name in [place.name.clone(), away(place)] {
            namespaces.delete(&name, &Default::default()).await?;
        }
        Ok(())
    }
}

/// The five at every address that a story may give them.
pub(crate) fn everywhere(place: &Place<'_>) -> Vec<Five> {
    let away = away(place);
    let of =
        |backend| [None, Some(away.as_str())].map(|at| Five::new(&place.stage.client, backend, &place.name, "p", at));
    [Backend::Vsphere, Backend::Proxmox].into_iter().flat_map(of).collect()
}

/// The other namespace of a place.
pub(crate) fn away(place: &Place<'_>) -> String {
    format!("{}-pods", place.name)
}

/// The class of another backend.
fn next(place: &Place<'_>) -> String {
    format!("{}-next", place.name)
}

fn pods(place: &Place<'_>, layout: Layout) -> String {
    layout.field(place).unwrap_or_else(|| place.name.clone())
}
