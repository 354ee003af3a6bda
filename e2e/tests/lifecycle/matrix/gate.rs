//! [`Gate`]: kills the operator at a chosen one of its writes about one place.
use crate::operator::Operator;
use banlieue::k8s::crd::Backend;
use banlieue::k8s::manifests::names;
use banlieue_e2e::proxy::{Asked, Rule, Way};
use std::sync::{Mutex, MutexGuard, PoisonError};
use tokio::sync::watch;

/// Where in the life of a write the operator dies.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Moment {
    /// The API server never hears of it.
    BeforeSending,
    /// The API server has done it, the operator never hears of it.
    AfterCommit,
    /// The operator knows, and can do nothing after it.
    AfterAnswer,
}

impl Moment {
    /// Each of them.
    pub(crate) const ALL: [Self; 3] = [Self::BeforeSending, Self::AfterCommit, Self::AfterAnswer];
}

/// At which write, counted from one, and when.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Kill {
    /// The number of the write.
    pub(crate) write: usize,
    /// Where in its life.
    pub(crate) moment: Moment,
}

/// Counts the operator's writes about one Provider, and kills it where it is told to.
#[derive(Default)]
pub(crate) struct Gate {
    state: Mutex<State>,
    dead: watch::Sender<bool>,
}

#[derive(Default)]
struct State {
    operator: Option<Operator>,
    dead: bool,
    /// Parts of the paths of what is counted.
    paths: Vec<String>,
    kill: Option<Kill>,
    /// The writes so far, in short.
    writes: Vec<String>,
    /// The request to die at.
    marked: Option<u64>,
    /// Whether the moment to die was there.
    hit: bool,
    /// Requests that the API server has not answered yet.
    under_way: usize,
}

impl Gate {
    /// Takes charge of the operator that goes through this gate.
    pub(crate) fn watch_over(&self, operator: Operator) {
        self.state().operator = Some(operator);
    }

    /// Counts from now on the writes about the Provider `p` of this namespace, whose pods may be in `<namespace>-pods`.
    pub(crate) fn arm(&self, namespace: &str, kill: Option<Kill>) {
        let homes = [format!("/namespaces/{namespace}/"), format!("/namespaces/{namespace}-pods/")];
        let grants = Backend::ALL.map(|b| format!("/clusterrolebindings/{}", names::hashed(b, namespace, "p")));
        let mut state = self.state();
        state.paths = homes.into_iter().chain(grants).collect();
        (state.kill, state.writes, state.hit) = (kill, Vec::new(), false);
    }

    /// The writes counted so far, in short.
    pub(crate) fn writes(&self) -> Vec<String> {
        self.state().writes.clone()
    }

    /// Kills the operator if it is alive; returns whether the moment to do so had come before.
    pub(crate) fn finish(&self) -> bool {
        let mut state = self.state();
        let hit = state.hit;
        self.kill(&mut state);
        hit
    }

    /// Waits until it is dead, and the API server has answered all that it sent.
    pub(crate) async fn died(&self) {
        // the sender lives in self, so waiting cannot fail
        let _ = self.dead.subscribe().wait_for(|dead| *dead).await;
    }

    fn kill(&self, state: &mut State) {
        // one that cannot be killed shows as a story that goes on by itself
        let _ = state.operator.take().map(Operator::kill);
        state.dead = true;
        self.tell(state);
    }

    fn tell(&self, state: &State) {
        if state.dead && state.under_way == 0 {
            self.dead.send_replace(true);
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Rule for Gate {
    async fn asked(&self, asked: &Asked) -> Way {
        let mut state = self.state();
        if state.dead || state.hit {
            self.kill(&mut state);
            return Way::Cut;
        }
        let path = asked.uri.path();
        if asked.writes() && !path.contains("/leases/") && state.paths.iter().any(|p| path.contains(p.as_str())) {
            state.writes.push(format!("{} {path}", asked.method));
            if let Some(kill) = state.kill.filter(|kill| kill.write == state.writes.len()) {
                state.marked = Some(asked.number);
                if kill.moment == Moment::BeforeSending {
                    state.hit = true;
                    self.kill(&mut state);
                    return Way::Cut;
                }
            }
        }
        state.under_way += 1;
        Way::On
    }

    async fn answered(&self, asked: &Asked, _: u16) -> Way {
        let mut state = self.state();
        state.under_way -= 1;
        let marked = state.marked == Some(asked.number);
        let commit = marked && state.kill.is_some_and(|k| k.moment == Moment::AfterCommit);
        // after the answer no further request is let through: the next one is the end of it
        state.hit |= marked;
        if commit {
            self.kill(&mut state);
        }
        self.tell(&state);
        if commit { Way::Cut } else { Way::On }
    }
}
