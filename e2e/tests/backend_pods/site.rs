//! [`Site`]: a namespace with backends in it, each Provider's pod woken when a test wants a look.
use crate::place::{CLASS, Place, condition, restarts, workload};
use crate::sim::{AT_ONCE, Counts, Sim};
use crate::stage::Stage;
use crate::watch;
use anyhow::{Context, Result, bail, ensure};
use banlieue::fsm::Phase;
use banlieue::k8s::crd::{ConditionStatus, Provider, ProviderClass};
use k8s_openapi::api::core::v1::Pod;
use kube::api::{DeleteParams, Patch, PatchParams};
use kube::{Api, ResourceExt};
use serde_json::{Value, json};
use std::ops::Deref;
use std::time::{Duration, Instant};

/// A change of a Secret or a CA source is used within this time, and any other change that nobody tells the pod of.
pub(crate) const LOOK: Duration = Duration::from_secs(40);

/// A place of a test's own; it dereferences to it.
pub(crate) struct Site {
    place: Place,
    classes: Api<ProviderClass>,
    /// The class of its Providers.
    class: String,
}

impl Deref for Site {
    type Target = Place;
    fn deref(&self) -> &Place {
        &self.place
    }
}

impl Site {
    /// A new namespace.
    pub(crate) async fn new(stage: &Stage, namespace: &str) -> Result<Self> {
        let classes = Api::all(stage.client.clone());
        Ok(Site { place: Place::new(stage, namespace).await?, classes, class: CLASS.into() })
    }

    /// A new namespace, and a class that is called like it: the installer's one, changed.
    pub(crate) async fn with_class(
        stage: &Stage,
        namespace: &str,
        change: impl FnOnce(&mut ProviderClass),
    ) -> Result<Self> {
        let site = Self::new(stage, namespace).await?;
        site.class(namespace, change).await?;
        Ok(Site { class: namespace.into(), ..site })
    }

    /// Changes the class, which is its own.
    pub(crate) async fn edit_class(&self, spec: Value) -> Result<ProviderClass> {
        let patch = Patch::Merge(json!({ "spec": spec }));
        Ok(self.classes.patch(&self.class, &PatchParams::default(), &patch).await?)
    }

    /// What a Provider at a simulator looks like.
    pub(crate) fn at(&self, sim: &Sim, name: &str) -> Provider {
        let mut draft = self.draft(name);
        draft.spec.connection.endpoint = sim.endpoint.clone();
        draft.spec.provider_class_ref.name.clone_from(&self.class);
        draft
    }

    /// A Provider at a simulator, with its Secret, once it is Ready for its pod and for the operator.
    pub(crate) async fn join(&self, sim: &Sim, name: &str) -> Result<Provider> {
        self.secret(name, &sim.password).await?;
        self.create(&self.at(sim, name)).await?;
        self.good(name).await?;
        self.ready(name).await
    }

    /// Changes the spec.
    pub(crate) async fn edit(&self, name: &str, spec: Value) -> Result<Provider> {
        let patch = Patch::Merge(json!({ "spec": spec }));
        self.api().patch(name, &PatchParams::default(), &patch).await.context("the edit was not taken")
    }

    /// Changes what is reached, and how.
    pub(crate) async fn reconnect(&self, name: &str, connection: Value) -> Result<Provider> {
        self.edit(name, json!({ "connection": connection })).await
    }

    /// Wakes the pod for a look without a change of what it looks at.
    pub(crate) async fn wake(&self, name: &str) -> Result<Provider> {
        self.edit(name, json!({"paused": true})).await?;
        self.edit(name, json!({"paused": false})).await
    }

    /// Waits until a condition says this of the spec as it is now.
    pub(crate) async fn says(
        &self,
        name: &str,
        type_: &str,
        (status, reason): (ConditionStatus, &str),
        limit: Duration,
    ) -> Result<Provider> {
        let what = format!("{type_}={status:?} for {reason}");
        watch::see(&self.api(), name, &what, limit, |p: &Provider| {
            condition(p, type_).is_some_and(|c| {
                c.status == status && c.reason == reason && c.observed_generation == p.metadata.generation
            })
        })
        .await
    }

    /// Waits until the backend can be used.
    pub(crate) async fn good(&self, name: &str) -> Result<Provider> {
        self.says(name, "Ready", (ConditionStatus::True, "BackendAvailable"), LOOK).await
    }

    /// Wakes the pod, and waits until it has looked at the simulator; how long that took.
    pub(crate) async fn looked(&self, sim: &Sim, name: &str) -> Result<(Duration, Counts)> {
        let before = sim.counts().await?.of("CurrentTime");
        let began = Instant::now();
        self.wake(name).await?;
        let counts = sim.count("a look", AT_ONCE, |c| c.of("CurrentTime") > before).await?;
        Ok((began.elapsed(), counts))
    }

    /// `story`, during all of which `fault` never holds of the Provider.
    pub(crate) async fn while_never<T>(
        &self,
        name: &str,
        what: &str,
        fault: impl Fn(&Provider) -> bool,
        story: impl Future<Output = Result<T>>,
    ) -> Result<T> {
        let api = self.api::<Provider>();
        tokio::select! {
            told = story => told,
            seen = watch::never(&api, name, what, Duration::from_secs(600), fault) => {
                seen?;
                bail!("{name}: the story did not end")
            }
        }
    }

    /// The one pod of a Provider that is not on its way out.
    pub(crate) async fn pod(&self, provider: &Provider) -> Result<Pod> {
        let stays = |pod: &Pod| pod.metadata.deletion_timestamp.is_none();
        let pods: Vec<Pod> = self.pods(provider).await?.into_iter().filter(stays).collect();
        let [pod] = &pods[..] else { bail!("{} pods", pods.len()) };
        Ok(pod.clone())
    }

    /// That what was done to a Provider has cost no pod: none was replaced by another kind of it, and none restarted.
    pub(crate) async fn undisturbed(&self, name: &str) -> Result<()> {
        let workload = self.workload(name);
        let deployment = workload.deployments.get(&workload.pods).await?;
        let revision = deployment.annotations().get("deployment.kubernetes.io/revision").map(String::as_str);
        let restarts = restarts(&self.pods(&self.api().get(name).await?).await?);
        ensure!(revision == Some("1") && restarts == 0, "{name}: revision {revision:?}, {restarts} restarts");
        Ok(())
    }

    /// Removes every Provider, the class if it is its own, and the place.
    pub(crate) async fn end(self) -> Result<()> {
        let api = self.api::<Provider>();
        let all = api.list(&Default::default()).await?;
        for provider in &all {
            api.delete(&provider.name_any(), &DeleteParams::default()).await?;
        }
        for provider in &all {
            watch::gone(&api, &provider.name_any(), LOOK).await?;
        }
        if self.class != CLASS {
            self.classes.delete(&self.class, &DeleteParams::default()).await?;
        }
        self.place.clear().await
    }
}

/// Whether the pod said that the backend cannot be used, or that it does not know.
pub(crate) fn not_good(provider: &Provider) -> bool {
    condition(provider, "Ready").is_none_or(|c| c.status != ConditionStatus::True)
}

/// Whether the workload has left Ready; a pod that is woken is paused for a moment.
pub(crate) fn not_ready(provider: &Provider) -> bool {
    workload(provider).is_none_or(|w| !matches!(w.phase, Phase::Ready | Phase::Paused))
}
