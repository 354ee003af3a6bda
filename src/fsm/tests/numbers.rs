//! What of a status is news, and what only a number.
use super::fixture::{noon, recorded};
use crate::fsm::{Reason, WorkloadStatus};
use rstest::rstest;

fn told() -> WorkloadStatus {
    WorkloadStatus { replicas: Some(2), ready_replicas: Some(2), ..recorded(Reason::WorkloadAvailable) }
}

#[rstest]
#[case::the_same(told(), false)]
#[case::one_pod_less_is_ready(WorkloadStatus { ready_replicas: Some(1), ..told() }, true)]
#[case::one_pod_more_is_wanted(WorkloadStatus { replicas: Some(3), ..told() }, true)]
#[case::both(WorkloadStatus { replicas: Some(3), ready_replicas: Some(1), ..told() }, true)]
#[case::another_message(WorkloadStatus { message: Some("news".into()), ..told() }, false)]
#[case::a_number_and_a_message(WorkloadStatus { ready_replicas: Some(1), message: Some("news".into()), ..told() }, false)]
#[case::a_phase_moved(WorkloadStatus { last_transition_time: Some(noon()), ..told() }, false)]
fn numbers_alone(#[case] next: WorkloadStatus, #[case] alone: bool) {
    assert_eq!(told().differs_in_numbers_alone(&next), alone);
}
