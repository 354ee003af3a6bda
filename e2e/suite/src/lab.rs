//! [`Lab`]: one [`Stage`] for all tests, and who may use it when.
use anyhow::{Result, anyhow};
use banlieue_e2e::{Cluster, logs};
use libtest_mimic::{Arguments, Failed, Trial};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::runtime::Runtime;
use tokio::sync::{Mutex, RwLock};

/// How long one test may take; each wait in it has a limit of its own, so this is for what nobody thought of.
const TEST_LIMIT: Duration = Duration::from_secs(600);

/// How long one of the long tests may take.
const LONG_LIMIT: Duration = Duration::from_secs(3600);

/// A test that takes longer says so.
const SLOW: Duration = Duration::from_secs(20);

/// What the tests of a suite stand on: a cluster, and all that the suite needs beside it.
pub trait Stage: Send + Sync + Sized + 'static {
    /// Makes it, on a cluster of this name.
    fn start(name: &str) -> impl Future<Output = Result<Self>>;
    /// What is done before each test; nothing, where tests leave nothing to each other.
    fn before(&self) -> impl Future<Output = Result<()>> {
        async { Ok(()) }
    }
    /// Ends all of it but the cluster.
    fn into_cluster(self) -> Cluster;
}

/// Whether a test minds others.
#[derive(Clone, Copy)]
pub enum Manner {
    /// It runs beside others.
    Beside,
    /// It disturbs others, or is disturbed by them.
    Alone,
    /// It is alone, takes minutes, and runs only when it is asked for: `-- --ignored`.
    Long,
}

/// The stage, made at its first use.
pub struct Lab<S> {
    runtime: Runtime,
    name: String,
    stage: Mutex<Option<Result<Arc<S>, String>>>,
    turn: RwLock<()>,
}

impl<S: Stage> Lab<S> {
    /// Nothing is started yet. The cluster will be called as the suite, which is `env!("CARGO_CRATE_NAME")`.
    pub fn new(suite: &str) -> Self {
        let runtime = Runtime::new().expect("a runtime");
        let name = format!("{}-{}", suite.replace('_', "-"), std::process::id());
        Lab { runtime, name, stage: Mutex::new(None), turn: RwLock::new(()) }
    }

    /// A trial that runs `body` on the stage.
    pub fn trial<F>(self: &Arc<Self>, manner: Manner, name: &str, body: F) -> Trial
    where
        F: AsyncFnOnce(&S) -> Result<()> + Send + 'static,
    {
        let (lab, told) = (Arc::clone(self), name.to_owned());
        let test = Trial::test(name, move || {
            lab.runtime.block_on(lab.run(&told, manner, body)).map_err(|e| Failed::from(format!("{e:#}")))
        });
        test.with_ignored_flag(matches!(manner, Manner::Long))
    }

    async fn run(&self, name: &str, manner: Manner, body: impl AsyncFnOnce(&S) -> Result<()>) -> Result<()> {
        let stage = self.stage().await?;
        let test = async {
            let began = Instant::now();
            let limit = if matches!(manner, Manner::Long) { LONG_LIMIT } else { TEST_LIMIT };
            let whole = async {
                stage.before().await?;
                body(&stage).await
            };
            let done = tokio::time::timeout(limit, whole).await;
            if began.elapsed() > SLOW {
                println!("slow: {name} took {:.0} s", began.elapsed().as_secs_f64());
            }
            done.unwrap_or_else(|_| Err(anyhow!("not done after {} s", limit.as_secs())))
        };
        match manner {
            Manner::Beside => {
                let _turn = self.turn.read().await;
                test.await
            }
            Manner::Alone | Manner::Long => {
                let _turn = self.turn.write().await;
                test.await
            }
        }
    }

    async fn stage(&self) -> Result<Arc<S>> {
        let mut stage = self.stage.lock().await;
        if stage.is_none() {
            *stage = Some(S::start(&self.name).await.map(Arc::new).map_err(|e| format!("{e:#}")));
        }
        match stage.as_ref() {
            Some(Ok(stage)) => Ok(Arc::clone(stage)),
            Some(Err(error)) => Err(anyhow!("the stage did not come up: {error}")),
            None => unreachable!("it was made above"),
        }
    }

    /// Runs `trials`, this many beside each other, and `afterwards` those that look back at all that was done; ends the
    /// cluster. After a failure what it wrote is kept, and where is said.
    pub fn play(&self, at_once: usize, trials: Vec<Trial>, afterwards: Vec<Trial>) -> ExitCode {
        let mut arguments = Arguments::from_args();
        arguments.test_threads.get_or_insert(at_once);
        let mut failed = libtest_mimic::run(&arguments, trials).has_failed();
        let used = matches!(*self.runtime.block_on(self.stage.lock()), Some(Ok(_)));
        if used && !afterwards.is_empty() {
            // whichever tests were asked for
            arguments = Arguments { filter: None, skip: vec![], exact: false, ignored: false, ..arguments };
            failed |= libtest_mimic::run(&arguments, afterwards).has_failed();
        }
        if let Some(Ok(stage)) = self.runtime.block_on(self.stage.lock()).take() {
            end(stage, failed);
        }
        if failed { ExitCode::FAILURE } else { ExitCode::SUCCESS }
    }
}

/// Ends all that the stage holds, and then its cluster. After a failure everything the cluster wrote is copied out first.
pub fn end<S: Stage>(stage: Arc<S>, failed: bool) {
    let cluster = Arc::into_inner(stage).expect("no test has it any more").into_cluster();
    if failed {
        eprintln!("{}", logs::kept(&cluster));
    }
    if let Err(error) = cluster.shut_down() {
        eprintln!("the cluster is not wholly down: {error:#}");
    }
}

/// `tests!(lab, Beside: module::test, …)`: trials named as their functions.
#[macro_export]
macro_rules! tests {
    ($lab:expr, $manner:ident: $($module:ident::$name:ident),* $(,)?) => {
        vec![$($lab.trial($crate::lab::Manner::$manner, concat!(stringify!($module), "::", stringify!($name)), $module::$name)),*]
    };
}
