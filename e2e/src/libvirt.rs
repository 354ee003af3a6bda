//! Debian's libvirtd as a backend: its `test:///default` is a host with a pool and a network, and needs no hypervisor.

use std::path::Path;

use crate::pki::Pair;

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
