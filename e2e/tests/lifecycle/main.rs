//! The whole lifecycle on a real control plane: pause, class edits, canary, drift, names, refusals, deletion, leadership.
//!
//! One cluster without a node serves the whole suite. The product is installed by its own installer, and its operator runs
//! as a process of this machine under the token of its own account; [`kubelet`] stands in for a node. Tests run beside
//! each other, each in a namespace and with classes of its own; those that stop the operator or measure its time run
//! alone. What the operator wrote is counted from the audit log.
mod aftermath;
mod away;
mod canary;
mod class;
mod clock;
mod controller;
mod deletion;
mod detour;
mod drift;
mod faults;
mod five;
mod fleet;
mod foreign;
mod health;
mod kubelet;
mod leadership;
mod matrix;
mod moving;
mod named;
mod pause;
mod place;
mod planned;
mod pod;
mod pods;
mod records;
mod refusal;
mod rest;
mod restore;
mod spec;
mod stage;
mod stale;
mod sweep;
mod writes;

use banlieue_suite::{grants, lab, operator, tests, until};
use lab::Lab;
use libtest_mimic::Trial;
use stage::Stage;
use std::process::ExitCode;
use std::sync::Arc;

/// How many tests run beside each other: they wait more than they work.
const AT_ONCE: usize = 12;

fn trials(lab: &Arc<Lab<Stage>>) -> Vec<Trial> {
    let mut all = tests!(lab, Beside:
        moving::past_a_lost_node,
        rest::fifty_providers_at_rest,
        refusal::an_admission_policy_denies,
        foreign::an_object_of_our_name_stays_untouched,
        foreign::a_provider_in_conflict_can_be_deleted,
        drift::a_scaled_deployment_stays_scaled,
        drift::a_pod_speaks_again_once_its_account_is_back,
        deletion::while_paused,
        deletion::background_foreground_and_orphan,
        deletion::nothing_is_sent_to_what_is_gone,
        deletion::a_foreign_finalizer_survives,
        deletion::delete_and_create_at_once,
        deletion::the_namespace_goes,
        deletion::what_is_left_is_named,
        deletion::an_old_pod_never_writes_to_the_new_provider,
        deletion::wherever_the_class_points_by_then,
        canary::one_of_three,
        canary::twenty_providers_follow_an_edit,
        canary::an_edit_that_changes_nothing,
        pods::an_image_that_cannot_be_pulled,
        pods::a_container_that_crashes,
        pods::a_pod_that_no_node_takes,
        pods::no_progress_within_the_deadline,
        pause::paused_from_the_start,
        refusal::a_namespace_that_comes_later,
        refusal::a_namespace_that_is_going,
        refusal::a_namespace_that_goes_under_a_running_provider,
        refusal::a_shared_role_that_is_missing,
        refusal::a_quota_that_allows_no_pod,
        refusal::nothing_where_pods_must_be_restricted,
        records::tell_the_same,
        records::a_terminating_namespace_refuses_events,
        class::deleted_under_its_providers,
        class::its_backend_cannot_be_edited,
        class::comes_later,
        class::for_another_scheme,
        spec::another_secret_is_granted_in_place_of_the_first,
        moving::to_a_class_of_another_backend,
        moving::to_another_workload_namespace,
        moving::deleted_half_way,
        moving::paused_half_way,
        moving::what_blocks_it_keeps_the_old_one_running,
        named::one_name_in_two_namespaces,
        named::long_and_odd_names,
        rest::a_new_provider_takes_eight_writes,
        rest::each_edge_takes_two_writes,
        rest::numbers_are_told_once_a_second,
        health::health_and_metrics_by_name,
        controller::sums_up_and_ends,
        health::a_watch_that_cannot_start,
        health::a_watch_that_stalls,
    );
    all.extend(tests!(lab, Alone:
        drift::each_of_the_five_comes_back,
        drift::each_of_the_five_comes_back_in_a_workload_namespace,
        drift::edits_are_put_back_and_additions_stay,
        pause::a_paused_provider_is_left_alone,
        pause::a_paused_class_is_left_alone,
        away::what_was_deleted_meanwhile,
        away::a_restart_writes_nothing,
        planned::is_what_happens,
        leadership::a_killed_leader_is_replaced,
        leadership::a_leader_that_sleeps_is_replaced,
        leadership::a_lease_that_a_hand_takes_away,
        leadership::a_lease_that_a_hand_gives_away,
        leadership::without_an_election,
        clock::clocks_that_jump,
        faults::whatever_is_refused_is_tried_calmly,
        faults::an_api_server_that_hangs_ends_the_leader,
        faults::an_api_server_that_restarts,
        faults::a_graceful_end,
        health::no_secret_is_logged,
        stale::a_deletion_that_no_watch_tells,
        matrix::a_sample,
        fleet::three_hundred_at_once,
    ));
    all.extend(tests!(lab, Long:
        matrix::whole_in_the_own_namespace,
        matrix::whole_in_a_workload_namespace,
        rest::fifty_providers_at_rest_for_ten_minutes,
        fleet::three_hundred_come_and_go,
        restore::an_older_etcd,
        sweep::a_404_that_names_nobody_stops_it,
        refusal::an_admission_policy_denies_for_two_minutes,
        faults::whatever_is_refused_for_a_minute_is_tried_calmly,
    ));
    all
}

fn main() -> ExitCode {
    let lab = Arc::new(Lab::new(env!("CARGO_CRATE_NAME")));
    lab.play(AT_ONCE, trials(&lab), afterwards(&lab))
}

fn afterwards(lab: &Arc<Lab<Stage>>) -> Vec<Trial> {
    tests!(lab, Beside:
        aftermath::no_write_was_without_effect,
        aftermath::nothing_follows_the_release_of_a_finalizer,
        aftermath::no_secret_was_asked_for,
        aftermath::no_failure_became_a_hot_loop,
        aftermath::nothing_but_what_is_granted_was_used,
    )
}
