//! [`Rig`]: plays a story under an operator that is killed in it, and its successor.
use super::gate::{Gate, Kill};
use super::outcome::Outcome;
use super::story::{Layout, Story};
use crate::detour::alone;
use crate::place::Place;
use crate::stage::{Stage, fresh};
use anyhow::{Context, Result};
use banlieue::k8s::crd::Provider;
use banlieue_e2e::proxy::Proxy;
use kube::Api;
use std::sync::Arc;

/// The operator that all stories of a test run under. The stage's own does not run meanwhile.
pub(crate) struct Rig<'s> {
    stage: &'s Stage,
    running: Running,
}

/// An operator behind a gate.
struct Running {
    gate: Arc<Gate>,
    /// Its way to the API server, which ends with it.
    _proxy: Proxy,
}

impl<'s> Rig<'s> {
    /// Runs `tests` while the stage's own operator is away.
    pub(crate) async fn with(stage: &'s Stage, tests: impl AsyncFnOnce(&mut Self) -> Result<()>) -> Result<()> {
        alone(stage, async || {
            let mut rig = Self { stage, running: Running::start(stage).await? };
            let tested = tests(&mut rig).await;
            rig.running.gate.finish();
            tested
        })
        .await
    }

    /// Plays a story to its end; the operator dies where `kill` says, and another one goes on.
    pub(crate) async fn play(&mut self, story: Story, layout: Layout, kill: Option<Kill>) -> Result<Outcome> {
        let what = || format!("{story:?} in {layout:?}, killed at {kill:?}");
        self.play_it(story, layout, kill).await.with_context(what)
    }

    async fn play_it(&mut self, story: Story, layout: Layout, kill: Option<Kill>) -> Result<Outcome> {
        let place = Place::bare(self.stage, &format!("matrix-{}", fresh())).await?;
        story.prepare(&place, layout).await?;
        let writes = place.writes(&["p"])?;
        let gate = self.running.gate.clone();
        gate.arm(&place.name, kill);
        let (uid, reached) = if kill.is_none() {
            (story.act(&place, layout).await?, false)
        } else {
            // a story may end before its moment comes: then the operator dies when all is done
            let act = async { Ok((story.act(&place, layout).await?, gate.finish())) };
            let succession = async {
                gate.died().await;
                Running::start(self.stage).await
            };
            let (acted, successor) = tokio::try_join!(act, succession)?;
            self.running = successor;
            acted
        };
        let outcome = Outcome::of(&place, uid, &writes, gate.writes(), reached).await?;
        story.clear(&place).await?;
        Ok(outcome)
    }
}

impl Running {
    /// Starts one, and waits until it has looked at every Provider.
    async fn start(stage: &Stage) -> Result<Self> {
        let gate = Arc::new(Gate::default());
        let proxy = Proxy::start(&stage.cluster, gate.clone()).await?;
        let holder = format!("matrix-{}", fresh());
        let kubeconfig = proxy.kubeconfig(&std::fs::read_to_string(&stage.kubeconfig)?)?;
        let kubeconfig = stage.cluster.run_dir().write(&format!("{holder}.kubeconfig"), &kubeconfig)?;
        // the Lease of one that was killed would have to run out each time
        let operator = stage.operator_by(&kubeconfig, &holder, &["--no-leader-elect"])?;
        operator.leads().await?;
        let all = Api::<Provider>::all(stage.client.clone()).list_metadata(&Default::default()).await?;
        operator.reconciled(all.items.len() as f64).await?;
        gate.watch_over(operator);
        Ok(Self { gate, _proxy: proxy })
    }
}
