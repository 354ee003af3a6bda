//! A running cluster, as tests use it.

use std::path::PathBuf;
use std::process::{Child, Command, Output};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use k8s_openapi::api::core::v1::{Node, ServiceAccount};
use kube::{Api, Client};

use crate::component::Component;
use crate::files::{Cache, RunDir, check_name};
use crate::launch::{self, Settings};
use crate::options::Options;
use crate::progress::Progress;
use crate::tools::Tools;
use crate::vcsim::{self, Model, Vcsim};
use crate::{image, node, packages, preflight, sandbox, supervisor};

/// A cluster that runs. An ephemeral one that this process started ends when this value is dropped.
#[derive(Debug)]
pub struct Cluster {
    cache: Cache,
    run: RunDir,
    settings: Settings,
    /// The process around the box, where this value started an ephemeral one: its standard input keeps the box alive.
    owned: Option<Child>,
    /// Whether the box was there already.
    pub reused: bool,
}

impl Cluster {
    /// Starts a cluster, or takes the healthy one of that name which is there already.
    pub async fn start(options: Options) -> Result<Self> {
        check_name(&options.name)?;
        crate::access::install_crypto();
        let cache = Cache::locate()?;
        let progress = if options.quiet { Progress::quiet() } else { Progress::loud() };
        packages::ensure(&cache, progress)?;
        preflight::look(&cache, &options).require(progress)?;
        let tools = Tools::ensure(&cache, &options, progress)?;
        let _lock = cache.lock_box(&options.name)?;
        launch::sweep(&cache, &options.name);
        if let Some(cluster) = Self::reuse(&cache, &options, &tools, progress).await {
            return Ok(cluster);
        }
        let began = Instant::now();
        launch::clear(&cache, &options.name)?;
        let run = cache.run_dir(&options.name);
        let (settings, child) = launch::start(&cache, &options, &tools, progress)?;
        let owned = options.ephemeral.then_some(child);
        let cluster = Self { cache, run, settings, owned, reused: false };
        cluster.bring_up(progress, began).await.context(format!("logs: {}", cluster.logs_dir().display()))?;
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
        Ok(Self { cache, run, settings, owned: None, reused: true })
    }

    /// Ends the cluster called `name` and removes all that it left; says whether there was one.
    pub fn down(name: &str) -> Result<bool> {
        check_name(name)?;
        let cache = Cache::locate()?;
        let run = cache.run_dir(name);
        // One kill first, without the lock: a start that is under way holds it, and ends by this.
        let was = run.path().exists() || sandbox::Processes::find(&run).any();
        sandbox::kill(&run)?;
        let _lock = cache.lock_box(name)?;
        launch::clear(&cache, name)?;
        Ok(was)
    }

    async fn reuse(cache: &Cache, options: &Options, tools: &Tools, progress: Progress) -> Option<Self> {
        let run = cache.run_dir(&options.name);
        if !sandbox::Processes::find(&run).any() {
            return None;
        }
        let found = Self::attach(&options.name).ok()?;
        if found.settings.fingerprint != launch::fingerprint(options, tools) {
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

    async fn bring_up(&self, progress: Progress, began: Instant) -> Result<()> {
        let client = self.client().await?;
        self.wait("kube-apiserver", 90, || ready(&client)).await?;
        progress.step("kube-apiserver", "ready", began);
        launch::start_rest(&self.run, &self.settings)?;
        let accounts: Api<ServiceAccount> = Api::namespaced(client.clone(), "default");
        self.wait("kube-controller-manager", 60, async || Ok(accounts.get_opt("default").await?.is_some())).await?;
        progress.step("kube-controller-manager", "ready", began);
        if self.settings.node {
            self.wait("the node", 90, || node_ready(&client)).await?;
            progress.step("kubelet", "node ready", began);
            launch::wait_for_proxy(&self.run, self.settings.slot())?;
            progress.step("kube-proxy", "ready", began);
        }
        Ok(())
    }

    /// Asks `check` until it says yes. Its errors count as no; a part that does not stay up ends the wait.
    async fn wait<F: Future<Output = Result<bool>>>(
        &self,
        what: &str,
        seconds: u64,
        check: impl Fn() -> F,
    ) -> Result<()> {
        let start = Instant::now();
        let mut last = String::new();
        while start.elapsed() < Duration::from_secs(seconds) {
            match tokio::time::timeout(Duration::from_secs(5), check()).await {
                Ok(Ok(true)) => return Ok(()),
                Ok(Ok(false)) => last = "not yet".into(),
                Ok(Err(error)) => last = format!("{error:#}"),
                Err(_) => last = "no answer".into(),
            }
            launch::check_parts(&self.run)?;
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        bail!("{what} is not ready after {seconds} s: {last}")
    }

    /// Whether every part runs, the API server is ready and so is the node.
    pub async fn check_health(&self) -> Result<()> {
        let states = self.status()?;
        for name in launch::expected(&self.settings) {
            if states.get(name).and_then(|s| s.pid).is_none() {
                bail!("{name} does not run");
            }
        }
        let client = self.client().await?;
        let limit = Duration::from_secs(3);
        tokio::time::timeout(limit, ready(&client)).await.context("the API server does not answer")??;
        if self.settings.node && !tokio::time::timeout(limit, node_ready(&client)).await.context("no answer")?? {
            bail!("the node is not ready");
        }
        Ok(())
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

    /// The state of every part.
    pub fn status(&self) -> Result<std::collections::BTreeMap<String, supervisor::State>> {
        supervisor::status(&self.run)
    }

    /// Ends one part with SIGTERM (after 20 s SIGKILL), and leaves it ended. Returns once it has.
    pub fn stop_component(&self, name: &str) -> Result<()> {
        supervisor::order(&self.run, &format!("stop {name}")).map(drop)
    }

    /// Starts one part that was stopped. Returns at once: see [`Cluster::wait_ready`].
    pub fn start_component(&self, name: &str) -> Result<()> {
        supervisor::order(&self.run, &format!("start {name}")).map(drop)
    }

    /// Sends a signal to one part: 9 kills it (it comes back after a second), 19 freezes it, 18 lets it go on.
    pub fn signal_component(&self, name: &str, signal: i32) -> Result<()> {
        supervisor::order(&self.run, &format!("signal {name} {signal}")).map(drop)
    }

    /// Writes a part of the test's own into the box and starts it, with its log beside the others'.
    pub fn add_component(&self, component: &Component) -> Result<()> {
        component.save(&self.run)?;
        self.start_component(&component.name)
    }

    /// Waits until the API server is ready, for instance after it was started again.
    pub async fn wait_ready(&self) -> Result<()> {
        let client = self.client().await?;
        self.wait("kube-apiserver", 90, || ready(&client)).await
    }

    /// The simulator that every box has, where it was built.
    pub fn vcsim(&self) -> Result<Vcsim> {
        if !self.settings.vcsim {
            bail!("this cluster has no vCenter simulator");
        }
        vcsim::describe(&self.run, self.settings.slot(), None, vcsim::PORT)
    }

    /// Starts one more simulator, on `port` (control on `port + 1`) and under the name `<name>.vcsim.e2e`.
    pub fn start_vcsim(&self, name: &str, port: u16, model: Model) -> Result<Vcsim> {
        check_name(name)?;
        let main = Component::load(&self.run, "vcsim").context("this cluster has no vCenter simulator")?;
        let mut component = vcsim::component_with(&self.run, &main.program, Some(name), port, model);
        component.env = main.env;
        self.add_component(&component)?;
        let sim = vcsim::describe(&self.run, self.settings.slot(), Some(name), port)?;
        let address = format!("{}:{port}", self.settings.slot().inside()).parse()?;
        crate::progress::wait_until(&sim.component, Duration::from_secs(30), || {
            launch::check_parts(&self.run)?;
            Ok(std::net::TcpStream::connect_timeout(&address, Duration::from_secs(1)).ok().map(drop))
        })?;
        Ok(sim)
    }

    /// Runs a program of the machine inside the box's namespaces (an absolute path, outside `/run`, `/var` and `/tmp`).
    pub fn exec<S: AsRef<std::ffi::OsStr>>(&self, args: impl IntoIterator<Item = S>) -> Result<Output> {
        let pid = sandbox::Processes::find(&self.run).init.context("the box does not run")?;
        let mut command = Command::new("nsenter");
        command.args(["-t", &pid.to_string(), "-n", "-m", "-p", "--"]).args(args);
        command.output().context("cannot run nsenter")
    }

    /// Builds the product's image and loads it, with further tags if wanted. Returns the image's name.
    pub fn load_image(&self, tags: &[String], progress: Progress) -> Result<String> {
        if !self.settings.node {
            bail!("this cluster has no node: there is nothing to load an image into");
        }
        image::load(&self.cache, &self.run, tags, progress)
    }

    /// Ends the cluster and removes all that it left.
    pub fn shut_down(mut self) -> Result<()> {
        self.end()
    }

    fn end(&mut self) -> Result<()> {
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

async fn ready(client: &Client) -> Result<bool> {
    let request = http::Request::get("/readyz").body(Vec::new())?;
    Ok(client.request_text(request).await? == "ok")
}

async fn node_ready(client: &Client) -> Result<bool> {
    let Some(node) = Api::<Node>::all(client.clone()).get_opt(node::NODE).await? else {
        return Ok(false);
    };
    let conditions = node.status.and_then(|s| s.conditions).unwrap_or_default();
    let tainted = node.spec.and_then(|s| s.taints).is_some_and(|t| t.iter().any(|t| t.effect == "NoSchedule"));
    Ok(!tainted && conditions.iter().any(|c| c.type_ == "Ready" && c.status == "True"))
}
