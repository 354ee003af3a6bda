//! The election as a table; [`model`] searches all that two candidates can do.
mod model;

use super::*;
use rstest::rstest;
use std::time::Instant;

const HOUR: Duration = Duration::from_secs(3600);

fn record(holder: &str, renewed: u64) -> Record {
    Record { holder: holder.into(), renewed: Some(renewed.to_string()), lasts: Timing::ROLE.lease }
}

#[rstest]
#[case::missing(None, 0, Next::Acquire)]
#[case::given_back(Some(Record { renewed: None, ..record("", 1) }), 0, Next::Acquire)]
#[case::holder_edited_away(Some(record("", 1)), 0, Next::Wait(Duration::from_secs(2)))]
#[case::holder_edited_away_long_ago(Some(record("", 1)), 15, Next::Acquire)]
#[case::ours(Some(record("me", 1)), 0, Next::Renew)]
#[case::fresh(Some(record("you", 1)), 0, Next::Wait(Duration::from_secs(2)))]
#[case::nearly_silent(Some(record("you", 1)), 14, Next::Wait(Duration::from_secs(1)))]
#[case::silent(Some(record("you", 1)), 15, Next::Acquire)]
fn looks(#[case] lease: Option<Record>, #[case] seconds_later: u64, #[case] expected: Next) {
    let start = Instant::now();
    let mut election = Election::new("me", Timing::ROLE);
    election.look(start, lease.as_ref());
    assert_eq!(election.look(start + Duration::from_secs(seconds_later), lease.as_ref()), expected);
}

#[test]
fn a_change_that_is_seen_counts_and_the_clock_of_the_holder_does_not() {
    let start = Instant::now();
    let mut election = Election::new("me", Timing::ROLE);
    // A holder whose clock stands years back is alive as long as it writes.
    for second in 0..100 {
        let next = election.look(start + Duration::from_secs(second), Some(&record("you", second / 10)));
        assert!(matches!(next, Next::Wait(_)), "second {second}: {next:?}");
    }
}

#[test]
fn a_first_look_never_takes_over_however_old_the_lease_looks() {
    let mut election = Election::new("me", Timing::ROLE);
    assert!(matches!(election.look(Instant::now() + HOUR, Some(&record("you", 0))), Next::Wait(_)));
}

#[test]
fn a_holder_that_asks_for_more_time_gets_it() {
    let start = Instant::now();
    let mut election = Election::new("me", Timing::ROLE);
    let lease = Record { lasts: Timing::POD.lease, ..record("you", 1) };
    election.look(start, Some(&lease));
    assert!(matches!(election.look(start + Duration::from_secs(59), Some(&lease)), Next::Wait(_)));
    assert_eq!(election.look(start + Duration::from_secs(60), Some(&lease)), Next::Acquire);
}

#[test]
fn leadership_ends_at_the_deadline_and_at_the_sight_of_another_holder() {
    let start = Instant::now();
    let mut election = Election::new("me", Timing::ROLE);
    assert!(!election.leads(start), "holding nothing");
    election.written(start);
    assert!(election.leads(start + Duration::from_millis(9_999)));
    assert!(!election.leads(start + Duration::from_secs(10)));
    election.look(start + Duration::from_secs(1), Some(&record("you", 1)));
    assert!(!election.leads(start + Duration::from_secs(1)));
}

#[test]
fn a_lease_that_a_hand_took_away_is_free_only_once_its_holder_is_silent() {
    let start = Instant::now();
    for taken in [None, Some(record("", 1))] {
        let (mut holder, mut other) = (Election::new("me", Timing::ROLE), Election::new("you", Timing::ROLE));
        holder.written(start);
        other.look(start, Some(&record("me", 1)));
        let soon = start + Duration::from_secs(2);
        assert!(matches!(other.look(soon, taken.as_ref()), Next::Wait(_)), "the holder does not know yet");
        assert_eq!(holder.look(soon, taken.as_ref()), Next::Acquire);
        assert!(holder.leads(soon), "it may take it back");
        assert_eq!(other.look(soon + Timing::ROLE.lease, taken.as_ref()), Next::Acquire);
    }
}

#[test]
fn flags_are_given_where_the_times_are_not_the_roles_own() {
    assert_eq!(Timing::ROLE.flags(), Vec::<String>::new());
    let fast = Timing::new(Duration::from_secs(6), Duration::from_secs(4), Duration::from_secs(1)).unwrap();
    let flags = ["lease-duration=6s", "renew-deadline=4s", "retry-period=1s"].map(|f| format!("--leader-elect-{f}"));
    assert_eq!(fast.flags(), flags);
}

#[test]
fn an_acquisition_keeps_what_others_wrote_and_sets_its_owner_anew() {
    use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
    use k8s_openapi::jiff::Timestamp;
    let owner = |uid: &str| OwnerReference { uid: uid.into(), ..Default::default() };
    let meta = |uid| Meta {
        annotations: [("banlieue.io/provider".to_owned(), "infra/lab".to_owned())].into(),
        owner: Some(owner(uid)),
        ..Default::default()
    };
    let mut there = record::acquired(None, "it", &meta("old"), "a", Timing::POD.lease, Timestamp::now());
    there.metadata.resource_version = Some("7".into());
    there.metadata.annotations.get_or_insert_default().insert("note".into(), "theirs".into());
    let lease = record::acquired(Some(there), "it", &meta("new"), "b", Timing::POD.lease, Timestamp::now());
    assert_eq!(lease.metadata.resource_version.as_deref(), Some("7"), "a PUT of it must not win over a faster one");
    assert_eq!(lease.metadata.owner_references, Some(vec![owner("new")]));
    assert_eq!(lease.metadata.annotations.as_ref().map(|a| a.len()), Some(2));
    let spec = lease.spec.as_ref().unwrap();
    assert_eq!((spec.lease_transitions, spec.lease_duration_seconds), (Some(1), Some(60)));
    assert!(Record::from(&record::released(lease)).free());
}
