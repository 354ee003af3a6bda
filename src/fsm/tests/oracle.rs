//! The same decision as a plain match, written apart from the chart and from the precedence list.
use crate::fsm::*;

/// Phase and reason, as the design's table has them.
pub(super) fn read(seen: &Observation) -> (Phase, Reason) {
    use Phase::{Paused as Suspended, Pending, Provisioning, Ready, Terminating};
    let differs = seen.wanted.iter().any(|w| !matches!(w.sight, Sight::Matching))
        || !seen.strays.is_empty()
        || !seen.old_pods.is_empty();
    let shut = matches!(&seen.halt, Some(Halt { fault: Fault::Refused | Fault::NotFound, waiting: Some(_), .. }));
    match seen {
        Observation { deletion: Deletion::Requested | Deletion::Orphaning, .. } => {
            (Terminating, Reason::DeletionRequested)
        }
        Observation { paused: Paused::ByProvider, .. } => (Suspended, Reason::ProviderPaused),
        Observation { paused: Paused::ByClass, .. } => (Suspended, Reason::ClassPaused),
        Observation { class: Class::Absent, .. } => (Pending, Reason::ClassNotFound),
        Observation { class: Class::Invalid(_), .. } => (Pending, Reason::ClassInvalid),
        Observation { class: Class::NotCompiled(_), .. } => (Pending, Reason::BackendNotCompiled),
        Observation { class: Class::EndpointInvalid(_), .. } => (Pending, Reason::EndpointInvalid),
        Observation { place: Place::Missing(_), .. } => (Pending, Reason::NamespaceNotFound),
        Observation { place: Place::Terminating(_), .. } => (Pending, Reason::NamespaceTerminating),
        _ if seen.wanted.iter().any(|w| w.sight == Sight::Foreign) => (Pending, Reason::NameConflict),
        Observation { fence: Fence::Open, .. } if differs => (Pending, Reason::FenceOpen),
        _ if shut => (Pending, Reason::Refused),
        _ if differs => match seen.cause {
            Cause::Creating => (Provisioning, Reason::Creating),
            Cause::ClassChanged => (Provisioning, Reason::ClassChanged),
            Cause::SpecChanged => (Provisioning, Reason::SpecChanged),
            Cause::Drift => (Provisioning, Reason::DriftDetected),
        },
        _ => match &seen.rollout {
            Rollout::Available => (Ready, Reason::WorkloadAvailable),
            Rollout::ScaledToZero => (Provisioning, Reason::ScaledToZero),
            Rollout::Waiting(_) => (Provisioning, Reason::WaitingForBackend),
            Rollout::Progressing => (Provisioning, Reason::RollingOut),
            Rollout::Failed(Failure::ImagePull, _) => (Provisioning, Reason::ImagePullFailed),
            Rollout::Failed(Failure::CrashLoop, _) => (Provisioning, Reason::CrashLooping),
            Rollout::Failed(Failure::Unschedulable, _) => (Provisioning, Reason::Unschedulable),
            Rollout::Failed(Failure::PodsRefused, _) => (Provisioning, Reason::PodsRefused),
            Rollout::Failed(Failure::Deadline, _) => (Provisioning, Reason::ProgressDeadlineExceeded),
        },
    }
}

/// What is owed beside the records, object by object.
pub(super) fn owes(seen: &Observation, effect: &Effect) -> bool {
    let held_still = matches!(&seen.halt, Some(Halt { waiting: Some(_), .. }));
    let (phase, _) = read(seen);
    let old = |s: &Stray| s.object.part == Part::Deployment;
    let moving = seen.strays.iter().any(old) || !seen.old_pods.is_empty();
    let sight = |part: Part| seen.wanted.iter().find(|w| w.object.part == part).map(|w| &w.sight);
    match effect {
        _ if held_still => false,
        Effect::HoldFinalizer => !seen.finalizer && !matches!(phase, Phase::Paused | Phase::Terminating),
        Effect::ReleaseFinalizer => {
            seen.finalizer
                && seen.deletion == Deletion::Requested
                && seen.old_pods.is_empty()
                && seen.strays.iter().all(|s| s.owned)
        }
        Effect::Apply(part, mode) => {
            let due = match sight(*part) {
                Some(Sight::Absent) => *mode == Mode::Create,
                Some(Sight::Drifted(_)) => *mode == Mode::Change,
                _ => false,
            };
            let account = matches!(sight(Part::ServiceAccount), Some(Sight::Matching | Sight::Drifted(_)));
            due && phase == Phase::Provisioning
                && !moving
                && (matches!(part, Part::ServiceAccount | Part::Role) || account)
        }
        Effect::Delete(doomed) => {
            let Some(stray) = seen.strays.iter().find(|s| s.object == doomed.object && s.uid == doomed.uid) else {
                let remade = |w: &Wanted| matches!(&w.sight, Sight::Unchangeable { uid, .. } if *uid == doomed.uid);
                let account = matches!(sight(Part::ServiceAccount), Some(Sight::Matching | Sight::Drifted(_)));
                let due = matches!(doomed.object.part, Part::ServiceAccount | Part::Role) || account;
                return phase == Phase::Provisioning && !moving && due && seen.wanted.iter().any(remade);
            };
            let earlier = |parts: &[Part]| seen.strays.iter().any(|s| !s.owned && parts.contains(&s.object.part));
            use Part::*;
            match phase {
                Phase::Provisioning => !stray.terminating && (!moving || old(stray)),
                Phase::Terminating => {
                    let turn = match stray.object.part {
                        ClusterRoleBinding => true,
                        Deployment => !earlier(&[ClusterRoleBinding]),
                        ServiceAccount => !earlier(&[ClusterRoleBinding, Deployment]) && seen.old_pods.is_empty(),
                        Role | RoleBinding => {
                            !earlier(&[ClusterRoleBinding, Deployment, ServiceAccount]) && seen.old_pods.is_empty()
                        }
                    };
                    turn && !stray.owned && !stray.terminating && seen.deletion == Deletion::Requested
                }
                _ => false,
            }
        }
        Effect::Announce(_) | Effect::ReportWorkload(_) => false,
    }
}
