//! The client against a server that has the documented shapes, over TLS. No real Proxmox was tested.
use super::*;
use crate::backends::fixture::{self, Authority, SECRET, meets, target};
use crate::backends::{Keeper, Outcome};
use crate::k8s::crd::Backend;
use rstest::rstest;
use std::sync::{Arc, Mutex};

/// The heads of the requests that came.
type Heads = Arc<Mutex<Vec<String>>>;

/// An answer as pveproxy writes it: what went wrong stands in the status line alone.
fn answer(status: &str, body: &str) -> String {
    format!(
        "HTTP/1.1 {status}\r\nServer: pve-api-daemon/3.0\r\nContent-Type: application/json;charset=UTF-8\r\n\
         Content-Length: {}\r\n\r\n{body}",
        body.len()
    )
}

/// A cluster of two nodes as it should be.
fn good(path: &str) -> String {
    let data = match path {
        "/api2/json/version" => r#"{"version":"8.2.4","release":"8.2","repoid":"faa83925c9641325"}"#,
        "/api2/json/nodes" => {
            r#"[{"node":"pve2","status":"online","id":"node/pve2","type":"node","uptime":1,"ssl_fingerprint":"AA:BB"},
                {"node":"pve1","status":"online","id":"node/pve1","type":"node","maxcpu":8,"cpu":0.03,"level":""}]"#
        }
        "/api2/json/cluster/status" => {
            r#"[{"id":"cluster","type":"cluster","name":"lab","nodes":2,"quorate":1,"version":4},
                {"id":"node/pve1","type":"node","name":"pve1","online":1,"local":1,"nodeid":1,"ip":"10.0.0.1","level":""}]"#
        }
        "/api2/json/cluster/resources?type=storage" => {
            r#"[{"id":"storage/pve1/local","type":"storage","node":"pve1","storage":"local","status":"available","shared":0},
                {"id":"storage/pve2/ceph","type":"storage","node":"pve2","storage":"ceph","status":"available","shared":1}]"#
        }
        _ => return answer("501 Method 'GET' not implemented", r#"{"data":null}"#),
    };
    answer("200 OK", &format!(r#"{{"data":{data}}}"#))
}

/// Serves over TLS on an address of this machine; the endpoint, and what came.
async fn cluster(ca: &Authority, address: &str, answers: fn(&str) -> String) -> (String, Heads) {
    let (acceptor, heads) = (ca.acceptor(&[address], 2100, None), Heads::default());
    let seen = heads.clone();
    let address = fixture::serve(address, move |stream| {
        let (acceptor, seen) = (acceptor.clone(), seen.clone());
        async move {
            let Ok(stream) = acceptor.accept(stream).await else { return };
            let respond = |head: &str| {
                seen.lock().unwrap().push(head.to_owned());
                answers(head.split(' ').nth(1).unwrap_or_default())
            };
            fixture::speak_http(stream, respond).await;
        }
    })
    .await;
    (format!("https://{address}"), heads)
}

const KEYS: [(&str, &str); 2] = [("username", "banlieue@pve!operator"), ("tokenValue", SECRET)];

async fn probe(answers: fn(&str) -> String) -> (Outcome, Heads) {
    let ca = Authority::new();
    let (endpoint, heads) = cluster(&ca, "127.0.0.1", answers).await;
    let outcome =
        Keeper::new(Backend::Proxmox, Meter::default()).probe(&target(endpoint, Some(&ca), &KEYS), true).await;
    assert!(!format!("{outcome:?}").contains(SECRET), "{outcome:?}");
    (outcome, heads)
}

#[tokio::test]
async fn four_gets_with_a_token() {
    let (outcome, heads) = probe(good).await;
    let reasons: Vec<_> = outcome.findings.iter().map(|f| f.reason).collect();
    use Reason::{BackendReached, CertificateVerified, CredentialsFound, FailureDomainsFound, LoggedIn};
    assert_eq!(reasons, [CredentialsFound, CertificateVerified, BackendReached, LoggedIn, FailureDomainsFound]);
    let info = outcome.info.unwrap();
    assert_eq!((info.version.as_deref(), info.build.as_deref()), (Some("8.2.4"), Some("faa83925c9641325")));
    let domains = outcome.domains.unwrap();
    let shown: Vec<_> =
        domains.iter().map(|d| (d.name.as_str(), d.cluster.as_deref(), d.datastores.concat())).collect();
    assert_eq!(shown, [("pve1", Some("lab"), "local".to_owned()), ("pve2", Some("lab"), "ceph".to_owned())]);
    let heads = heads.lock().unwrap();
    assert_eq!(heads.len(), 4);
    for head in heads.iter() {
        assert!(head.starts_with("GET /api2/json/"), "{head}");
        let token = format!("authorization: PVEAPIToken=banlieue@pve!operator={SECRET}\r\n");
        assert!(head.to_ascii_lowercase().contains(&token.to_ascii_lowercase()), "{head}");
    }
}

/// A good cluster, but for one path.
macro_rules! but {
    ($path:literal => $status:literal, $body:expr) => {
        |path: &str| if path == concat!("/api2/json/", $path) { answer($status, $body) } else { good(path) }
    };
}

const NULL: &str = r#"{"data":null}"#;

#[rstest]
#[case::no_such_token(but!("version" => "401 no such token 'operator' for user 'banlieue@pve'", NULL), Reason::CredentialsRefused, "no such token")]
#[case::echoes_the_token(but!("version" => "401 hunter2 is wrong", NULL), Reason::CredentialsRefused, "the token is refused")]
#[case::no_phrase(but!("version" => "401 ", NULL), Reason::CredentialsRefused, "the token is refused")]
#[case::forbidden(but!("version" => "403 Permission check failed", NULL), Reason::LoginNotPermitted, "Permission check failed")]
#[case::html(but!("version" => "200 OK", "<html><body>Welcome</body></html>"), Reason::UnexpectedAnswer, "no JSON")]
#[case::other_json(but!("version" => "200 OK", r#"{"data":[]}"#), Reason::UnexpectedAnswer, "no JSON")]
#[case::no_data(but!("version" => "200 OK", NULL), Reason::UnexpectedAnswer, "no JSON")]
#[case::no_api(but!("version" => "404 Not Found", "nothing"), Reason::UnexpectedAnswer, "HTTP 404")]
#[case::deep(but!("version" => "200 OK", &"[".repeat(100_000)), Reason::UnexpectedAnswer, "no JSON")]
#[case::huge(but!("version" => "200 OK", &" ".repeat((8 << 20) + 1)), Reason::AnswerTooLarge, "8 MiB")]
#[case::maintenance(but!("version" => "503 Service Unavailable", ""), Reason::BackendUnavailable, "HTTP 503")]
#[case::other_node(but!("version" => "595 No route to host", ""), Reason::BackendUnavailable, "No route to host")]
#[case::broken(but!("version" => "500 hostname lookup failed", NULL), Reason::UnexpectedAnswer, "hostname lookup failed")]
#[case::redirect(but!("version" => "302 Found", ""), Reason::Redirected, "HTTP 302")]
#[tokio::test]
async fn an_answer(#[case] answers: fn(&str) -> String, #[case] reason: Reason, #[case] says: &str) {
    let (outcome, heads) = probe(answers).await;
    let last = outcome.findings.last().unwrap();
    assert!(last.reason == reason && last.message.contains(says) && !outcome.reached, "{outcome:?}");
    assert_eq!(heads.lock().unwrap().len(), 1, "a failed probe asks no further, and follows nothing");
}

#[rstest]
#[case::status_denied(but!("cluster/status" => "403 Permission check failed (/, Sys.Audit)", NULL), Reason::InventoryIncomplete, "Sys.Audit")]
#[case::no_rights(but!("nodes" => "200 OK", r#"{"data":[]}"#), Reason::NoFailureDomains, "PVEAuditor")]
#[case::nodes_denied(but!("nodes" => "403 Permission check failed", NULL), Reason::NoFailureDomains, "/nodes")]
#[case::a_node_is_off(but!("nodes" => "200 OK", r#"{"data":[{"node":"pve1","status":"offline"}]}"#), Reason::InventoryIncomplete, "pve1 is offline")]
#[case::nodes_fail(but!("nodes" => "500 timeout", NULL), Reason::InventoryFailed, "HTTP 500: timeout")]
#[case::old(but!("version" => "200 OK", r#"{"data":{"version":"6.4-4"}}"#), Reason::VersionUntested, "6.4-4")]
#[tokio::test]
async fn what_is_not_as_it_should_be_is_named(
    #[case] answers: fn(&str) -> String,
    #[case] reason: Reason,
    #[case] says: &str,
) {
    let (outcome, _) = probe(answers).await;
    let found = outcome.findings.iter().find(|f| f.reason == reason);
    assert!(outcome.reached && found.is_some_and(|f| f.message.contains(says)), "{outcome:?}");
}

#[rstest]
#[case::nothing(&[], Reason::SecretKeyMissing, "the Secret is empty")]
#[case::a_password(&[("username", "a@pve"), ("password", SECRET)], Reason::SecretKeyMissing, "tokenValue of the Secret is missing; it has password, username")]
#[case::a_user(&[("username", "banlieue@pve"), ("tokenValue", SECRET)], Reason::SecretKeyMalformed, "user@realm!tokenid")]
#[case::no_realm(&[("username", "banlieue!operator"), ("tokenValue", SECRET)], Reason::SecretKeyMalformed, "user@realm!tokenid")]
#[case::no_token(&[("username", "banlieue@pve!"), ("tokenValue", SECRET)], Reason::SecretKeyMalformed, "user@realm!tokenid")]
#[case::newline(&[("username", "banlieue@pve!operator"), ("tokenValue", "hunter2\n")], Reason::SecretKeyMalformed, "newline")]
#[tokio::test]
async fn a_secret(#[case] keys: &[(&str, &str)], #[case] reason: Reason, #[case] says: &str) {
    let (found, message) = meets(Backend::Proxmox, &target("https://127.0.0.1:1".into(), None, keys)).await;
    assert!(found == reason && message.contains(says), "{found:?}: {message}");
}

#[tokio::test]
async fn certificates_and_addresses() {
    let (ca, other) = (Authority::new(), Authority::new());
    let (endpoint, _) = cluster(&ca, "127.0.0.1", good).await;
    let (found, _) = meets(Backend::Proxmox, &target(endpoint.clone(), Some(&other), &KEYS)).await;
    assert_eq!(found, Reason::CertificateUntrusted);
    for path in ["/", "/api2/json", "/api2/json/"] {
        let (found, message) = meets(Backend::Proxmox, &target(endpoint.clone() + path, Some(&ca), &KEYS)).await;
        assert_eq!(found, Reason::FailureDomainsFound, "{path}: {message}");
    }
    let (endpoint, heads) = cluster(&ca, "::1", |path| good(path.strip_prefix("/pve").unwrap_or("none"))).await;
    let (found, message) = meets(Backend::Proxmox, &target(endpoint + "/pve/", Some(&ca), &KEYS)).await;
    assert_eq!(found, Reason::FailureDomainsFound, "{message}");
    assert!(heads.lock().unwrap().iter().all(|head| head.starts_with("GET /pve/api2/json/")));
}
