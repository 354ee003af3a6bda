//! Certificates on both sides, and what the keys of the Secret may hold.
use super::*;
use crate::backends::Target;
use crate::backends::fixture::{Pair, SECRET};
use rstest::rstest;
use tokio_rustls::TlsAcceptor;

/// A host with TLS; the names in its certificate, and until when it is good.
async fn host(ca: &Authority, names: &[&str], until: i32, accepts: u8) -> String {
    let acceptor = ca.acceptor(names, until, Some(ca));
    let address = fixture::serve("127.0.0.1", move |stream| {
        let acceptor: TlsAcceptor = acceptor.clone();
        async move {
            let Ok(mut stream) = acceptor.accept(stream).await else { return };
            match accepts {
                // Hangs up, as libvirt does over a certificate that it does not like.
                0 => {
                    let _ = stream.shutdown().await;
                }
                byte => {
                    stream.write_all(&[byte]).await.unwrap();
                    play(stream, good).await;
                }
            }
        }
    })
    .await;
    format!("qemu+tls://{address}/system")
}

fn with(endpoint: &str, ca: &Authority, pair: &Pair) -> Target {
    target(endpoint.into(), Some(ca), &[("tls.crt", &pair.certificate), ("tls.key", &pair.key)])
}

async fn ends(target: &Target) -> (Reason, String) {
    meets(Backend::Libvirt, target).await
}

#[tokio::test]
async fn good_on_both_sides() {
    let ca = Authority::new();
    let endpoint = host(&ca, &["127.0.0.1"], 2100, 1).await;
    let target = with(&endpoint, &ca, &ca.issue(&["client"], 2100));
    let outcome = Keeper::new(Backend::Libvirt, Meter::default()).probe(&target, true).await;
    assert!(outcome.reached && outcome.findings.iter().any(|f| f.reason == Reason::CertificateVerified), "{outcome:?}");
    let insecure = Target { insecure_skip_tls_verify: true, ca_bundle: None, ..target };
    let outcome = Keeper::new(Backend::Libvirt, Meter::default()).probe(&insecure, true).await;
    assert!(outcome.reached && outcome.findings.iter().any(|f| f.reason == Reason::VerificationSkipped), "{outcome:?}");
}

#[tokio::test]
async fn ours_is_refused() {
    let (ca, other) = (Authority::new(), Authority::new());
    let pair = ca.issue(&["client"], 2100);
    // By an alert, by hanging up; and what is no libvirt at all.
    let endpoint = host(&ca, &["127.0.0.1"], 2100, 1).await;
    let (reason, message) = ends(&with(&endpoint, &ca, &other.issue(&["client"], 2100))).await;
    assert_eq!(reason, Reason::ClientCertificateRefused, "{message}");
    let endpoint = host(&ca, &["127.0.0.1"], 2100, 0).await;
    let (reason, message) = ends(&with(&endpoint, &ca, &pair)).await;
    assert_eq!(reason, Reason::ClientCertificateRefused, "{message}");
    let endpoint = host(&ca, &["127.0.0.1"], 2100, b'H').await;
    assert_eq!(ends(&with(&endpoint, &ca, &pair)).await.0, Reason::UnexpectedAnswer);
}

#[tokio::test]
async fn theirs_is_bad() {
    let (ca, other) = (Authority::new(), Authority::new());
    let pair = ca.issue(&["client"], 2100);
    let endpoint = host(&ca, &["127.0.0.1"], 2100, 1).await;
    assert_eq!(ends(&with(&endpoint, &other, &pair)).await.0, Reason::CertificateUntrusted);
    let endpoint = host(&ca, &["host.example.com"], 2100, 1).await;
    assert_eq!(ends(&with(&endpoint, &ca, &pair)).await.0, Reason::CertificateNameMismatch);
    let endpoint = host(&ca, &["127.0.0.1"], 2021, 1).await;
    assert_eq!(ends(&with(&endpoint, &ca, &pair)).await.0, Reason::CertificateExpired);
}

#[tokio::test]
async fn what_listens_speaks_no_tls_or_nothing() {
    let ca = Authority::new();
    let pair = ca.issue(&["client"], 2100);
    let speaker = fixture::serve("127.0.0.1", |mut stream| async move {
        let _ = stream.read(&mut [0; 4096]).await;
        let _ = stream.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n").await;
    });
    let endpoint = format!("qemu+tls://{}/system", speaker.await);
    assert_eq!(ends(&with(&endpoint, &ca, &pair)).await.0, Reason::NotTLS);
    assert_eq!(ends(&with("qemu+tls://127.0.0.1:1/system", &ca, &pair)).await.0, Reason::ConnectionRefused);
    assert_eq!(ends(&with("qemu+tls://host.invalid/system", &ca, &pair)).await.0, Reason::NameNotResolved);
}

#[tokio::test]
async fn an_address_of_version_six() {
    let ca = Authority::new();
    let acceptor = ca.acceptor(&["::1"], 2100, Some(&ca));
    let address = fixture::serve("::1", move |stream| {
        let acceptor = acceptor.clone();
        async move {
            let mut stream = acceptor.accept(stream).await.unwrap();
            stream.write_all(&[1]).await.unwrap();
            play(stream, good).await;
        }
    })
    .await;
    let target = with(&format!("qemu+tls://{address}/system"), &ca, &ca.issue(&["client"], 2100));
    assert_eq!(ends(&target).await.0, Reason::FailureDomainsFound);
}

const ENCRYPTED: &str = "-----BEGIN ENCRYPTED PRIVATE KEY-----\naHVudGVyMg==\n-----END ENCRYPTED PRIVATE KEY-----\n";

#[rstest]
#[case::nothing(&[], Reason::SecretKeyMissing, "tls.crt of the Secret is missing; the Secret is empty")]
#[case::a_password(&[("username", "a"), ("password", SECRET)], Reason::SecretKeyMissing, "it has password, username")]
#[case::no_key(&[("tls.crt", "good")], Reason::SecretKeyMissing, "tls.key")]
#[case::empty(&[("tls.crt", ""), ("tls.key", "good")], Reason::SecretKeyMissing, "is empty")]
#[case::no_pem(&[("tls.crt", SECRET), ("tls.key", "good")], Reason::SecretKeyMalformed, "tls.crt")]
#[case::key_no_pem(&[("tls.crt", "good"), ("tls.key", SECRET)], Reason::SecretKeyMalformed, "tls.key")]
#[case::encrypted(&[("tls.crt", "good"), ("tls.key", ENCRYPTED)], Reason::SecretKeyMalformed, "passphrase")]
#[case::another_key(&[("tls.crt", "good"), ("tls.key", "another")], Reason::SecretKeyMalformed, "does not belong")]
#[case::expired(&[("tls.crt", "expired"), ("tls.key", "good")], Reason::SecretKeyMalformed, "ended on 2021-01-01")]
#[case::swapped(&[("tls.crt", "key"), ("tls.key", "good")], Reason::SecretKeyMalformed, "no certificate")]
#[tokio::test]
async fn a_secret(#[case] keys: &[(&str, &str)], #[case] reason: Reason, #[case] says: &str) {
    let ca = Authority::new();
    let (good, another, expired) =
        (ca.issue(&["client"], 2100), ca.issue(&["client"], 2100), ca.issue(&["client"], 2021));
    let keys: Vec<(&str, &str)> = keys
        .iter()
        .map(|(key, value)| {
            let value = match (*key, *value) {
                ("tls.crt", "good") => &good.certificate,
                ("tls.crt", "expired") => &expired.certificate,
                ("tls.crt", "key") | ("tls.key", "good") => &good.key,
                ("tls.key", "another") => &another.key,
                (_, value) => value,
            };
            (*key, value)
        })
        .collect();
    let target = target("qemu+tls://127.0.0.1:1/system".into(), Some(&ca), &keys);
    let (found, message) = ends(&target).await;
    assert_eq!(found, reason, "{message}");
    assert!(message.contains(says), "{message}");
}
