//! The live installation: stage by stage, each object by server-side apply, written only where something would change.
mod apply;
mod available;
mod elsewhere;
mod established;

use super::client::Client;
use super::failure::{remedy, words};
use super::manifests::install::{Object, Stage};
pub use apply::Outcome;
use std::time::{Duration, Instant};

/// How to go about it.
#[derive(Clone, Copy, Debug)]
pub struct Conduct {
    /// Overwrites the ProviderClasses that are there and differ; they are kept otherwise.
    pub reset_classes: bool,
    /// How long to wait until the Deployments are available; not at all if there is nothing here.
    pub wait: Option<Duration>,
}

/// What happens meanwhile.
#[derive(Clone, Debug)]
pub enum Event {
    /// An object is as it should be, or is kept as it was.
    Applied(Outcome, String),
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
    fn api(object: &Object, error: &kube::Error) -> Self {
        Failed { object: object.to_string(), why: words(error), todo: remedy(error).into() }
    }
}

/// The longest wait for a kind to be established: it takes a second at most.
const ESTABLISH: Duration = Duration::from_secs(30);

/// Applies the objects, whose Deployments are in `namespace`, in their order, and waits for what has to be waited for.
///
/// # Errors
/// Where banlieue is installed in another namespace; at the first object that fails, and those before it stay.
pub async fn install(
    client: &Client,
    namespace: &str,
    objects: &[Object],
    conduct: Conduct,
    tell: &mut (dyn FnMut(Event) + Send),
) -> Result<(), Failed> {
    elsewhere::refuse(client, namespace).await?;
    let of = |stage| objects.iter().filter(move |o| o.stage == stage);
    for stage in [Stage::Namespace, Stage::Crds, Stage::Rights, Stage::Workloads, Stage::Classes] {
        for object in of(stage) {
            let outcome = apply::apply(client, object, conduct).await?;
            tell(Event::Applied(outcome, object.to_string()));
        }
        if stage == Stage::Crds {
            for object in of(stage) {
                established::wait(client, object, Instant::now() + ESTABLISH, tell).await?;
            }
        }
    }
    if let Some(patience) = conduct.wait {
        let until = Instant::now() + patience;
        for object in of(Stage::Workloads) {
            available::wait(client, object, until, patience, tell).await?;
        }
    }
    Ok(())
}
