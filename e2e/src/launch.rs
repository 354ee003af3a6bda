//! Starting a box: what is written, what is started, in which order, and what is waited for.

use std::process::Child;
use std::time::{Duration, Instant};

use anyhow::Result;

use crate::component::Component;
use crate::files::{Cache, RunDir};
use crate::network::Slot;
use crate::options::Options;
use crate::pki::Authority;
use crate::progress::Progress;
use crate::settings::{Settings, allocate};
use crate::tools::Tools;
use crate::{cgroup, control_plane, image, node, preflight, sandbox, supervisor, vcsim};

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
    // `unshare` now and then dies at its start ("sigprocmask unblock failed", util-linux 2.38): a second one works
    let child = lay_out(&run, options, settings.slot()).or_else(|error| {
        progress.say(format_args!("the box did not start, once more: {error:#}"));
        sandbox::kill(&run)?;
        lay_out(&run, options, settings.slot())
    })?;
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

/// The namespaces, the way in, and a first process that takes orders.
fn lay_out(run: &RunDir, options: &Options, slot: Slot) -> Result<Child> {
    let mut child = sandbox::spawn(run, options.ephemeral)?;
    let init = sandbox::wait_for_init(run, &mut child)?;
    slot.connect(init)?;
    sandbox::wait_for_orders(run, &mut child)?;
    Ok(child)
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

/// Waits until a part says on its port that it is well: kube-proxy, for one, that its rules are in place.
pub fn wait_for_part(run: &RunDir, slot: Slot, name: &str, port: u16) -> Result<()> {
    crate::progress::wait_until(name, Duration::from_secs(60), || {
        supervisor::check_parts(run)?;
        Ok(http_ok(&format!("{}:{port}", slot.inside()), "/healthz").then_some(()))
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
