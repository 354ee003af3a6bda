//! The inventory over the wire, from a vCenter that is played here: pages, rights that are missing, names that are taken.
use super::*;
use crate::backends::Outcome;
use crate::k8s::crd::FindingReason as Reason;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use wiremock::matchers::any;
use wiremock::{Mock, MockServer, Request, Respond, ResponseTemplate};

/// A vCenter that makes up its objects: page by page, so many pages, each as XML.
struct Vcenter {
    pages: usize,
    page: fn(usize) -> String,
    asked: Arc<AtomicUsize>,
}

impl Respond for Vcenter {
    fn respond(&self, request: &Request) -> ResponseTemplate {
        let text = std::str::from_utf8(&request.body).unwrap();
        let method = text.split("<Body><").nth(1).and_then(|t| t.split(' ').next()).unwrap();
        let result = match method {
            "RetrieveServiceContent" => "<rootFolder>group-d1</rootFolder><propertyCollector>p</propertyCollector>\
                <viewManager>v</viewManager><sessionManager>s</sessionManager><about><name>VMware vCenter Server</name>\
                <version>8.0.3</version><apiVersion>8.0.3.0</apiVersion><apiType>VirtualCenter</apiType></about>"
                .into(),
            "CreateContainerView" => "view-1".into(),
            "RetrievePropertiesEx" => self.page(0),
            "ContinueRetrievePropertiesEx" => {
                let token = text.split("<token>").nth(1).and_then(|t| t.split('<').next()).unwrap();
                self.page(token.parse().unwrap())
            }
            _ => String::new(),
        };
        let body = format!(
            "<soapenv:Envelope xmlns:soapenv='s' xmlns:xsi='x'><soapenv:Body><{method}Response xmlns='urn:vim25'>\
             <returnval>{result}</returnval></{method}Response></soapenv:Body></soapenv:Envelope>"
        );
        ResponseTemplate::new(200).set_body_string(body)
    }
}

impl Vcenter {
    fn page(&self, number: usize) -> String {
        self.asked.fetch_add(1, Ordering::Relaxed);
        let token = if number + 1 < self.pages { format!("<token>{}</token>", number + 1) } else { String::new() };
        token + &(self.page)(number)
    }
}

/// A look, and how many pages it has asked for.
async fn look(pages: usize, page: fn(usize) -> String) -> (Outcome, usize) {
    let (server, asked) = (MockServer::start().await, Arc::new(AtomicUsize::new(0)));
    Mock::given(any()).respond_with(Vcenter { pages, page, asked: asked.clone() }).mount(&server).await;
    let outcome = keeper().probe(&target(&server.uri()), true).await;
    (outcome, asked.load(Ordering::Relaxed))
}

fn object(kind: &str, id: &str, name: &str, more: &str) -> String {
    format!(
        "<objects><obj type='{kind}'>{id}</obj><propSet><name>name</name><val xsi:type='xsd:string'>{name}</val></propSet>\
         {more}</objects>"
    )
}

fn parent(of: &str) -> String {
    format!("<propSet><name>parent</name><val type='Folder'>{of}</val></propSet>")
}

fn cluster(id: &str, name: &str, more: &str) -> String {
    object("ClusterComputeResource", id, name, &(parent("group-h1") + more))
}

fn datacenter() -> String {
    object("Datacenter", "datacenter-1", "Lab", &parent("group-d1"))
        + &object("Folder", "group-h1", "host", &parent("datacenter-1"))
}

fn reasons(outcome: &Outcome) -> (bool, Reason, String) {
    let last = outcome.findings.last().unwrap();
    (outcome.reached, last.reason, last.message.clone())
}

#[tokio::test]
async fn a_right_that_is_missing_names_the_object_and_keeps_the_rest() {
    let (outcome, _) = look(1, |_| {
        let missing = "<missingSet><path>network</path><fault><fault xsi:type='NoPermission'><object type='Folder'>f</object>\
            <privilegeId>System.View</privilegeId></fault><localizedMessage/></fault></missingSet>";
        let network = "<propSet><name>network</name><val><ManagedObjectReference type='Network'>network-1</ManagedObjectReference>\
            </val></propSet>";
        datacenter()
            + &cluster("domain-c1", "East &amp; West %2f 日本", network)
            + &cluster("domain-c2", "South", missing)
            + &object("Network", "network-1", "VM Network", "")
    })
    .await;
    let (reached, reason, message) = reasons(&outcome);
    assert!(reached && reason == Reason::InventoryIncomplete, "{outcome:?}");
    let expected = "ClusterComputeResource South (domain-c2): network could not be read (NoPermission)";
    assert_eq!(message, expected);
    let domains = outcome.domains.unwrap();
    assert_eq!(
        domains.iter().map(|d| d.cluster.as_deref()).collect::<Vec<_>>(),
        [Some("East & West / 日本"), Some("South")]
    );
    assert_eq!(domains[0].networks, ["VM Network"]);
}

#[tokio::test]
async fn a_name_that_is_taken_is_said_and_has_a_suffix() {
    let (outcome, _) =
        look(1, |_| datacenter() + &cluster("domain-c9", "east", "") + &cluster("domain-c10", "East", "")).await;
    let (_, reason, message) = reasons(&outcome);
    assert!(reason == Reason::InventoryIncomplete && message.contains("domain-c10") && !message.contains("domain-c9"));
    let domains = outcome.domains.unwrap();
    let older = domains.iter().find(|d| d.name == "lab-east").unwrap();
    assert_eq!((domains.len(), older.cluster.as_deref()), (2, Some("east")));
}

#[tokio::test]
async fn no_right_at_all_is_no_failure_domain() {
    let (outcome, _) = look(1, |_| String::new()).await;
    assert_eq!(reasons(&outcome).1, Reason::NoFailureDomains);
}

#[tokio::test]
async fn pages_without_end_end() {
    let (outcome, asked) = look(usize::MAX, |_| String::new()).await;
    assert_eq!((reasons(&outcome).1, asked), (Reason::InventoryFailed, 401));
    let large = |number: usize| {
        let references = "<r>datastore-1</r>".repeat(100_000);
        let datastores = format!("<propSet><name>datastore</name><val>{references}</val></propSet>");
        cluster(&format!("domain-c{number}"), "East", &datastores)
    };
    let (outcome, asked) = look(usize::MAX, large).await;
    assert_eq!((reasons(&outcome).1, asked), (Reason::InventoryFailed, 5), "{outcome:?}");
}

/// In a process of its own, whose memory is the look's and the server's alone.
#[tokio::test]
async fn ten_thousand_objects_in_pages() {
    const ALONE: &str = "BANLIEUE_TEST_ALONE";
    const MOST_KIB: u64 = 50 << 10;
    if std::env::var_os(ALONE).is_none() {
        let mut again = std::process::Command::new(std::env::current_exe().unwrap());
        again.args(["--exact", "backends::vsphere::tests::inventory::ten_thousand_objects_in_pages", "--nocapture"]);
        let done = again.env(ALONE, "1").output().unwrap();
        let text = String::from_utf8_lossy(&done.stdout);
        assert!(done.status.success() && text.contains("1 passed"), "{text}{}", String::from_utf8_lossy(&done.stderr));
        return;
    }
    let page = |number: usize| match number {
        0 => {
            let clusters = (0..498).map(|n| cluster(&format!("domain-c{n}"), &format!("c{n}"), ""));
            datacenter() + &clusters.collect::<String>()
        }
        _ => (0..500).map(|n| object("Network", &format!("network-{number}-{n}"), "VM Network", "")).collect(),
    };
    let before = memory("VmRSS:");
    let (outcome, asked) = look(20, page).await;
    let more = memory("VmHWM:") - before;
    println!("{more} KiB more at the peak");
    assert_eq!(asked, 20);
    assert!(more < MOST_KIB, "{more} KiB");
    let (reached, reason, message) = reasons(&outcome);
    assert!(reached && reason == Reason::InventoryIncomplete && message.contains("498"), "{message}");
    assert_eq!(outcome.domains.unwrap().len(), 128, "as many as the API takes");
}

/// A figure of this process, in KiB.
fn memory(name: &str) -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix(name)).unwrap();
    line.trim().trim_end_matches(" kB").parse().unwrap()
}
