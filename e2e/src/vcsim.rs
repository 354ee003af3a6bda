//! The vCenter simulators of a box.

use anyhow::{Context, Result};

use crate::component::Component;
use crate::files::RunDir;
use crate::network::{BRIDGE_ADDRESS, Slot};
use crate::pki::{Authority, Pair};
use crate::tools::Tools;

/// The name under which pods reach the simulators; every name below it answers too.
pub const HOST: &str = "vcsim.e2e";
/// The user that may log in.
pub const USERNAME: &str = "svc-banlieue@vsphere.local";
/// That user's password.
pub const PASSWORD: &str = "correct horse battery staple";
/// The port of the simulator that every box has.
pub const PORT: u16 = 8989;

/// The size of a simulated vCenter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Model {
    /// Datacenters.
    pub datacenters: u32,
    /// Clusters in each datacenter.
    pub clusters: u32,
    /// Hosts in each cluster.
    pub hosts: u32,
}

impl Default for Model {
    fn default() -> Self {
        Self { datacenters: 1, clusters: 1, hosts: 3 }
    }
}

/// One running simulator: how to reach it.
#[derive(Clone, Debug)]
pub struct Vcsim {
    /// The part's name in the box: `vcsim`, or `vcsim-<name>`.
    pub component: String,
    /// The endpoint for pods.
    pub endpoint: String,
    /// The endpoint from the machine; the certificate holds this address as well.
    pub host_endpoint: String,
    /// The user.
    pub username: String,
    /// The password.
    pub password: String,
    /// The authority's certificate, PEM.
    pub ca_pem: String,
    /// The control port from the machine, such as `http://10.245.1.2:8990`.
    pub control_url: String,
    /// The control port for pods.
    pub pod_control_url: String,
}

impl Vcsim {
    /// What stands for it where there is none: a host that never is, as RFC 2606 keeps it.
    pub fn nowhere() -> Self {
        let (nowhere, none) = ("https://vcenter.invalid/sdk".to_owned(), String::new());
        Self {
            component: none.clone(),
            endpoint: nowhere.clone(),
            host_endpoint: nowhere,
            username: USERNAME.into(),
            password: PASSWORD.into(),
            ca_pem: none.clone(),
            control_url: none.clone(),
            pod_control_url: none,
        }
    }
}

/// The simulator's certificate: one for all that run in the box.
pub fn prepare(ca: &Authority, slot: Slot) -> Result<Pair> {
    let wild = format!("*.{HOST}");
    ca.server("vcsim", HOST, &[], &[HOST, &wild, "localhost", "127.0.0.1", BRIDGE_ADDRESS, &slot.inside()])
}

/// The simulator that every box has.
pub fn component(run: &RunDir, tools: &Tools) -> Result<Component> {
    let program = tools.vcsim.as_ref().context("the simulator is not there: e2e/tools/vcsim has no main.go")?;
    Ok(component_with(run, &program.display().to_string(), None, PORT, Model::default()))
}

/// A simulator with a name of its own: SOAP on `port`, control on the port after it.
pub fn component_with(run: &RunDir, program: &str, name: Option<&str>, port: u16, model: Model) -> Component {
    let pair = Pair::at(run, "vcsim");
    Component::new(part_name(name), program).args([
        format!("--listen=0.0.0.0:{port}"),
        format!("--cert={}", pair.cert.display()),
        format!("--key={}", pair.key.display()),
        format!("--username={USERNAME}"),
        format!("--password={PASSWORD}"),
        format!("--control=0.0.0.0:{}", port + 1),
        format!("--datacenters={}", model.datacenters),
        format!("--clusters={}", model.clusters),
        format!("--hosts={}", model.hosts),
    ])
}

/// How to reach the simulator called `name` on `port`.
pub fn describe(run: &RunDir, slot: Slot, name: Option<&str>, port: u16) -> Result<Vcsim> {
    let host = name.map_or(HOST.to_string(), |n| format!("{n}.{HOST}"));
    Ok(Vcsim {
        component: part_name(name),
        endpoint: format!("https://{host}:{port}/sdk"),
        host_endpoint: format!("https://{}:{port}/sdk", slot.inside()),
        username: USERNAME.into(),
        password: PASSWORD.into(),
        ca_pem: std::fs::read_to_string(run.join("pki/ca.crt"))?,
        control_url: format!("http://{}:{}", slot.inside(), port + 1),
        pod_control_url: format!("http://{host}:{}", port + 1),
    })
}

fn part_name(name: Option<&str>) -> String {
    name.map_or("vcsim".into(), |n| format!("vcsim-{n}"))
}
