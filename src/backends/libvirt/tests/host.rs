//! What a host says, and what is made of it.
use super::*;
use crate::k8s::crd::ConditionStatus;
use rstest::rstest;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

#[tokio::test]
async fn a_good_one() {
    let outcome = probe(good).await;
    let reasons: Vec<_> = outcome.findings.iter().map(|f| f.reason).collect();
    use Reason::{BackendReached, CredentialsFound, FailureDomainsFound, LoggedIn, NotEncrypted};
    assert_eq!(reasons, [CredentialsFound, NotEncrypted, BackendReached, LoggedIn, FailureDomainsFound], "{outcome:?}");
    assert_eq!(outcome.findings[2].message, "The backend answers: 4 CPUs (x86_64), 8192 MiB of memory.");
    let info = outcome.info.unwrap();
    let told = (info.product.as_deref(), info.version.as_deref(), info.api_version.as_deref());
    assert_eq!(told, (Some("QEMU"), Some("9.1.0"), Some("11.3.0")));
    let domains = outcome.domains.unwrap();
    assert_eq!(domains.len(), 1);
    assert_eq!(
        (domains[0].name.as_str(), domains[0].host.as_deref()),
        ("node1-example-com", Some("Node1.example.com"))
    );
    assert_eq!(
        (&domains[0].datastores[..], &domains[0].networks[..]),
        (&["default".into(), "images".into()][..], &["default".into()][..])
    );
}

/// A good host, but for one procedure.
macro_rules! but {
    ($number:literal => $answer:expr) => {
        |procedure: u32| if procedure == $number { $answer } else { good(procedure) }
    };
}

#[rstest]
#[case::sasl(but!(66 => (0, vec![0, 0, 0, 1, 0, 0, 0, 1])), Reason::LoginMethodUnsupported, "auth_tls")]
#[case::no_driver(but!(1 => error(5, "no connection driver available for qemu:///system")), Reason::EndpointInvalid, "no driver")]
#[case::denied(but!(1 => error(88, "access denied: connect/getattr")), Reason::LoginNotPermitted, "access denied")]
#[case::no_daemon(but!(1 => error(38, "Failed to connect socket to virtqemud-sock")), Reason::LoginFailed, "virtqemud")]
#[case::ill(but!(6 => error(1, "internal error")), Reason::BackendUnavailable, "internal error")]
#[case::garbage(but!(6 => (0, vec![1, 2, 3])), Reason::UnexpectedAnswer, "breaks off")]
#[case::garbage_for_an_error(but!(6 => (1, vec![])), Reason::UnexpectedAnswer, "breaks off")]
#[case::status(but!(6 => (2, vec![])), Reason::UnexpectedAnswer, "another call")]
#[tokio::test]
async fn an_ill_one(#[case] answers: Answers, #[case] reason: Reason, #[case] says: &str) {
    let outcome = probe(answers).await;
    let last = outcome.findings.last().unwrap();
    assert_eq!(last.reason, reason, "{outcome:?}");
    assert!(last.message.contains(says) && !outcome.reached, "{outcome:?}");
}

/// One line, whatever a host says.
#[tokio::test]
async fn words_of_a_host_are_cut() {
    let outcome = probe(but!(6 => error(1, &"a\nb".repeat(10_000)))).await;
    let message = &outcome.findings.last().unwrap().message;
    assert!(message.len() < 300 && !message.contains('\n'), "{message}");
}

#[rstest]
#[case::no_pools(but!(281 => error(3, "this function is not supported")), Reason::FailureDomainsFound)]
#[case::pools_denied(but!(281 => error(88, "access denied: storage-pool/getattr")), Reason::InventoryIncomplete)]
#[case::no_hostname(but!(59 => (0, string(""))), Reason::FailureDomainsFound)]
#[tokio::test]
async fn what_cannot_be_read_is_named_and_the_rest_kept(#[case] answers: Answers, #[case] reason: Reason) {
    let outcome = probe(answers).await;
    assert!(outcome.reached && outcome.findings.iter().all(|f| f.reason != Reason::InventoryFailed), "{outcome:?}");
    assert_eq!(outcome.findings.last().map(|f| f.reason), Some(reason), "{outcome:?}");
    let domains = outcome.domains.unwrap();
    assert_eq!((domains.len(), domains[0].networks.len()), (1, 1));
    assert!(!domains[0].name.is_empty() && domains[0].host.is_some());
    assert_eq!(outcome.findings.iter().filter(|f| f.reason.status() == ConditionStatus::Unknown).count(), 0);
}

/// A host that ends its connections: each look makes a new one, and none fails.
#[tokio::test]
async fn a_restart_is_not_noticed() {
    let connections = Arc::new(AtomicUsize::new(0));
    let count = connections.clone();
    let address = fixture::serve("127.0.0.1", move |stream| {
        count.fetch_add(1, Ordering::Relaxed);
        // One look is nine calls; then it hangs up.
        play_some(stream, good, 9)
    })
    .await;
    let target = target(format!("qemu+tcp://{address}/system"), None, &[]);
    let mut keeper = Keeper::new(Backend::Libvirt, Meter::default());
    for look in 1..=5 {
        let outcome = keeper.probe(&target, true).await;
        assert!(outcome.reached, "look {look}: {outcome:?}");
        assert_eq!(connections.load(Ordering::Relaxed), look);
    }
}
