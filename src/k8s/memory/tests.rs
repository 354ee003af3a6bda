use super::*;
use rstest::rstest;
use serde_json::json;

fn provider(uid: &str, revision: &str, finalizers: &[&str]) -> Arc<Provider> {
    let body = json!({
        "apiVersion": "banlieue.io/v1alpha1", "kind": "Provider",
        "metadata": { "name": "p", "namespace": "ns", "uid": uid, "resourceVersion": revision, "finalizers": finalizers },
        "spec": { "providerClassRef": { "name": "c" }, "connection": { "endpoint": "https://x", "credentialsRef": { "name": "s" } } },
    });
    Arc::new(serde_json::from_value(body).expect("a Provider"))
}

#[rstest]
#[case::our_own_was_the_last(&[], true)]
#[case::the_answer_was_not_found(&[names::FINALIZER], true)]
#[case::somebody_holds_it(&["example.com/hold"], false)]
fn a_released_provider_is_gone(#[case] left: &[&str], #[case] gone: bool) {
    let memory = Memory::default();
    let seen = provider("one", "1", &[names::FINALIZER]);
    assert!(!memory.is_gone(&seen));
    memory.remember_latest((*provider("one", "2", left)).clone());
    memory.released(&seen);
    assert_eq!(memory.is_gone(&seen), gone);
    assert!(!memory.is_gone(&provider("another", "3", &[])), "a new Provider of that name lives");
}

#[rstest]
#[case::only_a_number(json!({ "readyReplicas": 2 }), true)]
#[case::a_reason_too(json!({ "readyReplicas": 2, "reason": "RollingOut" }), false)]
#[case::another_generation(json!({ "observedGeneration": 2 }), false)]
fn numbers_alone_wait_a_second(#[case] change: serde_json::Value, #[case] waits: bool) {
    let report = |change: serde_json::Value| {
        let mut status = json!({ "phase": "Ready", "reason": "WorkloadAvailable", "readyReplicas": 1 });
        json_patch::merge(&mut status, &change);
        Effect::ReportWorkload(Box::new(serde_json::from_value(status).expect("a status")))
    };
    let first = report(json!({}));
    let Effect::ReportWorkload(status) = &first else { unreachable!() };
    let mut seen = (*provider("one", "1", &[])).clone();
    seen.status.get_or_insert_default().workload = Some((**status).clone());
    let (memory, next, now) = (Memory::default(), [report(change)], Instant::now());
    assert_eq!(memory.gathers(&seen, &next, now), None, "nothing was told yet");
    memory.remember(&seen, &[], &[Done { effect: &first, result: Ok(()) }], now);
    assert_eq!(memory.gathers(&seen, &next, now + NUMBERS / 4).is_some(), waits);
    assert_eq!(memory.gathers(&seen, &next, now + NUMBERS), None);
}

#[test]
fn a_record_that_failed_backs_off() {
    let (memory, seen, now) = (Memory::default(), provider("one", "1", &[]), Instant::now());
    let report = Effect::ReportWorkload(Box::default());
    let tried = |result| memory.remember(&seen, &[], &[Done { effect: &report, result }], now);
    let refusal = || Refusal { fault: Fault::Throttled, words: "later".into() };
    assert_eq!(memory.records_rest(&seen, now), None, "nothing was tried yet");
    let rest = tried(Err(refusal()));
    assert!(rest.is_some() && memory.records_rest(&seen, now) == rest);
    assert!(tried(Err(refusal())) > rest, "longer each time");
    assert_eq!(tried(Ok(())), None);
    assert_eq!(memory.records_rest(&seen, now), None);
}

#[test]
fn a_look_that_failed_is_not_repeated_at_each_wake() {
    let (memory, seen, now) = (Memory::default(), provider("one", "1", &[]), Instant::now());
    assert_eq!(memory.rest(&seen, now), None);
    let refusal = || Refusal { fault: Fault::Transport, words: "no answer".into() };
    let rest = memory.blind(&seen, refusal(), now);
    assert!(!rest.is_zero() && memory.rest(&seen, now) == Some(rest));
    assert!(memory.blind(&seen, refusal(), now) > rest, "longer each time");
    memory.rested(&seen, true, now);
    assert_eq!(memory.rest(&seen, now), None);
}
