//! Against govmomi's simulator of a vCenter.
use crate::{Place, START, cache, free_port, has, keeper, last, target};
use anyhow::{Context, Result, ensure};
use banlieue::backends::{Credentials, Meter, Target, connect};
use banlieue::k8s::crd::{Backend, ConditionStatus, FindingReason as Reason};
use banlieue_e2e::pki::Pair;
use banlieue_e2e::progress::wait_until;
use banlieue_e2e::tools;
use serde_json::Value;
use std::net::TcpStream;
use std::process::{Command, Stdio};

/// With all that XML and URLs escape, and more than ASCII; nothing that is shown may contain it.
const PASSWORD: &str = "hunter2-<&\"'>%+ pässwörd-日本";
const USERNAME: &str = "administrator@vsphere.local";

/// The simulator, and what it takes to reach it.
struct Simulator {
    /// It ends with this.
    _place: Place,
    control: String,
    target: Target,
}

fn credentials(password: &str) -> Credentials {
    let keys = [("username", USERNAME), ("password", password)];
    Credentials::new(keys.map(|(key, value)| (key.to_owned(), value.as_bytes().to_vec())))
}

impl Simulator {
    async fn start(size: &[&str]) -> Result<Self> {
        Self::start_at("127.0.0.1", size).await
    }

    async fn start_at(address: &str, size: &[&str]) -> Result<Self> {
        let (cache, progress) = cache()?;
        let program = tools::simulator(&cache, progress)?;
        let mut place = Place::new()?;
        let Pair { cert, key } = place.authority.server("vcsim", "vcsim", &[], &["127.0.0.1", "::1"])?;
        let host = if address.contains(':') { format!("[{address}]") } else { address.to_owned() };
        let (sdk, control) = (format!("{host}:{}", free_port()?), format!("127.0.0.1:{}", free_port()?));
        let mut command = Command::new(program);
        command.args(["--listen", &sdk, "--control", &control, "--username", USERNAME, "--password", PASSWORD]);
        command.arg("--cert").arg(cert).arg("--key").arg(key).args(size);
        let log = std::fs::File::create(place.run.join("log"))?;
        command.stdin(Stdio::null()).stdout(log.try_clone()?).stderr(log);
        place.server = Some(command.spawn().context("cannot run the simulator")?);
        let mut target = target(format!("https://{sdk}"), Some(place.ca()?), &[]);
        target.credentials = credentials(PASSWORD);
        wait_until("the simulator", START, || {
            place.alive()?;
            let both = TcpStream::connect(&control).and_then(|_| TcpStream::connect(&sdk));
            Ok(both.ok().map(drop))
        })?;
        Ok(Self { _place: place, control: format!("http://{control}"), target })
    }

    async fn ask(&self, path: &str, body: &str) -> Result<()> {
        let request = reqwest::Client::new().post(format!("{}{path}", self.control)).body(body.to_owned());
        request.send().await?.error_for_status()?;
        Ok(())
    }

    async fn counts(&self) -> Result<Value> {
        let answer = reqwest::get(format!("{}/counts", self.control)).await?;
        Ok(serde_json::from_slice(&answer.bytes().await?)?)
    }

    fn with(&self, change: impl FnOnce(&mut Target)) -> Target {
        let mut target = self.target.clone();
        change(&mut target);
        target
    }
}

#[tokio::test]
async fn the_happy_path_and_its_end() -> Result<()> {
    let simulator = Simulator::start(&["--datacenters", "2", "--clusters", "2"]).await?;
    let mut keeper = keeper(Backend::Vsphere);
    for _ in 0..3 {
        let outcome = keeper.probe(&simulator.target, true).await;
        let good = outcome.findings.iter().all(|f| f.reason.status() == ConditionStatus::True);
        ensure!(outcome.reached && good, "{outcome:?}");
        let info = outcome.info.context("no info")?;
        ensure!((info.version.as_deref(), info.api_version.as_deref()) == (Some("6.5.0"), Some("6.5")), "{info:?}");
        let domains = outcome.domains.context("no domains")?;
        let names: Vec<_> = domains.iter().map(|d| d.name.as_str()).collect();
        ensure!(names == ["dc0-dc0-c0", "dc0-dc0-c1", "dc1-dc1-c0", "dc1-dc1-c1"], "{names:?}");
        ensure!(domains[0].datastores == ["LocalDS_0"], "{:?}", domains[0]);
        ensure!(domains[0].networks.contains(&"VM Network".to_owned()), "{:?}", domains[0]);
        ensure!(domains[0].networks.contains(&"DC0_DVPG0".to_owned()), "{:?}", domains[0]);
    }
    let counts = simulator.counts().await?;
    ensure!(counts["sessions"] == 1 && counts["logins"] == 1, "{counts}");
    keeper.logout().await;
    ensure!(simulator.counts().await?["sessions"] == 0, "the session was not given back");
    Ok(())
}

#[tokio::test]
async fn fifty_sessions_that_end_are_no_wrong_password() -> Result<()> {
    let simulator = Simulator::start(&[]).await?;
    let mut keeper = keeper(Backend::Vsphere);
    for _ in 0..50 {
        ensure!(keeper.probe(&simulator.target, false).await.reached, "not reached");
        simulator.ask("/kill-sessions", "").await?;
        let outcome = keeper.probe(&simulator.target, true).await;
        ensure!(last(&outcome) == Reason::FailureDomainsFound, "{outcome:?}");
        ensure!(simulator.counts().await?["sessions"] == 1, "more than one session");
    }
    ensure!(simulator.counts().await?["refused"] == 0, "a login was refused");
    Ok(())
}

#[tokio::test]
async fn a_session_that_ends_between_probe_and_inventory() -> Result<()> {
    let simulator = Simulator::start(&[]).await?;
    let mut session = connect(Backend::Vsphere, &simulator.target, &Meter::default())?;
    session.probe().await?;
    simulator.ask("/kill-sessions", "").await?;
    ensure!(session.inventory().await?.domains.len() == 1, "the inventory was not read on a new session");
    Ok(())
}

#[tokio::test]
async fn passwords_certificates_and_faults_are_told_apart() -> Result<()> {
    let simulator = Simulator::start(&[]).await?;
    let mut keeper = keeper(Backend::Vsphere);
    let changed = [
        (simulator.with(|t| t.credentials = credentials("wrong")), Reason::CredentialsRefused),
        (simulator.with(|t| t.credentials = credentials(&format!("{PASSWORD}\n"))), Reason::SecretKeyMalformed),
        (simulator.with(|t| t.ca_bundle = None), Reason::CertificateUntrusted),
        (
            simulator.with(|t| t.endpoint = t.endpoint.replace("127.0.0.1", "localhost")),
            Reason::CertificateNameMismatch,
        ),
    ];
    for (target, reason) in &changed {
        let outcome = keeper.probe(target, true).await;
        ensure!(last(&outcome) == *reason && !format!("{outcome:?}").contains("hunter2"), "{outcome:?}");
    }
    let insecure = simulator.with(|t| (t.ca_bundle, t.insecure_skip_tls_verify) = (None, true));
    let outcome = keeper.probe(&insecure, true).await;
    ensure!(outcome.reached && has(&outcome, Reason::VerificationSkipped), "{outcome:?}");

    // Each change of the target gave its session back.
    ensure!(keeper.probe(&simulator.target, true).await.reached, "not reached");
    ensure!(simulator.counts().await?["sessions"] == 1, "a session was left behind");

    simulator.ask("/status", r#"{"code":503,"count":1}"#).await?;
    let outcome = keeper.probe(&simulator.target, true).await;
    ensure!(last(&outcome) == Reason::BackendUnavailable, "{outcome:?}");
    simulator.ask("/fault", r#"{"method":"CreateContainerView","fault":"NoPermission","count":1}"#).await?;
    let outcome = keeper.probe(&simulator.target, true).await;
    ensure!(outcome.reached && last(&outcome) == Reason::InventoryFailed, "{outcome:?}");
    for version in ["9.1.0.0", "6.0"] {
        simulator.ask("/about", &format!(r#"{{"version":"{version}","apiVersion":"{version}"}}"#)).await?;
        keeper.logout().await;
        let outcome = keeper.probe(&simulator.target, true).await;
        ensure!(outcome.reached && has(&outcome, Reason::VersionUntested), "{outcome:?}");
    }
    Ok(())
}

#[tokio::test]
async fn an_address_of_version_six() -> Result<()> {
    let simulator = Simulator::start_at("::1", &[]).await?;
    let outcome = keeper(Backend::Vsphere).probe(&simulator.target, true).await;
    ensure!(outcome.reached && has(&outcome, Reason::CertificateVerified), "{outcome:?}");
    Ok(())
}

/// Ten thousand objects are the product's own test, against a server that makes them up: the simulator takes minutes for them.
#[tokio::test]
async fn an_inventory_in_pages() -> Result<()> {
    let simulator =
        Simulator::start(&["--datacenters", "10", "--clusters", "1", "--hosts", "1", "--portgroups", "120"]).await?;
    let outcome = keeper(Backend::Vsphere).probe(&simulator.target, true).await;
    ensure!(outcome.domains.as_ref().map(Vec::len) == Some(10), "{:?}", outcome.findings);
    ensure!(
        outcome.domains.iter().flatten().all(|d| d.networks.len() == 64),
        "networks are not cut at what the API takes"
    );
    let pages = simulator.counts().await?["calls"]["ContinueRetrievePropertiesEx"].as_u64();
    ensure!(pages >= Some(2), "{pages:?} pages");
    Ok(())
}
