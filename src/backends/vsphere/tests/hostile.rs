//! What listens at the endpoint is no vCenter, or an ill one: one reason, one sentence, bounded memory, no secret.
use super::*;
use crate::k8s::crd::FindingReason as Reason;
use rstest::rstest;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use wiremock::matchers::any;
use wiremock::{Mock, MockServer, ResponseTemplate};

async fn meets(endpoint: &str) -> (Reason, String) {
    let outcome = keeper().probe(&target(endpoint), true).await;
    assert!(!outcome.reached);
    let shown = format!("{outcome:?}");
    assert!(!shown.contains("hunter2"), "{shown}");
    let last = outcome.findings.last().unwrap();
    (last.reason, last.message.clone())
}

fn envelope(body: &str) -> String {
    format!("<e:Envelope xmlns:e='x'><e:Body>{body}</e:Body></e:Envelope>")
}

#[rstest]
#[case::html(200, "<html><body>It works!</body></html>".into(), Reason::UnexpectedAnswer)]
#[case::doctype_html(200, "<!DOCTYPE html><html></html>".into(), Reason::UnexpectedAnswer)]
#[case::doctype(200, "<?xml version='1.0'?><!DOCTYPE a [<!ENTITY b 'c'>]><a>&b;</a>".into(), Reason::UnexpectedAnswer)]
#[case::deep(200, "<a>".repeat(1 << 20), Reason::UnexpectedAnswer)]
#[case::truncated(200, "<e:Envelope xmlns:e='x'><e:Body><Retr".into(), Reason::UnexpectedAnswer)]
#[case::empty(200, String::new(), Reason::UnexpectedAnswer)]
#[case::json(200, "{\"ok\":true}".into(), Reason::UnexpectedAnswer)]
#[case::other_call(200, envelope("<LoginResponse/>"), Reason::UnexpectedAnswer)]
#[case::no_content(200, envelope("<RetrieveServiceContentResponse/>"), Reason::UnexpectedAnswer)]
#[case::nameless_fault(500, envelope("<Fault/>"), Reason::UnexpectedAnswer)]
#[case::fault_without_soap(500, "Internal error".into(), Reason::UnexpectedAnswer)]
#[case::huge(200, " ".repeat((16 << 20) + 1), Reason::AnswerTooLarge)]
#[case::maintenance(503, "Service Unavailable".into(), Reason::BackendUnavailable)]
#[case::not_found(404, String::new(), Reason::UnexpectedAnswer)]
#[case::redirect(302, String::new(), Reason::Redirected)]
#[tokio::test]
async fn an_answer(#[case] status: u16, #[case] body: String, #[case] expected: Reason) {
    let server = MockServer::start().await;
    let answer = ResponseTemplate::new(status).set_body_string(body).insert_header("location", "http://127.0.0.1:1/");
    Mock::given(any()).respond_with(answer).mount(&server).await;
    let (reason, message) = meets(&server.uri()).await;
    assert_eq!(reason, expected, "{message}");
    assert!(message.len() < 300, "{message}");
}

/// A server that sends without end and without a length: it is cut off.
#[tokio::test]
async fn an_answer_without_end() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let endpoint = format!("http://{}/sdk", listener.local_addr().unwrap());
    tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        let _ = stream.read(&mut [0; 4096]).await;
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-type: text/xml\r\n\r\n").await;
        let much = vec![b' '; 1 << 20];
        while stream.write_all(&much).await.is_ok() {}
    });
    assert_eq!(meets(&endpoint).await.0, Reason::AnswerTooLarge);
}

/// Two gigabytes that are only promised: nothing of them is read.
#[tokio::test]
async fn an_answer_of_two_gigabytes() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let endpoint = format!("http://{}/sdk", listener.local_addr().unwrap());
    tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        let _ = stream.read(&mut [0; 4096]).await;
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 2147483648\r\n\r\n").await;
        std::future::pending::<()>().await;
    });
    assert_eq!(meets(&endpoint).await.0, Reason::AnswerTooLarge);
}

/// Closes early, or speaks something else than TLS.
#[rstest]
#[case::closes_early("http", b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n<a>", Reason::ConnectionFailed)]
#[case::closes_at_once("http", b"", Reason::ConnectionFailed)]
#[case::no_tls("https", b"HTTP/1.1 400 Bad Request\r\n\r\n", Reason::NotTLS)]
#[tokio::test]
async fn a_connection(#[case] scheme: &str, #[case] sends: &'static [u8], #[case] expected: Reason) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let endpoint = format!("{scheme}://{}/sdk", listener.local_addr().unwrap());
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let _ = stream.read(&mut [0; 4096]).await;
            let _ = stream.write_all(sends).await;
        }
    });
    let (reason, message) = meets(&endpoint).await;
    assert_eq!(reason, expected, "{message}");
}

#[rstest]
#[case::nobody("https://127.0.0.1:1/sdk", Reason::ConnectionRefused)]
#[case::no_name("https://vcenter.invalid/sdk", Reason::NameNotResolved)]
#[case::version_six("https://[::1]:1/sdk", Reason::ConnectionRefused)]
#[case::no_url("vcenter", Reason::EndpointInvalid)]
#[case::scheme("qemu+tls://host/system", Reason::EndpointInvalid)]
#[case::password("https://user:hunter2@127.0.0.1/sdk", Reason::EndpointInvalid)]
#[tokio::test]
async fn an_endpoint(#[case] endpoint: &str, #[case] expected: Reason) {
    let (reason, message) = meets(endpoint).await;
    assert_eq!(reason, expected, "{message}");
}

#[rstest]
#[case::no_pem(b"nonsense")]
#[case::empty(b"")]
#[case::no_certificate(b"-----BEGIN CERTIFICATE-----\naGVsbG8=\n-----END CERTIFICATE-----\n")]
#[tokio::test]
async fn a_ca_bundle(#[case] pem: &[u8]) {
    let target = Target { ca_bundle: Some(pem.to_vec()), ..target("https://127.0.0.1:1/sdk") };
    let outcome = keeper().probe(&target, false).await;
    assert_eq!(outcome.findings.last().map(|f| f.reason), Some(Reason::CABundleInvalid), "{outcome:?}");
}

/// A hang is told from a maintenance.
#[tokio::test]
async fn a_hang() {
    let server = MockServer::start().await;
    let answer = ResponseTemplate::new(200).set_delay(Duration::from_secs(3600));
    Mock::given(any()).respond_with(answer).mount(&server).await;
    assert_eq!(meets(&server.uri()).await, (Reason::TimedOut, "connected, but no answer in time".into()));
}
