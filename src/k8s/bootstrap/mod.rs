//! The live installation: stage by stage, each object by server-side apply, written only where something would change.
mod apply;
mod available;
mod elsewhere;
mod established;
mod foreign;
mod limit;
mod namespace;
mod needs;

use super::client::Client;
use super::failure::{few_words, remedy};
use super::manifests::install::{Object, Stage};
pub use apply::Outcome;
pub use available::{missing, trouble};
pub use elsewhere::{elsewhere, operator, refuse_elsewhere, refuse_operator};
pub use foreign::foreign;
pub use namespace::{ending, namespace};
use std::time::{Duration, Instant};

/// How to go about it.
#[derive(Clone, Copy, Debug)]
pub struct Conduct {
    /// Overwrites the ProviderClasses that are there and differ; they are kept otherwise.
    pub reset_classes: bool,
    /// Says what would become of each object, and writes nothing.
    pub plan: bool,
    /// How long to wait until the Deployments are available; not at all if there is nothing here.
    pub wait: Option<Duration>,
}

/// What happens meanwhile.
#[derive(Clone, Debug)]
pub enum Event {
    /// An object is as it should be, or is kept as it was.
    /// In a plan: what would become of it, and in which fields it differs.
    Applied(Outcome, String, Vec<String>),
    /// It waits, and for what.
    Waiting(String),
}

/// A failed installation: which object, why, and what to do. Running it again goes on where it ended.
#[derive(Debug, thiserror::Error)]
#[error("{object}: {why}; {todo}")]
pub struct Failed {
    /// The object.
    pub object: String,
    /// Why, in the API's own words where it gave any.
    pub why: String,
    /// What to do.
    pub todo: String,
}

impl Failed {
    /// A request for `object` that failed, in the API's own words.
    pub fn of(object: &str, error: &kube::Error) -> Self {
        Failed { object: object.into(), why: few_words(error), todo: remedy(error).into() }
    }

    fn api(object: &Object, error: &kube::Error) -> Self {
        Failed::of(&object.to_string(), error)
    }
}

/// The longest wait for a kind to be established: it takes a second at most.
const ESTABLISH: Duration = Duration::from_secs(30);

/// Applies the objects in their order, and waits for what has to be waited for.
///
/// # Errors
/// At the first object that fails; those before it stay. Before the first where a kind is another project's, the namespace is being
/// deleted, namespace or kinds are missing and not among the objects, or a limit on images would be lifted.
pub async fn install(
    client: &Client,
    objects: &[Object],
    conduct: Conduct,
    tell: &mut (dyn FnMut(Event) + Send),
) -> Result<(), Failed> {
    foreign::refuse(client, objects).await?;
    needs::refuse(client, objects).await?;
    limit::refuse(client, objects).await?;
    let of = |stage| objects.iter().filter(move |o| o.stage == stage);
    for stage in [Stage::Namespace, Stage::Crds, Stage::Policies, Stage::Rights, Stage::Workloads, Stage::Classes] {
        for object in of(stage) {
            let (outcome, fields) = apply::apply(client, object, conduct).await?;
            tell(Event::Applied(outcome, object.to_string(), fields));
        }
        if stage == Stage::Crds && !conduct.plan {
            for object in of(stage) {
                established::wait(client, object, Instant::now() + ESTABLISH, tell).await?;
            }
        }
    }
    if let Some(patience) = conduct.wait.filter(|_| !conduct.plan) {
        let until = Instant::now() + patience;
        for object in of(Stage::Workloads).filter(|o| o.resource.kind == "Deployment") {
            available::wait(client, object, until, patience, tell).await?;
        }
    }
    Ok(())
}
