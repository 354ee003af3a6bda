//! The clients of the backends against what is real: govmomi's vCenter simulator and Debian's libvirtd. No cluster.
//!
//! For Proxmox there is nothing of the kind; its tests are the product's own, against a server with the documented shapes.
mod libvirt;
mod vcenter;

use anyhow::{Result, ensure};
use banlieue::backends::{Credentials, Keeper, Meter, Outcome, Target};
use banlieue::k8s::crd::{Backend, FindingReason as Reason};
use banlieue_e2e::files::{Cache, RunDir, tail};
use banlieue_e2e::pki::Authority;
use banlieue_e2e::progress::Progress;
use std::process::Child;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

/// How long a server may take to listen: the simulator makes its inventory first.
const START: Duration = Duration::from_secs(120);

/// A folder with an authority; it goes with this value, and the server in it too.
struct Place {
    run: RunDir,
    authority: Authority,
    server: Option<Child>,
}

impl Place {
    fn new() -> Result<Self> {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let _ = rustls::crypto::ring::default_provider().install_default();
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let run = RunDir::at(std::env::temp_dir().join(format!("banlieue-backends-{}-{number}", std::process::id())));
        let authority = Authority::create(&run)?;
        Ok(Self { run, authority, server: None })
    }

    fn ca(&self) -> Result<Vec<u8>> {
        Ok(std::fs::read(self.run.join("pki/ca.crt"))?)
    }

    /// Whether the server still runs; what it wrote, where it does not.
    fn alive(&mut self) -> Result<()> {
        let ended = self.server.as_mut().map_or(Ok(None), Child::try_wait)?;
        ensure!(ended.is_none(), "the server ended:\n{}", tail(&self.run.join("log"), 20));
        Ok(())
    }

    /// Ends the server at once.
    fn kill(&mut self) {
        if let Some(mut server) = self.server.take() {
            let _ = server.kill();
            let _ = server.wait();
        }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.kill();
        let _ = std::fs::remove_dir_all(self.run.path());
    }
}

fn free_port() -> Result<u16> {
    Ok(std::net::TcpListener::bind("127.0.0.1:0")?.local_addr()?.port())
}

fn target(endpoint: String, ca: Option<Vec<u8>>, secret: &[(&str, &[u8])]) -> Target {
    let secret = secret.iter().map(|(key, value)| ((*key).to_owned(), value.to_vec()));
    Target { endpoint, insecure_skip_tls_verify: false, ca_bundle: ca, credentials: Credentials::new(secret) }
}

fn keeper(backend: Backend) -> Keeper {
    Keeper::new(backend, Meter::default())
}

/// What a look has ended in.
fn last(outcome: &Outcome) -> Reason {
    outcome.findings.last().map_or(Reason::NotChecked, |finding| finding.reason)
}

fn has(outcome: &Outcome, reason: Reason) -> bool {
    outcome.findings.iter().any(|finding| finding.reason == reason)
}

fn cache() -> Result<(Cache, Progress)> {
    Ok((Cache::locate()?, Progress::loud()))
}
