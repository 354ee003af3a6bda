//! Debian's libvirtd as a backend: its `test:///default` is a host with a pool and a network, and needs no hypervisor.

use std::path::Path;
use std::time::Duration;

use anyhow::Result;

use crate::cluster::Cluster;
use crate::component::Component;
use crate::pki::{Authority, Pair};
use crate::progress::{Progress, wait_until};
use crate::{packages, supervisor, vcsim};

/// The program, and the Debian package that has it: 12 MB with what it needs.
pub const PROGRAM: (&str, &str) = ("libvirtd", "libvirt-daemon");
/// The one subject of client certificates that the daemon lets in.
pub const CLIENT: &str = "banlieue";

/// Where a daemon listens, and how it lets in over TCP (`none` or `sasl`).
#[derive(Clone, Copy, Debug)]
pub struct Listen<'a> {
    /// The address.
    pub address: &'a str,
    /// The port for TLS.
    pub tls: u16,
    /// The port in the clear, and how it lets in: `none` or `sasl`.
    pub tcp: Option<(u16, &'a str)>,
}

/// The content of its configuration file. `folder` takes its sockets, `ca` is the authority of its clients.
pub fn config(folder: &Path, listen: Listen<'_>, ca: &Path, pair: &Pair) -> String {
    let (tcp, auth) = listen.tcp.unwrap_or((0, "none"));
    format!(
        "listen_addr = \"{address}\"
listen_tls = 1
tls_port = \"{tls}\"
auth_tls = \"none\"
ca_file = \"{ca}\"
cert_file = \"{cert}\"
key_file = \"{key}\"
tls_allowed_dn_list = [\"CN={CLIENT}\"]
listen_tcp = {clear}
tcp_port = \"{tcp}\"
auth_tcp = \"{auth}\"
unix_sock_dir = \"{folder}\"
auth_unix_ro = \"none\"
auth_unix_rw = \"none\"
",
        address = listen.address,
        tls = listen.tls,
        ca = ca.display(),
        cert = pair.cert.display(),
        key = pair.key.display(),
        clear = u8::from(listen.tcp.is_some()),
        folder = folder.display(),
    )
}

/// A daemon in a box, for its pods: how to reach it.
#[derive(Clone, Debug)]
pub struct Host {
    /// The endpoint for pods.
    pub endpoint: String,
    /// A client certificate that it lets in.
    pub client: Pair,
    /// One that it does not: its authority is right, its subject is not.
    pub stranger: Pair,
    /// The authority's certificate, PEM.
    pub ca_pem: String,
}

impl Cluster {
    /// Starts a daemon in the box, with its TLS on `port`. One in a box: it has the folders of the machine's own.
    pub fn start_libvirt(&self, port: u16, progress: Progress) -> Result<Host> {
        packages::ensure_program(&self.cache, progress, PROGRAM.0, PROGRAM.1)?;
        let authority = Authority::load(&self.run)?;
        let listen = Listen { address: "0.0.0.0", tls: port, tcp: None };
        // The simulators' certificate is good for every name below theirs.
        let server = Pair::at(&self.run, "vcsim");
        let content = config(Path::new("/run/libvirt"), listen, &self.run.join("pki/ca.crt"), &server);
        let file = self.run.write("libvirtd.conf", &content)?;
        let mut component = Component::new("libvirtd", PROGRAM.0).args(["--listen", "--config"]);
        // Without its drivers: that of QEMU wants a user that another package makes. The one for tests is built in.
        component.env.insert("LIBVIRT_DRIVER_DIR".into(), "/nonexistent".into());
        self.add_component(&component.arg(file.display().to_string()))?;
        let address = format!("{}:{port}", self.settings.slot().inside()).parse()?;
        wait_until("libvirtd", Duration::from_secs(60), || {
            supervisor::check_parts(&self.run)?;
            Ok(std::net::TcpStream::connect_timeout(&address, Duration::from_secs(1)).ok().map(drop))
        })?;
        Ok(Host {
            endpoint: format!("test+tls://host.{}:{port}/default", vcsim::HOST),
            client: authority.client("libvirt-client", CLIENT, &[])?,
            stranger: authority.client("libvirt-stranger", "stranger", &[])?,
            ca_pem: std::fs::read_to_string(self.run.join("pki/ca.crt"))?,
        })
    }
}
