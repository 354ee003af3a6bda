use super::*;
use crate::k8s::crd::Provider;
use crate::k8s::metrics::Phases;
use prometheus_client::encoding::prometheus_text;

#[derive(Debug)]
struct Nobody;

impl Phases for Nobody {
    fn providers(&self) -> Vec<Arc<Provider>> {
        vec![]
    }
}

/// One reconcile panics: it alone waits a minute, it is counted, and others go on.
#[tokio::test]
async fn a_panic_stays_with_its_provider() {
    let mut registry = Registry::default();
    let metrics = Metrics::register(&mut registry, Nobody, CONCURRENCY);
    let panics = guarded("lab".into(), metrics.clone(), async { panic!("a bug") });
    let works = guarded("prod".into(), metrics, async { Action::await_change() });
    let (panicked, worked) = tokio::join!(panics, works);
    assert_eq!(panicked, Ok(Action::requeue(AFTER_PANIC)));
    assert_eq!(worked, Ok(Action::await_change()));
    let mut text = String::new();
    prometheus_text::encode(&mut text, &registry).unwrap();
    for line in ["reconcile_panics_total{controller=\"provider\"} 1", "active_workers{controller=\"provider\"} 0"] {
        assert!(text.contains(line), "{line} is not in {text}");
    }
}

#[tokio::test]
async fn the_end_waits_for_what_is_in_hand_but_not_for_ever() {
    const FOREVER: Duration = Duration::from_secs(3600);
    let short = Duration::from_millis(10);
    assert!(drained(tokio::time::sleep(short), async {}, FOREVER).await, "what is in hand comes to its end");
    assert!(!drained(future::pending(), async {}, short).await, "what never ends is left");
    assert!(
        drained(tokio::time::sleep(2 * short), future::pending(), short).await,
        "nothing is over: it takes its time"
    );
    assert!(GRACE < Duration::from_secs(4), "the Lease is to be given back within five seconds, too");
}
