//! The specification as a table: what is seen, what was recorded, and then phase, reason and what is owed.
//! Records (Announce, ReportWorkload) are left out of the last column; `edges` below are their table.
use super::fixture::*;
use crate::fsm::Part::*;
use crate::fsm::Reason::{self, *};
use crate::fsm::*;
use rstest::rstest;

const NOTHING: &str = "";
const ALL_BUT_WHAT_NAMES_THE_ACCOUNT: &str = "create ServiceAccount, create Role";

fn with(seen: Observation, change: impl FnOnce(&mut Observation)) -> Observation {
    let mut seen = seen;
    change(&mut seen);
    seen
}

#[rstest]
// a new Provider: the finalizer comes first; bindings and Deployment wait until the account has been seen as ours
#[case::new(new(), None, Creating, "hold finalizer, create ServiceAccount, create Role")]
#[case::finalizer_held(with(new(), |o| o.finalizer = true), None, Creating, ALL_BUT_WHAT_NAMES_THE_ACCOUNT)]
#[case::account_seen(but(Deployment, Sight::Absent), Some(Creating), DriftDetected, "create Deployment")]
#[case::account_seen_at_first(alive(|p| if matches!(p, ServiceAccount | Role) { Sight::Matching } else { Sight::Absent }), Some(Creating), Creating, "create ClusterRoleBinding, create RoleBinding, create Deployment")]
#[case::account_of_a_stranger_gets_no_grant(alive(|p| if p == ServiceAccount { Sight::Foreign } else { Sight::Absent }), None, NameConflict, NOTHING)]
#[case::account_going(alive(|p| if p == ServiceAccount { Sight::Terminating } else if p == Deployment { Sight::Absent } else { Sight::Matching }), None, Creating, NOTHING)]
// the rollout, in order of use to a person
#[case::rolling(rolled(Rollout::Progressing), Some(RollingOut), RollingOut, NOTHING)]
#[case::why_it_was_entered_stays(rolled(Rollout::Progressing), Some(ClassChanged), ClassChanged, NOTHING)]
#[case::after_a_failure(rolled(Rollout::Progressing), Some(ImagePullFailed), RollingOut, NOTHING)]
#[case::backend_unreachable(rolled(Rollout::Waiting("see".into())), Some(Creating), WaitingForBackend, NOTHING)]
#[case::scaled_to_zero(rolled(Rollout::ScaledToZero), Some(Creating), ScaledToZero, NOTHING)]
#[case::image(rolled(Rollout::Failed(Failure::ImagePull, "x".into())), Some(Creating), ImagePullFailed, NOTHING)]
#[case::crash(rolled(Rollout::Failed(Failure::CrashLoop, "x".into())), Some(Creating), CrashLooping, NOTHING)]
#[case::no_node(rolled(Rollout::Failed(Failure::Unschedulable, "x".into())), Some(Creating), Unschedulable, NOTHING)]
#[case::quota(rolled(Rollout::Failed(Failure::PodsRefused, "x".into())), Some(Creating), PodsRefused, NOTHING)]
#[case::deadline(rolled(Rollout::Failed(Failure::Deadline, "x".into())), Some(Creating), ProgressDeadlineExceeded, NOTHING)]
#[case::ready(ready(), Some(Creating), WorkloadAvailable, NOTHING)]
// a class edit, a spec edit and drift change what differs and nothing else
#[case::class_edit(with(but(Deployment, drifted()), |o| o.cause = Cause::ClassChanged), Some(WorkloadAvailable), ClassChanged, "change Deployment")]
#[case::spec_edit(with(but(Role, drifted()), |o| o.cause = Cause::SpecChanged), Some(WorkloadAvailable), SpecChanged, "change Role")]
#[case::drift(
    but(ClusterRoleBinding, Sight::Absent),
    Some(WorkloadAvailable),
    DriftDetected,
    "create ClusterRoleBinding"
)]
#[case::going(but(Role, Sight::Terminating), Some(WorkloadAvailable), DriftDetected, NOTHING)]
#[case::role_ref_edited(but(RoleBinding, Sight::Unchangeable { uid: "u".into(), fields: vec![] }), Some(WorkloadAvailable), DriftDetected, "delete RoleBinding prod/banlieue-provider-vsphere-vc")]
#[case::no_longer_wanted(with(ready(), |o| { o.strays = vec![stray(Role)]; o.cause = Cause::ClassChanged; }), Some(WorkloadAvailable), ClassChanged, "delete Role prod/banlieue-provider-vsphere-vc")]
// a move: one writer at a time
#[case::move_begins(with(alive(|_| Sight::Absent), |o| { o.strays = vec![stray(Deployment), stray(Role)]; o.cause = Cause::ClassChanged; }), Some(WorkloadAvailable), ClassChanged, "delete Deployment prod/banlieue-provider-vsphere-vc")]
#[case::old_pods_end(with(alive(|_| Sight::Absent), |o| { o.old_pods = vec!["prod/x".into()]; o.cause = Cause::ClassChanged; }), Some(ClassChanged), ClassChanged, NOTHING)]
#[case::move_blocked_keeps_the_old(with(but(Role, Sight::Foreign), |o| o.strays = vec![stray(Deployment)]), Some(WorkloadAvailable), NameConflict, NOTHING)]
#[case::move_paused_in_the_middle(with(alive(|_| Sight::Absent), |o| o.paused = Paused::ByProvider), Some(ClassChanged), ProviderPaused, NOTHING)]
// an earlier Provider of the same name is no conflict
#[case::earlier(alive(|p| if p == Role { Sight::Earlier } else { Sight::Matching }), None, Creating, NOTHING)]
// blockers: what runs is left alone
#[case::class_gone(with(ready(), |o| { o.class = Class::Absent; o.wanted = vec![]; }), Some(WorkloadAvailable), ClassNotFound, NOTHING)]
#[case::class_invalid(with(new(), |o| o.class = Class::Invalid("x".into())), None, ClassInvalid, "hold finalizer")]
#[case::not_compiled(with(ready(), |o| o.class = Class::NotCompiled("x".into())), None, BackendNotCompiled, NOTHING)]
#[case::other_scheme(with(ready(), |o| o.class = Class::EndpointInvalid("x".into())), None, EndpointInvalid, NOTHING)]
#[case::no_namespace(with(new(), |o| o.place = Place::Missing("w".into())), None, NamespaceNotFound, "hold finalizer")]
#[case::namespace_going(with(new(), |o| o.place = Place::Terminating("w".into())), None, NamespaceTerminating, "hold finalizer")]
#[case::foreign(but(Deployment, Sight::Foreign), Some(Creating), NameConflict, NOTHING)]
#[case::unfenced(with(but(Role, drifted()), |o| o.fence = Fence::Open), Some(WorkloadAvailable), FenceOpen, NOTHING)]
#[case::unfenced_and_nothing_owed(with(ready(), |o| o.fence = Fence::Open), Some(WorkloadAvailable), WorkloadAvailable, NOTHING)]
// a refusal blocks until its back-off is over, then the write is due again
#[case::refused(with(new(), |o| o.halt = halted(Fault::Refused)), Some(Creating), Refused, NOTHING)]
#[case::refused_and_due(with(new(), |o| o.halt = Some(Halt { waiting: None, ..halted(Fault::Refused).unwrap() })), Some(Refused), Creating, "hold finalizer, create ServiceAccount, create Role")]
#[case::no_answer(with(but(Role, drifted()), |o| o.halt = halted(Fault::Transport)), Some(WorkloadAvailable), DriftDetected, NOTHING)]
// pause: hands off, drift stays
#[case::paused(with(but(Role, Sight::Absent), |o| o.paused = Paused::ByProvider), Some(WorkloadAvailable), ProviderPaused, NOTHING)]
#[case::class_paused(with(but(Role, Sight::Absent), |o| o.paused = Paused::ByClass), Some(WorkloadAvailable), ClassPaused, NOTHING)]
#[case::paused_from_birth(with(new(), |o| o.paused = Paused::ByProvider), None, ProviderPaused, NOTHING)]
#[case::unpaused(but(Role, Sight::Absent), Some(ProviderPaused), DriftDetected, "create Role")]
// deletion: grants first, and a paused or class-less Provider goes as well
#[case::delete_binding_first(deleting(vec![stray(ServiceAccount), stray(ClusterRoleBinding), stray(Deployment)]), Some(WorkloadAvailable), DeletionRequested, "delete ClusterRoleBinding banlieue-provider-vsphere-vc")]
#[case::then_the_deployment(deleting(vec![stray(ServiceAccount), stray(Deployment)]), Some(DeletionRequested), DeletionRequested, "delete Deployment prod/banlieue-provider-vsphere-vc")]
#[case::then_its_pods(with(deleting(vec![stray(ServiceAccount)]), |o| o.old_pods = vec!["prod/x".into()]), Some(DeletionRequested), DeletionRequested, NOTHING)]
#[case::then_the_account(deleting(vec![stray(ServiceAccount), stray(RoleBinding)]), Some(DeletionRequested), DeletionRequested, "delete ServiceAccount prod/banlieue-provider-vsphere-vc")]
#[case::owned_ones_are_collected(deleting(vec![Stray { owned: true, ..stray(Deployment) }]), Some(DeletionRequested), DeletionRequested, "release finalizer")]
#[case::nothing_left(deleting(vec![]), Some(DeletionRequested), DeletionRequested, "release finalizer")]
#[case::going_already(deleting(vec![Stray { terminating: true, ..stray(ClusterRoleBinding) }]), Some(DeletionRequested), DeletionRequested, NOTHING)]
#[case::released(with(deleting(vec![]), |o| o.finalizer = false), Some(DeletionRequested), DeletionRequested, NOTHING)]
#[case::delete_while_paused(with(deleting(vec![stray(ClusterRoleBinding)]), |o| o.paused = Paused::ByProvider), Some(ProviderPaused), DeletionRequested, "delete ClusterRoleBinding banlieue-provider-vsphere-vc")]
#[case::delete_without_class(with(deleting(vec![]), |o| o.class = Class::Absent), Some(ClassNotFound), DeletionRequested, "release finalizer")]
#[case::delete_unfenced(with(deleting(vec![stray(ClusterRoleBinding)]), |o| o.fence = Fence::Open), Some(FenceOpen), DeletionRequested, "delete ClusterRoleBinding banlieue-provider-vsphere-vc")]
#[case::orphaning(with(deleting(vec![stray(ClusterRoleBinding)]), |o| o.deletion = Deletion::Orphaning), Some(WorkloadAvailable), DeletionRequested, NOTHING)]
// a Terminating out of a backup changes nothing that is owed
#[case::restored(new(), Some(DeletionRequested), Creating, "hold finalizer, create ServiceAccount, create Role")]
fn owed(#[case] seen: Observation, #[case] was: Option<Reason>, #[case] reason: Reason, #[case] effects: &str) {
    let was = was.map(recorded);
    let plan = step(was.as_ref(), &seen, noon());
    let owed: Vec<String> = plan.effects().iter().filter(|e| !e.is_record()).map(Effect::to_string).collect();
    assert_eq!((plan.signal().reason, plan.phase()), (reason, reason.phase()));
    assert_eq!(owed.join(", "), effects);
}

#[rstest]
#[case::first_sight(None, new(), Some((None, Phase::Provisioning)))]
#[case::same_phase_same_reason(Some(Creating), new(), None)]
#[case::a_change_of_phase(Some(Creating), ready(), Some((Some(Phase::Provisioning), Phase::Ready)))]
#[case::entry_into_a_failure(Some(Creating), rolled(Rollout::Failed(Failure::ImagePull, "x".into())), Some((Some(Phase::Provisioning), Phase::Provisioning)))]
#[case::leaving_a_failure(Some(ImagePullFailed), rolled(Rollout::Progressing), None)]
#[case::waiting_is_no_failure(Some(Creating), rolled(Rollout::Waiting("x".into())), None)]
#[case::from_one_blocker_to_another(Some(ClassNotFound), with(new(), |o| o.place = Place::Missing("w".into())), Some((Some(Phase::Pending), Phase::Pending)))]
fn edges(#[case] was: Option<Reason>, #[case] seen: Observation, #[case] edge: Option<(Option<Phase>, Phase)>) {
    let was = was.map(recorded);
    let plan = step(was.as_ref(), &seen, noon());
    let announced = plan.transition().map(|t| (t.entry.from, t.entry.to));
    assert_eq!(announced, edge);
    let Some(Effect::ReportWorkload(status)) = plan.effects().iter().find(|e| matches!(e, Effect::ReportWorkload(_)))
    else {
        return assert_eq!(edge, None);
    };
    let moved = was.as_ref().map(|w| w.phase) != Some(plan.phase());
    let since = was.as_ref().and_then(|w| w.last_transition_time);
    assert_eq!(status.last_transition_time, if moved { Some(noon()) } else { since }, "moves with the phase only");
    assert_eq!(status.transitions.last().map(|t| (t.from, t.to)), edge);
}

#[test]
fn what_is_recorded_already_is_not_written_again() {
    let first = step(None, &ready(), noon());
    let Some(Effect::ReportWorkload(status)) = first.effects().last() else { panic!("{first:?}") };
    let second = step(Some(status), &ready(), noon() + chrono::TimeDelta::hours(1));
    assert_eq!(second.effects(), []);
    assert_eq!(second.wake(), Wake::Slow);
}

#[test]
fn a_change_without_an_edge_is_reported_all_the_same() {
    let plan = step(Some(&recorded(ImagePullFailed)), &rolled(Rollout::Progressing), noon());
    assert!(matches!(plan.effects(), [Effect::ReportWorkload(status)] if status.transitions.is_empty()), "{plan:?}");
}

#[test]
fn who_goes_with_its_finalizer_needs_no_last_words() {
    let was = recorded(DeletionRequested);
    let last = step(Some(&was), &deleting(vec![]), noon());
    assert_eq!(last.effects(), [Effect::ReleaseFinalizer]);
    let held_by_others = step(Some(&was), &with(deleting(vec![]), |o| o.finalizer = false), noon());
    assert!(matches!(held_by_others.effects(), [Effect::ReportWorkload(_)]), "{held_by_others:?}");
    // an edge is told even then
    let first = step(Some(&recorded(WorkloadAvailable)), &deleting(vec![]), noon());
    assert_eq!(first.effects().iter().map(Effect::rank).collect::<Vec<_>>(), [5, 6, 7]);
}

/// What was made stays as it is while it is left alone, so the status goes on to tell it.
#[test]
fn a_blocker_changes_nothing_of_what_was_made() {
    let class = ClassRef { name: "old".into(), generation: Some(7) };
    let was = WorkloadStatus {
        provider_class: Some(class.clone()),
        image: Some("r:1".into()),
        namespace: Some("w".into()),
        deployment_name: Some("d".into()),
        ..recorded(WorkloadAvailable)
    };
    let seen = with(ready(), |o| o.class = Class::Absent);
    let plan = step(Some(&was), &seen, noon());
    let Some(Effect::ReportWorkload(status)) = plan.effects().last() else { panic!("{plan:?}") };
    let told = (&status.provider_class, status.image.as_deref(), status.namespace.as_deref());
    assert_eq!(told, (&Some(class), Some("r:1"), Some("w")));
    assert_eq!(status.deployment_name.as_deref(), Some("d"));
}

#[test]
fn the_last_ten_edges_are_kept() {
    let mut status: Option<WorkloadStatus> = None;
    for round in 0..30 {
        let seen = if round % 2 == 0 { ready() } else { with(ready(), |o| o.class = Class::Absent) };
        let plan = step(status.as_ref(), &seen, noon() + chrono::TimeDelta::seconds(round));
        let Some(Effect::ReportWorkload(next)) = plan.effects().last() else { panic!("{plan:?}") };
        status = Some((**next).clone());
    }
    let kept = status.expect("written").transitions;
    assert_eq!(kept.len(), 10);
    assert_eq!(kept.last().map(|t| t.time), Some(noon() + chrono::TimeDelta::seconds(29)));
}
