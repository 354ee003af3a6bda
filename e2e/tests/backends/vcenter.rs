//! Against govmomi's simulator, with `BANLIEUE_VCSIM=<the program>`; `make live` does the same in pods.
use super::*;
use crate::k8s::crd::{ConditionStatus, FindingReason as Reason};
use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use std::process::{Child, Command};
use std::time::{Duration, Instant};

/// The simulator, and what it takes to reach it.
struct Simulator {
    process: Child,
    folder: std::path::PathBuf,
    control: String,
    target: Target,
}

impl Drop for Simulator {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

fn free_port() -> u16 {
    std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

impl Simulator {
    /// Starts one; `None` where the program is not named.
    async fn start(size: &[&str]) -> Option<Self> {
        let program = std::env::var_os("BANLIEUE_VCSIM")?;
        let mut authority = CertificateParams::new([]).unwrap();
        authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let (ca_key, key) = (KeyPair::generate().unwrap(), KeyPair::generate().unwrap());
        let ca = authority.self_signed(&ca_key).unwrap().pem();
        let leaf = CertificateParams::new(["127.0.0.1".to_owned()]).unwrap();
        let leaf = leaf.signed_by(&key, &Issuer::new(authority, ca_key)).unwrap().pem();

        let (sdk, control) = (format!("127.0.0.1:{}", free_port()), format!("127.0.0.1:{}", free_port()));
        let folder = std::env::temp_dir().join(format!("banlieue-vcsim-{}", control.replace(':', "-")));
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join("crt"), leaf).unwrap();
        std::fs::write(folder.join("key"), key.serialize_pem()).unwrap();
        let mut command = Command::new(program);
        command.args(["--listen", &sdk, "--control", &control, "--cert", "crt", "--key", "key"]);
        command.args(["--username", "administrator@vsphere.local", "--password", PASSWORD]).args(size);
        let process = command.current_dir(&folder).spawn().unwrap();
        let target = Target { ca_bundle: Some(ca.into_bytes()), ..target(&format!("https://{sdk}")) };
        let simulator = Self { process, folder, control: format!("http://{control}"), target };
        for _ in 0..600 {
            if reqwest::get(format!("{}/counts", simulator.control)).await.is_ok() {
                return Some(simulator);
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        panic!("the simulator did not start");
    }

    async fn ask(&self, path: &str, body: &str) {
        let request = reqwest::Client::new().post(format!("{}{path}", self.control)).body(body.to_owned());
        request.send().await.unwrap().error_for_status().unwrap();
    }

    async fn counts(&self) -> serde_json::Value {
        let answer = reqwest::get(format!("{}/counts", self.control)).await.unwrap();
        serde_json::from_slice(&answer.bytes().await.unwrap()).unwrap()
    }
}

macro_rules! simulator {
    ($($size:literal),*) => {
        match Simulator::start(&[$($size),*]).await {
            Some(simulator) => simulator,
            None => return eprintln!("skipped: BANLIEUE_VCSIM names no simulator"),
        }
    };
}

fn last(outcome: &crate::backends::Outcome) -> Reason {
    outcome.findings.last().unwrap().reason
}

#[tokio::test]
async fn the_happy_path_and_its_end() {
    let simulator = simulator!("--datacenters", "2", "--clusters", "2");
    let mut keeper = keeper();
    for _ in 0..3 {
        let outcome = keeper.probe(&simulator.target, true).await;
        assert!(outcome.reached, "{outcome:?}");
        assert!(outcome.findings.iter().all(|f| f.reason.status() == ConditionStatus::True), "{outcome:?}");
        let info = outcome.info.unwrap();
        assert_eq!((info.version.as_deref(), info.api_version.as_deref()), (Some("6.5.0"), Some("6.5")));
        let domains = outcome.domains.unwrap();
        let names: Vec<_> = domains.iter().map(|d| d.name.as_str()).collect();
        assert_eq!(names, ["dc0-dc0-c0", "dc0-dc0-c1", "dc1-dc1-c0", "dc1-dc1-c1"]);
        assert_eq!(domains[0].datastores, ["LocalDS_0"]);
        assert!(domains[0].networks.contains(&"VM Network".to_owned()), "{:?}", domains[0]);
        assert!(domains[0].networks.contains(&"DC0_DVPG0".to_owned()), "{:?}", domains[0]);
    }
    let counts = simulator.counts().await;
    assert_eq!((&counts["sessions"], &counts["logins"]), (&1.into(), &1.into()), "{counts}");
    keeper.logout().await;
    assert_eq!(simulator.counts().await["sessions"], 0);
}

#[tokio::test]
async fn fifty_sessions_that_end_are_no_wrong_password() {
    let simulator = simulator!();
    let mut keeper = keeper();
    for _ in 0..50 {
        assert!(keeper.probe(&simulator.target, false).await.reached);
        simulator.ask("/kill-sessions", "").await;
        let outcome = keeper.probe(&simulator.target, true).await;
        assert_eq!(last(&outcome), Reason::FailureDomainsFound, "{outcome:?}");
        assert_eq!(simulator.counts().await["sessions"], 1);
    }
    assert_eq!(simulator.counts().await["refused"], 0);
}

#[tokio::test]
async fn a_session_that_ends_between_probe_and_inventory() {
    let simulator = simulator!();
    let mut session = crate::backends::connect(Backend::Vsphere, &simulator.target, &Meter::default()).unwrap();
    session.probe().await.unwrap();
    simulator.ask("/kill-sessions", "").await;
    assert_eq!(session.inventory().await.unwrap().domains.len(), 1);
}

#[tokio::test]
async fn passwords_certificates_and_faults_are_told_apart() {
    let simulator = simulator!();
    let with = |change: fn(&mut Target)| {
        let mut target = simulator.target.clone();
        change(&mut target);
        target
    };
    let mut keeper = keeper();
    let wrong = with(|t| t.credentials = credentials("wrong"));
    assert_eq!(last(&keeper.probe(&wrong, true).await), Reason::CredentialsRefused);
    let untrusted = with(|t| t.ca_bundle = None);
    assert_eq!(last(&keeper.probe(&untrusted, true).await), Reason::CertificateUntrusted);
    let other_name = with(|t| t.endpoint = t.endpoint.replace("127.0.0.1", "localhost"));
    assert_eq!(last(&keeper.probe(&other_name, true).await), Reason::CertificateNameMismatch);
    let insecure = with(|t| (t.ca_bundle, t.insecure_skip_tls_verify) = (None, true));
    let outcome = keeper.probe(&insecure, true).await;
    assert!(outcome.reached && outcome.findings.iter().any(|f| f.reason == Reason::VerificationSkipped), "{outcome:?}");

    // Each change of the target gave its session back.
    assert!(keeper.probe(&simulator.target, true).await.reached);
    assert_eq!(simulator.counts().await["sessions"], 1);

    simulator.ask("/status", r#"{"code":503,"count":1}"#).await;
    assert_eq!(last(&keeper.probe(&simulator.target, true).await), Reason::BackendUnavailable);
    simulator.ask("/fault", r#"{"method":"CreateContainerView","fault":"NoPermission","count":1}"#).await;
    let outcome = keeper.probe(&simulator.target, true).await;
    assert_eq!((outcome.reached, last(&outcome)), (true, Reason::InventoryFailed), "{outcome:?}");
    simulator.ask("/about", r#"{"version":"9.1.0","apiVersion":"9.1.0.0"}"#).await;
    keeper.logout().await;
    let outcome = keeper.probe(&simulator.target, true).await;
    assert!(outcome.reached && outcome.findings.iter().any(|f| f.reason == Reason::VersionUntested), "{outcome:?}");
}

#[tokio::test]
async fn a_large_inventory_in_pages() {
    let simulator = simulator!("--datacenters", "20", "--clusters", "5", "--hosts", "1", "--portgroups", "100");
    let mut keeper = keeper();
    let began = Instant::now();
    let outcome = keeper.probe(&simulator.target, true).await;
    assert_eq!(outcome.domains.as_ref().map(Vec::len), Some(100), "{:?}", outcome.findings);
    eprintln!("2,000 port groups and 100 clusters in {:?}", began.elapsed());
    assert!(simulator.counts().await["calls"]["ContinueRetrievePropertiesEx"].as_u64() >= Some(4));
}
