//! The words of the API and of people: kinds, phases, reasons, faults, effects. Who changes one changes the API.
use super::fixture::*;
use crate::fsm::Part::*;
use crate::fsm::Reason::*;
use crate::fsm::*;
use rstest::rstest;
use std::time::Duration;

#[test]
fn of_kinds_phases_and_faults() {
    let kinds = ["ServiceAccount", "Role", "ClusterRoleBinding", "RoleBinding", "Deployment"];
    assert_eq!(Part::ALL.map(Part::kind), kinds);
    assert_eq!(object(Role).to_string(), "Role prod/banlieue-provider-vsphere-vc");
    assert_eq!(object(ClusterRoleBinding).to_string(), "ClusterRoleBinding banlieue-provider-vsphere-vc");
    let phases = ["Pending", "Provisioning", "Ready", "Paused", "Terminating"];
    assert_eq!(Phase::ALL.map(Phase::as_str), phases);
    assert_eq!(Phase::ALL.map(|p| p.to_string()), phases);
    assert!(Reason::ALL.iter().all(|r| r.to_string() == format!("{r:?}") && r.as_str() == r.to_string()));
    use Fault::*;
    let faults = [Conflict, Stale, Refused, NotFound, NamespaceTerminating, Throttled, Transport].map(Fault::as_str);
    let words = ["conflict", "stale", "refused", "not_found", "namespace_terminating", "throttled", "transport"];
    assert_eq!(faults, words);
}

/// The order law, as it is written in the design.
#[test]
fn of_effects_in_their_order() {
    let apply = |part| [Effect::Apply(part, Mode::Create), Effect::Apply(part, Mode::Change)];
    let edge = step(None, &ready(), noon()).transition().cloned().expect("an edge");
    let doomed = Doomed { object: object(Role), uid: "u".into() };
    let report = Effect::ReportWorkload(Box::new(recorded(WorkloadAvailable)));
    let mut all = vec![Effect::HoldFinalizer];
    all.extend(Part::ALL.into_iter().flat_map(apply));
    all.extend([Effect::Delete(doomed), Effect::Announce(Box::new(edge)), report, Effect::ReleaseFinalizer]);
    let told: Vec<String> = all.iter().map(|e| format!("{} {e}", e.rank())).collect();
    let law = [
        "0 hold finalizer",
        "1 create ServiceAccount",
        "1 change ServiceAccount",
        "1 create Role",
        "1 change Role",
        "1 create ClusterRoleBinding",
        "1 change ClusterRoleBinding",
        "2 create RoleBinding",
        "2 change RoleBinding",
        "3 create Deployment",
        "3 change Deployment",
        "4 delete Role prod/banlieue-provider-vsphere-vc",
        "5 announce WorkloadAvailable",
        "6 report Ready",
        "7 release finalizer",
    ];
    assert_eq!(told, law);
    let records: Vec<u8> = all.iter().filter(|e| e.is_record()).map(Effect::rank).collect();
    assert_eq!(records, [5, 6]);
}

fn with(seen: Observation, change: impl FnOnce(&mut Observation)) -> Observation {
    let mut seen = seen;
    change(&mut seen);
    seen
}

fn looks(part: Part, sight: Sight) -> Observation {
    with(but(part, sight), |o| o.cause = Cause::Creating)
}

#[rstest]
#[case(deleting(vec![]), "nothing is left that garbage collection cannot reach")]
#[case(deleting(vec![stray(Role), Stray { owned: true, ..stray(Deployment) }]), "still there: Role prod/banlieue-provider-vsphere-vc")]
#[case(with(deleting(vec![]), |o| o.old_pods = vec!["prod/x".into(), "prod/y".into()]), "waiting for the end of pod prod/x, prod/y")]
#[case(with(deleting(vec![stray(Role)]), |o| o.deletion = Deletion::Orphaning), "waiting for the garbage collector to release the dependents")]
#[case(with(ready(), |o| o.paused = Paused::ByProvider), "`spec.paused` of the Provider is set; what runs is left as it is")]
#[case(with(new(), |o| o.paused = Paused::ByClass), "`spec.paused` of the ProviderClass is set; nothing runs")]
#[case(with(but(Deployment, Sight::Foreign), |o| o.paused = Paused::ByClass), "`spec.paused` of the ProviderClass is set; nothing runs")]
#[case(with(new(), |o| { o.paused = Paused::ByProvider; o.strays = vec![stray(Deployment)]; }), "`spec.paused` of the Provider is set; what runs is left as it is")]
#[case(with(new(), |o| { o.paused = Paused::ByProvider; o.strays = vec![stray(Role)]; }), "`spec.paused` of the Provider is set; nothing runs")]
#[case(with(ready(), |o| o.class = Class::Absent), "ProviderClass vsphere does not exist")]
#[case(with(ready(), |o| o.class = Class::Invalid("the field".into())), "the field")]
#[case(with(ready(), |o| o.class = Class::NotCompiled("no such backend".into())), "no such backend")]
#[case(with(ready(), |o| o.class = Class::EndpointInvalid("the scheme".into())), "the scheme")]
#[case(with(ready(), |o| o.place = Place::Missing("w".into())), "namespace w does not exist")]
#[case(with(ready(), |o| o.place = Place::Terminating("w".into())), "namespace w is being deleted")]
#[case(
    but(Role, Sight::Foreign),
    "Role prod/banlieue-provider-vsphere-vc exists and is not ours: delete or rename it, and this goes on by itself"
)]
#[case(with(but(Role, drifted()), |o| o.fence = Fence::Open), FenceOpen.means())]
#[case(with(but(Role, drifted()), |o| o.halt = halted(Fault::Refused)), "the API's words")]
#[case(with(new(), |o| o.halt = halted(Fault::NotFound)), "the API's words; nothing runs")]
#[case(new(), Creating.means())]
#[case(
    looks(Role, Sight::Earlier),
    "Role prod/banlieue-provider-vsphere-vc of an earlier Provider of this name is going"
)]
#[case(looks(Role, Sight::Terminating), "Role prod/banlieue-provider-vsphere-vc is being deleted")]
#[case(but(Role, Sight::Absent), "Role prod/banlieue-provider-vsphere-vc is missing")]
#[case(but(Role, Sight::Drifted(vec!["a".into(), "b".into()])), "Role prod/banlieue-provider-vsphere-vc differs in a, b")]
#[case(but(RoleBinding, Sight::Unchangeable { uid: "u".into(), fields: vec!["roleRef".into()] }), "RoleBinding prod/banlieue-provider-vsphere-vc differs in roleRef")]
#[case(with(but(Role, Sight::Absent), |o| o.strays = vec![stray(RoleBinding)]), "Role prod/banlieue-provider-vsphere-vc is missing; RoleBinding prod/banlieue-provider-vsphere-vc is no longer wanted")]
#[case(with(but(Role, Sight::Absent), |o| o.strays = vec![stray(Deployment)]), "moving: Deployment prod/banlieue-provider-vsphere-vc goes first")]
#[case(with(but(Role, Sight::Absent), |o| o.old_pods = vec!["prod/x".into()]), "moving: nothing runs until pod prod/x is gone")]
#[case(rolled(Rollout::Failed(Failure::CrashLoop, "its last words".into())), "its last words")]
#[case(rolled(Rollout::Waiting("see the conditions".into())), "see the conditions")]
#[case(rolled(Rollout::Progressing), RollingOut.means())]
#[case(ready(), WorkloadAvailable.means())]
fn of_messages(#[case] seen: Observation, #[case] message: &str) {
    assert_eq!(classify(&seen).message, message);
}

#[test]
fn are_cut_to_what_the_kind_takes() {
    let seen = |n| with(ready(), |o| o.class = Class::Invalid("ö".repeat(n)));
    let length = |n| classify(&seen(n)).message.chars().count();
    assert_eq!([2047, 2048, 2049, 9000].map(length), [2047, 2048, 2048, 2048]);
}

#[rstest]
#[case::owed(new(), Wake::Again)]
#[case::nothing_owed(ready(), Wake::Slow)]
#[case::held(with(new(), |o| o.halt = halted(Fault::Refused)), Wake::HoldOver(Duration::from_secs(4)))]
#[case::held_and_ready(with(ready(), |o| o.halt = halted(Fault::Transport)), Wake::Slow)]
#[case::over(with(but(Role, Sight::Earlier), |o| o.rollout = Rollout::Available), Wake::Slow)]
#[case::due_again(with(rolled(Rollout::Available), |o| o.halt = Some(Halt { waiting: None, ..halted(Fault::Refused).unwrap() })), Wake::Slow)]
#[case::a_name_is_taken(but(Role, Sight::Foreign), Wake::NameConflict)]
#[case::old_pods_end(with(alive(|_| Sight::Absent), |o| o.old_pods = vec!["prod/x".into()]), Wake::PodsGone)]
#[case::old_pods_of_a_paused_one(with(alive(|_| Sight::Absent), |o| { o.old_pods = vec!["prod/x".into()]; o.paused = Paused::ByProvider; }), Wake::Slow)]
#[case::pods_start(rolled(Rollout::Progressing), Wake::PodsSettle)]
#[case::pods_start_under_a_paused_one(with(rolled(Rollout::Progressing), |o| o.paused = Paused::ByProvider), Wake::Slow)]
#[case::pods_wait(rolled(Rollout::Waiting("w".into())), Wake::Slow)]
fn of_when_to_look_again(#[case] seen: Observation, #[case] wake: Wake) {
    assert_eq!(step(None, &seen, noon()).wake(), wake);
}

#[test]
fn of_how_long_that_is() {
    let wakes = [Wake::Again, Wake::HoldOver(Duration::from_secs(7)), Wake::NameConflict, Wake::PodsGone];
    assert_eq!(wakes.map(|w| w.after().as_secs()), [0, 7, 30, 5]);
    assert_eq!([Wake::PodsSettle, Wake::Slow].map(|w| w.after().as_secs()), [5, 600]);
}

/// Doubled each time from the first to the longest delay, 10% of jitter to either side, and a fleet does not retry in step.
#[rstest]
#[case(Fault::Conflict, 100, 10_000, false)]
#[case(Fault::Stale, 100, 10_000, false)]
#[case(Fault::Refused, 2_000, 300_000, true)]
#[case(Fault::NotFound, 2_000, 300_000, true)]
#[case(Fault::NamespaceTerminating, 2_000, 300_000, false)]
#[case(Fault::Throttled, 1_000, 60_000, false)]
#[case(Fault::Transport, 1_000, 60_000, false)]
fn of_the_back_off(#[case] fault: Fault, #[case] first: u128, #[case] longest: u128, #[case] blocks: bool) {
    assert_eq!(fault.blocks(), blocks);
    for attempt in 1..40 {
        let plain = (first << (attempt - 1).min(16)).min(longest);
        let delays: Vec<u128> = (0..200).map(|seed| fault.delay(attempt, seed * 7919).as_millis()).collect();
        let (least, most) = (delays.iter().min().expect("200"), delays.iter().max().expect("200"));
        assert!(plain * 90 / 100 <= *least && *least < plain * 92 / 100, "{attempt}: from {least} around {plain}");
        assert!(plain * 108 / 100 < *most && *most <= plain * 110 / 100, "{attempt}: to {most} around {plain}");
    }
    assert_eq!(fault.delay(0, 1), fault.delay(0, 1), "time is an input, and so is chance");
}

/// What a Provider's Refused costs the API server: the tries of two minutes, the first included.
#[test]
fn of_a_steady_refusal() {
    for seed in 0..500 {
        let (mut at, mut tries) = (Duration::ZERO, 0);
        while at <= Duration::from_secs(120) && tries < 100 {
            tries += 1;
            at += Fault::Refused.delay(tries, seed);
        }
        assert!((5..=20).contains(&tries), "{tries} requests in two minutes");
    }
}
