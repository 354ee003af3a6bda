//! Starting a box: what is written, what is started, in which order, and what is waited for.

use std::process::Child;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};

use crate::component::Component;
use crate::files::{Cache, RunDir};
use crate::network::Slot;
use crate::options::Options;
use crate::pki::Authority;
use crate::progress::Progress;
use crate::tools::Tools;
use crate::{cgroup, control_plane, image, node, preflight, sandbox, supervisor, vcsim};

/// What a running box is: written before it starts, read by whoever comes later.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Settings {
    /// Its name.
    pub name: String,
    /// Its number, see [`Slot`].
    pub slot: u8,
    /// Whether it has a node.
    pub node: bool,
    /// Whether it has a simulator.
    pub vcsim: bool,
    /// Whether it ends with its owner.
    pub ephemeral: bool,
    /// Its full Kubernetes version.
    pub kubernetes: String,
    /// The path of the kubectl of that version.
    pub kubectl: String,
    /// All that must agree for it to be reused.
    pub fingerprint: String,
}

impl Settings {
    /// The box's number.
    pub fn slot(&self) -> Slot {
        Slot(self.slot)
    }

    /// Reads them from the folder of a box.
    pub fn load(run: &RunDir) -> Result<Self> {
        let path = run.join("box.json");
        let text = std::fs::read_to_string(&path).with_context(|| format!("no cluster at {}", run.path().display()))?;
        serde_json::from_str(&text).with_context(|| format!("{} is damaged", path.display()))
    }

    fn save(&self, run: &RunDir) -> Result<()> {
        run.write("box.json", &serde_json::to_string_pretty(self)?)?;
        Ok(())
    }
}

/// What two starts must agree on, so that the second reuses the first's box.
pub fn fingerprint(options: &Options, tools: &Tools) -> String {
    format!(
        "{} node={} vcsim={} ephemeral={} audit={:?} args={:?} {}",
        options.kubernetes,
        options.node,
        tools.vcsim.is_some(),
        options.ephemeral,
        options.audit_policy,
        options.api_server_args,
        tools.key()
    )
}

/// Removes whatever a box left: its processes, its link, its control groups and its folder.
pub fn clear(cache: &Cache, name: &str) -> Result<()> {
    let run = cache.run_dir(name);
    sandbox::kill(&run)?;
    if let Ok(settings) = Settings::load(&run) {
        settings.slot().disconnect();
    }
    cgroup::remove(name)?;
    match std::fs::remove_dir_all(run.path()) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(error).with_context(|| format!("cannot remove {}", run.path().display()))
        }
        _ => Ok(()),
    }
}

/// Removes what killed owners left: boxes that no process is in any more.
pub fn sweep(cache: &Cache, except: &str) {
    for name in cache.boxes() {
        let gone = |name: &str| !sandbox::Processes::find(&cache.run_dir(name)).any();
        if name == except || !gone(&name) {
            continue;
        }
        if let Some(_lock) = cache.try_lock_box(&name)
            && gone(&name)
        {
            let _ = clear(cache, &name);
        }
    }
}

/// Makes the box and starts its parts. The API server answers to its address; nothing else is waited for yet.
pub fn start(cache: &Cache, options: &Options, tools: &Tools, progress: Progress) -> Result<(Settings, Child)> {
    let run = cache.run_dir(&options.name);
    let began = Instant::now();
    let settings = allocate(cache, &run, options, tools)?;
    let ca = Authority::create(&run)?;
    control_plane::prepare(&run, &ca, settings.slot(), options)?;
    vcsim::prepare(&ca, settings.slot())?;
    if options.node {
        cgroup::create(&options.name)?;
        node::prepare(&run, &ca, &options.name, preflight::snapshotter(cache))?;
    }
    for component in components(&run, options, tools)? {
        component.save(&run)?;
    }
    let mut child = sandbox::spawn(&run, options.ephemeral)?;
    let init = sandbox::wait_for_init(&run, &mut child)?;
    settings.slot().connect(init)?;
    sandbox::wait_for_orders(&run, &mut child)?;
    progress.step("box", "laid out", began);
    let first = ["etcd", "kube-apiserver", "dnsmasq"].into_iter();
    let with_node = options.node.then_some("containerd").into_iter();
    for name in first.chain(with_node).chain(settings.vcsim.then_some("vcsim")) {
        supervisor::order(&run, &format!("start {name}"))?;
    }
    if options.node {
        let pause = image::pause(cache, tools)?;
        image::import(&run, &pause)?;
        progress.step("containerd", "ready", began);
    }
    Ok((settings, child))
}

/// Starts what needs the API server.
pub fn start_rest(run: &RunDir, settings: &Settings) -> Result<()> {
    let rest: &[&str] = if settings.node {
        &["kube-controller-manager", "kube-scheduler", "kubelet", "kube-proxy"]
    } else {
        &["kube-controller-manager", "kube-scheduler"]
    };
    for name in rest {
        supervisor::order(run, &format!("start {name}"))?;
    }
    Ok(())
}

/// The names of the parts that a healthy box runs.
pub fn expected(settings: &Settings) -> Vec<&'static str> {
    let mut names = vec!["etcd", "kube-apiserver", "dnsmasq", "kube-controller-manager", "kube-scheduler"];
    if settings.vcsim {
        names.push("vcsim");
    }
    if settings.node {
        names.extend(["containerd", "kubelet", "kube-proxy"]);
    }
    names
}

fn components(run: &RunDir, options: &Options, tools: &Tools) -> Result<Vec<Component>> {
    let mut all = vec![
        control_plane::etcd(run, tools),
        control_plane::api_server(run, tools, options),
        control_plane::controller_manager(run, tools),
        control_plane::scheduler(run, tools),
        node::name_service(),
    ];
    if tools.vcsim.is_some() {
        all.push(vcsim::component(run, tools)?);
    }
    if options.node {
        all.extend([node::containerd(run), node::kubelet(run, tools), node::proxy(run, tools)]);
    }
    Ok(all)
}

/// Takes a number for the box and writes its settings, under a lock that all boxes share.
fn allocate(cache: &Cache, run: &RunDir, options: &Options, tools: &Tools) -> Result<Settings> {
    std::fs::create_dir_all(run.logs())?;
    let _lock = crate::files::Lock::take(&cache.join("run/slots.lock"))?;
    let taken: Vec<u8> =
        cache.boxes().iter().filter_map(|name| Some(Settings::load(&cache.run_dir(name)).ok()?.slot)).collect();
    let settings = Settings {
        name: options.name.clone(),
        slot: Slot::free(&taken)?.0,
        node: options.node,
        vcsim: tools.vcsim.is_some(),
        ephemeral: options.ephemeral,
        kubernetes: options.kubernetes_version()?.into(),
        kubectl: tools.program("kubectl"),
        fingerprint: fingerprint(options, tools),
    };
    settings.save(run)?;
    Ok(settings)
}

/// Fails where a part of the box does not stay up, with the end of its log: waiting longer would not help.
pub fn check_parts(run: &RunDir) -> Result<()> {
    for (name, state) in supervisor::status(run)? {
        if state.failures >= 4 {
            let log = run.log(&name);
            let text = crate::files::tail(&log, 12);
            let exit = state.last_exit.unwrap_or_default();
            anyhow::bail!("{name} does not stay up ({exit}), see {}:\n{text}", log.display());
        }
    }
    Ok(())
}

/// Waits until kube-proxy says that its rules are in place.
pub fn wait_for_proxy(run: &RunDir, slot: Slot) -> Result<()> {
    crate::progress::wait_until("kube-proxy", Duration::from_secs(60), || {
        check_parts(run)?;
        Ok(http_ok(&format!("{}:{}", slot.inside(), node::PROXY_HEALTH_PORT), "/healthz").then_some(()))
    })
}

fn http_ok(address: &str, path: &str) -> bool {
    use std::io::{Read, Write};
    let Ok(address) = address.parse() else {
        return false;
    };
    let limit = Duration::from_secs(1);
    let Ok(mut stream) = std::net::TcpStream::connect_timeout(&address, limit) else {
        return false;
    };
    let _ = stream.set_read_timeout(Some(limit));
    let mut answer = [0; 12];
    stream.write_all(format!("GET {path} HTTP/1.0\r\n\r\n").as_bytes()).is_ok()
        && stream.read_exact(&mut answer).is_ok()
        && answer.ends_with(b" 200")
}
