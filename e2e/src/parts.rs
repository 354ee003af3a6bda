//! The parts of a running cluster: stopping and starting them, adding simulators and programs of a test's own.

use std::path::Path;
use std::process::{Command, Output};
use std::time::Duration;

use anyhow::{Context, Result, bail};

use crate::cluster::Cluster;
use crate::component::Component;
use crate::files::check_name;
use crate::progress::Progress;
use crate::vcsim::{self, Model, Vcsim};
use crate::{image, kind, launch, node, sandbox, supervisor, tools};

impl Cluster {
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
            supervisor::check_parts(&self.run)?;
            Ok(std::net::TcpStream::connect_timeout(&address, Duration::from_secs(1)).ok().map(drop))
        })?;
        Ok(sim)
    }

    /// Starts what enforces NetworkPolicies: without it they are stored, and nothing more.
    pub fn enforce_network_policies(&self, progress: Progress) -> Result<()> {
        if self.kind || !self.settings.node {
            bail!("this cluster has no node of ours on which policies could be enforced");
        }
        let firewall = node::firewall(&self.run, &tools::kube_router(&self.cache, progress)?);
        self.add_component(&firewall)?;
        launch::wait_for_part(&self.run, self.settings.slot(), &firewall.name, node::FIREWALL_HEALTH_PORT)
    }

    /// The packet filter of the node, as iptables-save tells it.
    pub fn packet_filter(&self) -> Result<String> {
        let output = self.exec(["/usr/sbin/iptables-save", "--table", "filter"])?;
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }

    /// Runs a program of the machine inside the box's namespaces (an absolute path, outside `/run`, `/var` and `/tmp`).
    pub fn exec<S: AsRef<std::ffi::OsStr>>(&self, args: impl IntoIterator<Item = S>) -> Result<Output> {
        let pid = sandbox::Processes::find(&self.run).init.context("the box does not run")?;
        let mut command = Command::new("nsenter");
        command.args(["-t", &pid.to_string(), "-n", "-m", "-p", "--"]).args(args);
        command.output().context("cannot run nsenter")
    }

    /// Loads the image of the product's `program`, with further tags if wanted. Returns the image's name.
    pub fn load_image(&self, program: &Path, tags: &[String], progress: Progress) -> Result<String> {
        if self.kind {
            for archive in image::archives(&self.cache, program, tags)? {
                kind::load(&archive.display().to_string(), &self.settings.name)?;
            }
            return Ok(format!("{}:{}", image::REPOSITORY, image::VERSION));
        }
        if !self.settings.node {
            bail!("this cluster has no node: there is nothing to load an image into");
        }
        image::load(&self.cache, &self.run, program, tags, progress)
    }
}
