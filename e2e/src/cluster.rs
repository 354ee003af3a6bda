//! A running cluster, as tests use it.

use std::path::PathBuf;
use std::process::Child;
use std::time::Instant;

use anyhow::Result;

use crate::files::{Cache, RunDir, check_name};
use crate::kind::{self, Kind};
use crate::options::Options;
use crate::progress::Progress;
use crate::settings::Settings;
use crate::tools::Tools;
use crate::{launch, leftovers, logs, packages, preflight, sandbox, settings, supervisor};

/// A cluster that runs. An ephemeral one that this process started ends when this value is dropped.
#[derive(Debug)]
pub struct Cluster {
    pub(crate) cache: Cache,
    pub(crate) run: RunDir,
    pub(crate) settings: Settings,
    /// The process around the box, where this value started an ephemeral one: its standard input keeps the box alive.
    owned: Option<Child>,
    /// Whether the box was there already.
    pub reused: bool,
    /// Whether it is one of kind: no simulator, no audit log, no part that can be stopped.
    pub kind: bool,
}

impl Cluster {
    /// A cluster of kind where `CLUSTER=kind` asks for it and Docker answers; else as [`Cluster::start`].
    pub async fn start_anywhere(options: Options) -> Result<Self> {
        if Kind::found()?.0 == Kind::Local {
            return Self::start(options).await;
        }
        check_name(&options.name)?;
        crate::access::install_crypto();
        let cache = Cache::locate()?;
        // not beside the boxes, among which it would count as one that nobody is in
        let run = RunDir::at(cache.join("kind").join(&options.name));
        std::fs::create_dir_all(run.logs())?;
        let settings = Settings::of_kind(&options)?;
        let cluster = Self { cache, run, settings, owned: None, reused: false, kind: true };
        std::fs::copy(kind::up(&cluster.cache, &options)?, cluster.kubeconfig_path())?;
        Ok(cluster)
    }

    /// Starts a cluster, or takes the healthy one of that name which is there already.
    pub async fn start(options: Options) -> Result<Self> {
        check_name(&options.name)?;
        crate::access::install_crypto();
        let cache = Cache::locate()?;
        let progress = if options.quiet { Progress::quiet() } else { Progress::loud() };
        preflight::look(&cache, &options).require(progress)?;
        packages::ensure(&cache, progress)?;
        let tools = Tools::ensure(&cache, &options, progress)?;
        let lock = cache.lock_box(&options.name)?;
        leftovers::sweep(&cache, &options.name);
        if let Some(cluster) = Self::reuse(&cache, &options, &tools, progress).await {
            return Ok(cluster);
        }
        let began = Instant::now();
        leftovers::clear(&cache, &options.name)?;
        let run = cache.run_dir(&options.name);
        let (settings, child) = match launch::start(&cache, &options, &tools, progress) {
            Ok(started) => started,
            Err(error) => {
                leftovers::clear(&cache, &options.name)?;
                return Err(error.context(format!("logs: {}", leftovers::last_logs(&cache, &options.name).display())));
            }
        };
        let owned = options.ephemeral.then_some(child);
        let cluster = Self { cache, run, settings, owned, reused: false, kind: false };
        // Given up before the cluster is dropped, which takes it again.
        let lock = lock;
        if let Err(error) = cluster.bring_up(progress, began).await {
            let logs = logs::collect(&cluster).unwrap_or_else(|_| cluster.logs_dir());
            drop(lock);
            return Err(error.context(format!("logs: {}", logs.display())));
        }
        Ok(cluster)
    }

    /// The running cluster called `name`.
    pub fn attach(name: &str) -> Result<Self> {
        check_name(name)?;
        crate::access::install_crypto();
        let cache = Cache::locate()?;
        let run = cache.run_dir(name);
        let settings = Settings::load(&run)?;
        supervisor::status(&run)?;
        Ok(Self { cache, run, settings, owned: None, reused: true, kind: false })
    }

    /// Ends the cluster called `name` and removes all that it left; says whether there was one.
    pub fn down(name: &str) -> Result<bool> {
        check_name(name)?;
        let cache = Cache::locate()?;
        let run = cache.run_dir(name);
        // One kill first, without the lock: a start that is under way holds it, and ends by this.
        let was = run.path().exists() || sandbox::Processes::find(&run).any();
        sandbox::kill(&run)?;
        let lock = cache.lock_box(name)?;
        leftovers::clear(&cache, name)?;
        lock.discard();
        Ok(was)
    }

    async fn reuse(cache: &Cache, options: &Options, tools: &Tools, progress: Progress) -> Option<Self> {
        let run = cache.run_dir(&options.name);
        if !sandbox::Processes::find(&run).any() {
            return None;
        }
        let found = Self::attach(&options.name).ok()?;
        if found.settings.fingerprint != settings::fingerprint(options, tools) {
            progress.say(format!("the cluster {} runs with other settings: it is started anew", options.name));
            return None;
        }
        match found.check_health().await {
            Ok(()) => Some(found),
            Err(error) => {
                progress.say(format!("the cluster {} is not healthy ({error:#}): it is started anew", options.name));
                None
            }
        }
    }

    /// The cluster's name.
    pub fn name(&self) -> &str {
        &self.settings.name
    }

    /// What it was started with.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// The folder of all that it writes.
    pub fn run_dir(&self) -> &RunDir {
        &self.run
    }

    /// The administrator's kubeconfig.
    pub fn kubeconfig_path(&self) -> PathBuf {
        self.run.kubeconfig()
    }

    /// The API server's audit log: one JSON object a line.
    pub fn audit_log_path(&self) -> PathBuf {
        self.run.log("audit")
    }

    /// The folder of the parts' logs.
    pub fn logs_dir(&self) -> PathBuf {
        self.run.logs()
    }

    /// The API server's address from the machine.
    pub fn server(&self) -> String {
        format!("https://{}:{}", self.settings.slot().inside(), crate::control_plane::API_PORT)
    }

    /// The path of the kubectl of the cluster's version.
    pub fn kubectl_program(&self) -> String {
        self.settings.kubectl.clone()
    }

    /// Ends the cluster and removes all that it left.
    pub fn shut_down(mut self) -> Result<()> {
        self.end()
    }

    fn end(&mut self) -> Result<()> {
        if self.kind {
            kind::down(&self.cache, &self.settings.name)?;
            return Ok(std::fs::remove_dir_all(self.run.path())?);
        }
        let done = Self::down(&self.settings.name).map(drop);
        if let Some(mut child) = self.owned.take() {
            let _ = child.wait();
        }
        done
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        if self.owned.is_none() {
            return;
        }
        if std::thread::panicking()
            && let Ok(folder) = crate::logs::collect(self)
        {
            eprintln!("the logs of the cluster {}: {}", self.settings.name, folder.display());
        }
        if let Err(error) = self.end() {
            eprintln!("the cluster {} is not wholly down: {error:#}", self.settings.name);
        }
    }
}
