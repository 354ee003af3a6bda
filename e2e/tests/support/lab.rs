//! [`Lab`]: one [`Stage`] for all tests, and who may use it when.
use crate::stage::Stage;
use anyhow::{Result, anyhow};
use libtest_mimic::{Failed, Trial};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::runtime::Runtime;
use tokio::sync::{Mutex, RwLock};

/// How long one test may take; each wait in it has a limit of its own, so this is for what nobody thought of.
const TEST_LIMIT: Duration = Duration::from_secs(300);

/// A test that takes longer says so.
const SLOW: Duration = Duration::from_secs(20);

/// Whether a test minds others.
#[derive(Clone, Copy)]
pub(crate) enum Manner {
    /// It runs beside others.
    Beside,
    /// It disturbs others, or is disturbed by them.
    Alone,
}

/// The stage, made at its first use.
pub(crate) struct Lab {
    runtime: Runtime,
    stage: Mutex<Option<Result<Arc<Stage>, String>>>,
    turn: RwLock<()>,
}

impl Lab {
    /// Nothing is started yet.
    pub(crate) fn new() -> Self {
        let runtime = Runtime::new().expect("a runtime");
        Lab { runtime, stage: Mutex::new(None), turn: RwLock::new(()) }
    }

    /// A trial that runs `body` on the stage.
    pub(crate) fn trial<F>(self: &Arc<Self>, manner: Manner, name: &str, body: F) -> Trial
    where
        F: AsyncFnOnce(&Stage) -> Result<()> + Send + 'static,
    {
        let (lab, told) = (Arc::clone(self), name.to_owned());
        Trial::test(name, move || {
            lab.runtime.block_on(lab.run(&told, manner, body)).map_err(|e| Failed::from(format!("{e:#}")))
        })
    }

    async fn run(&self, name: &str, manner: Manner, body: impl AsyncFnOnce(&Stage) -> Result<()>) -> Result<()> {
        let stage = self.stage().await?;
        let test = async {
            let began = Instant::now();
            let done = tokio::time::timeout(TEST_LIMIT, body(&stage)).await;
            if began.elapsed() > SLOW {
                println!("slow: {name} took {:.0} s", began.elapsed().as_secs_f64());
            }
            done.unwrap_or_else(|_| Err(anyhow!("not done after {} s", TEST_LIMIT.as_secs())))
        };
        match manner {
            Manner::Beside => {
                let _turn = self.turn.read().await;
                test.await
            }
            Manner::Alone => {
                let _turn = self.turn.write().await;
                test.await
            }
        }
    }

    async fn stage(&self) -> Result<Arc<Stage>> {
        let mut stage = self.stage.lock().await;
        if stage.is_none() {
            *stage = Some(Stage::start().await.map(Arc::new).map_err(|e| format!("{e:#}")));
        }
        match stage.as_ref() {
            Some(Ok(stage)) => Ok(Arc::clone(stage)),
            Some(Err(error)) => Err(anyhow!("the stage did not come up: {error}")),
            None => unreachable!("it was made above"),
        }
    }

    /// Ends the cluster; after a failure what it wrote is kept, and where is said.
    pub(crate) fn end(&self, failed: bool) {
        if let Some(Ok(stage)) = self.runtime.block_on(self.stage.lock()).take() {
            stage.end(failed);
        }
    }
}

/// `tests!(lab, Beside: module::test, …)`: trials named as their functions.
macro_rules! tests {
    ($lab:expr, $manner:ident: $($module:ident::$name:ident),* $(,)?) => {
        vec![$($lab.trial(Manner::$manner, concat!(stringify!($module), "::", stringify!($name)), $module::$name)),*]
    };
}
pub(crate) use tests;
