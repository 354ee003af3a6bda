//! Against Debian's libvirtd, its TLS included.
use crate::{Place, START, cache, free_port, has, keeper, last, target};
use anyhow::{Context, Result, ensure};
use banlieue::backends::Target;
use banlieue::k8s::crd::{Backend, ConditionStatus, FindingReason as Reason};
use banlieue_e2e::libvirt::{CLIENT, Listen, PROGRAM, config};
use banlieue_e2e::packages;
use banlieue_e2e::pki::Pair;
use banlieue_e2e::progress::wait_until;
use rustix::process::{Pid, Signal, kill_process};
use std::net::TcpStream;
use std::os::unix::fs::{PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};

/// Whose rights the daemon has: as root it would be the machine's own.
const NOBODY: u32 = 65534;

/// A daemon on this machine.
struct Daemon {
    place: Place,
    tls: u16,
    tcp: u16,
    client: Pair,
}

impl Daemon {
    async fn start(auth_tcp: &str) -> Result<Self> {
        let (cache, progress) = cache()?;
        packages::ensure_program(&cache, progress, PROGRAM.0, PROGRAM.1)?;
        let place = Place::new()?;
        let (tls, tcp) = (free_port()?, free_port()?);
        let pair = place.authority.server("host", "host", &[], &["127.0.0.1"])?;
        let client = place.authority.client("client", CLIENT, &[])?;
        let listen = Listen { address: "127.0.0.1", tls, tcp: Some((tcp, auth_tcp)) };
        let home = place.run.join("home");
        std::fs::create_dir_all(&home)?;
        place.run.write("libvirtd.conf", &config(&home, listen, &place.run.join("pki/ca.crt"), &pair))?;
        open_to_nobody(place.run.path())?;
        let mut daemon = Self { place, tls, tcp, client };
        daemon.launch().await?;
        Ok(daemon)
    }

    /// Starts the program, and waits until it listens.
    async fn launch(&mut self) -> Result<()> {
        let run = &self.place.run;
        let home = run.join("home");
        let log = std::fs::OpenOptions::new().create(true).append(true).open(run.join("log"))?;
        let mut command = Command::new(PROGRAM.0);
        command.arg("--listen").arg(format!("--config={}", run.arg("libvirtd.conf")));
        command.arg(format!("--pid-file={}", home.join("pid").display()));
        let path = std::env::var("PATH").unwrap_or_default() + ":/usr/sbin:/sbin";
        command.env_clear().env("PATH", path).env("HOME", &home);
        for name in ["XDG_RUNTIME_DIR", "XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME"] {
            command.env(name, &home);
        }
        command.uid(NOBODY).gid(NOBODY).current_dir(&home).stdin(Stdio::null()).stdout(log.try_clone()?).stderr(log);
        self.place.server = Some(command.spawn().context("cannot run libvirtd")?);
        wait_until("libvirtd", START, || {
            self.place.alive()?;
            Ok(TcpStream::connect(("127.0.0.1", self.tls)).ok().map(drop))
        })
    }

    fn signal(&self, signal: Signal) -> Result<()> {
        let id = self.place.server.as_ref().context("it does not run")?.id();
        Ok(kill_process(Pid::from_raw(i32::try_from(id)?).context("no pid")?, signal)?)
    }

    fn target_with(&self, pair: &Pair) -> Result<Target> {
        let secret = (std::fs::read(&pair.cert)?, std::fs::read(&pair.key)?);
        let endpoint = format!("test+tls://127.0.0.1:{}/default", self.tls);
        Ok(target(endpoint, Some(self.place.ca()?), &[("tls.crt", &secret.0), ("tls.key", &secret.1)]))
    }

    fn target(&self) -> Result<Target> {
        self.target_with(&self.client)
    }
}

fn open_to_nobody(folder: &Path) -> Result<()> {
    chown(folder, Some(NOBODY), Some(NOBODY))?;
    if folder.is_dir() {
        std::fs::set_permissions(folder, std::fs::Permissions::from_mode(0o700))?;
        for entry in std::fs::read_dir(folder)? {
            open_to_nobody(&entry?.path())?;
        }
    }
    Ok(())
}

#[tokio::test]
async fn a_host_with_its_pool_and_its_network() -> Result<()> {
    let daemon = Daemon::start("none").await?;
    let (target, mut keeper) = (daemon.target()?, keeper(Backend::Libvirt));
    for _ in 0..3 {
        let outcome = keeper.probe(&target, true).await;
        let good = outcome.findings.iter().all(|f| f.reason.status() == ConditionStatus::True);
        ensure!(outcome.reached && good && has(&outcome, Reason::CertificateVerified), "{outcome:?}");
        let info = outcome.info.as_ref().context("no info")?;
        ensure!(info.product.as_deref() == Some("TEST"), "{info:?}");
        ensure!(info.api_version.as_deref().is_some_and(|v| v.split('.').count() == 3 && v != "0.0.0"), "{info:?}");
        let domains = outcome.domains.as_ref().context("no domains")?;
        let hostname = std::fs::read_to_string("/proc/sys/kernel/hostname")?;
        ensure!(domains.len() == 1 && domains[0].datastores == ["default-pool"], "{domains:?}");
        ensure!(domains[0].networks == ["default"] && domains[0].host.is_some(), "{domains:?}");
        ensure!(domains[0].host.as_deref().is_some_and(|h| h.starts_with(hostname.trim())), "{domains:?}");
    }
    keeper.logout().await;
    Ok(())
}

/// How many connections to a port of this machine stand.
fn connections(port: u16) -> Result<usize> {
    const ESTABLISHED: &str = "01";
    let (to, all) = (format!(":{port:04X}"), std::fs::read_to_string("/proc/net/tcp")?);
    let rows = all.lines().map(|row| row.split_whitespace().collect::<Vec<_>>());
    Ok(rows.filter(|row| row.len() > 3 && row[2].ends_with(&to) && row[3] == ESTABLISHED).count())
}

#[tokio::test]
async fn another_host_is_used_at_once_and_the_first_is_let_go() -> Result<()> {
    let (first, second) = (Daemon::start("none").await?, Daemon::start("none").await?);
    let mut keeper = keeper(Backend::Libvirt);
    for (there, gone) in [(&first, &second), (&second, &first)] {
        let outcome = keeper.probe(&there.target()?, true).await;
        ensure!(outcome.reached && outcome.domains.as_ref().is_some_and(|d| d.len() == 1), "{outcome:?}");
        let stand = (connections(there.tls)?, connections(gone.tls)?);
        ensure!(stand == (1, 0), "{stand:?} connections to the one that is used and the other");
    }
    keeper.logout().await;
    ensure!(connections(second.tls)? == 0, "the connection outlives the logout");
    Ok(())
}

#[tokio::test]
async fn certificates_are_told_apart() -> Result<()> {
    let (daemon, other) = (Daemon::start("none").await?, Place::new()?);
    let mut keeper = keeper(Backend::Libvirt);
    let stranger = daemon.target_with(&other.authority.client("client", CLIENT, &[])?)?;
    let outcome = keeper.probe(&stranger, true).await;
    ensure!(last(&outcome) == Reason::ClientCertificateRefused, "of another authority: {outcome:?}");
    let namesake = daemon.target_with(&daemon.place.authority.client("guest", "guest", &[])?)?;
    let outcome = keeper.probe(&namesake, true).await;
    ensure!(last(&outcome) == Reason::ClientCertificateRefused, "of another subject: {outcome:?}");
    let untrusting = Target { ca_bundle: Some(other.ca()?), ..daemon.target()? };
    let outcome = keeper.probe(&untrusting, true).await;
    ensure!(last(&outcome) == Reason::CertificateUntrusted, "{outcome:?}");
    let mut misnamed = daemon.target()?;
    misnamed.endpoint = misnamed.endpoint.replace("127.0.0.1", "localhost");
    let outcome = keeper.probe(&misnamed, true).await;
    ensure!(last(&outcome) == Reason::CertificateNameMismatch, "{outcome:?}");
    misnamed.insecure_skip_tls_verify = true;
    let outcome = keeper.probe(&misnamed, true).await;
    ensure!(outcome.reached && has(&outcome, Reason::VerificationSkipped), "{outcome:?}");
    ensure!(keeper.probe(&daemon.target()?, true).await.reached, "the right one is let in after all of them");
    Ok(())
}

#[tokio::test]
async fn in_the_clear_and_the_ways_that_are_not_open() -> Result<()> {
    let (open, closed) = (Daemon::start("none").await?, Daemon::start("sasl").await?);
    let mut keeper = keeper(Backend::Libvirt);
    let clear = |daemon: &Daemon, path: &str| target(format!("test+tcp://127.0.0.1:{}{path}", daemon.tcp), None, &[]);
    let outcome = keeper.probe(&clear(&open, "/default"), true).await;
    ensure!(outcome.reached && has(&outcome, Reason::NotEncrypted), "{outcome:?}");
    let outcome = keeper.probe(&clear(&closed, "/default"), true).await;
    ensure!(last(&outcome) == Reason::LoginMethodUnsupported, "{outcome:?}");
    let outcome = keeper.probe(&clear(&open, "/no/such/file"), true).await;
    ensure!(last(&outcome) == Reason::LoginFailed, "{outcome:?}");
    Ok(())
}

#[tokio::test]
async fn a_restart_a_hang_and_an_end() -> Result<()> {
    let mut daemon = Daemon::start("none").await?;
    let (target, mut keeper) = (daemon.target()?, keeper(Backend::Libvirt));
    ensure!(keeper.probe(&target, true).await.reached, "it was never there");
    daemon.place.kill();
    daemon.launch().await?;
    let outcome = keeper.probe(&target, true).await;
    ensure!(outcome.reached, "a restart between two looks is no failure: {outcome:?}");
    daemon.signal(Signal::STOP)?;
    let outcome = keeper.probe(&target, true).await;
    ensure!(last(&outcome) == Reason::TimedOut, "{outcome:?}");
    daemon.signal(Signal::CONT)?;
    let outcome = keeper.probe(&target, true).await;
    ensure!(outcome.reached, "{outcome:?}");
    daemon.place.kill();
    let outcome = keeper.probe(&target, true).await;
    ensure!(last(&outcome) == Reason::ConnectionRefused, "{outcome:?}");
    Ok(())
}
