//! Providers in pods, and backends that misbehave: what each pod says of its backend, how fast, and what it costs.
//!
//! One cluster serves the suite, the product installed by its own installer. A test has a namespace and simulators of its own,
//! so nearly all run beside each other: they wait for pods that look at their backend every 30 seconds.
mod absence;
mod figures;
mod fleet;
mod input;
mod lease;
mod neighbours;
mod network;
mod pause;
mod pods;
mod process;
mod readers;
mod repoint;
mod session;
mod sim;
mod site;
mod trouble;
mod trust;

use banlieue_e2e::{audit, watch};
use banlieue_suite::lab::Lab;
use banlieue_suite::{deploy, place, stage, tests, until};
use libtest_mimic::Trial;
use stage::Stage;
use std::process::ExitCode;
use std::sync::Arc;

/// How many tests run beside each other: they wait far more than they work.
const AT_ONCE: usize = 8;

/// The longest first.
fn trials(lab: &Arc<Lab<Stage>>) -> Vec<Trial> {
    let mut all = tests!(lab, Beside:
        pods::of_two_the_other_goes_on_when_the_leader_is_killed,
        trust::a_ca_of_each_source_and_its_edit,
        pause::a_paused_pod_leaves_its_backend_alone,
        readers::kstatus_and_argo_through_a_life,
        fleet::twenty_providers_are_twenty_sessions,
        input::what_is_missing_or_broken_is_named_and_its_correction_used,
        figures::a_pod_at_rest,
        neighbours::a_backend_that_hangs_is_not_noticed_next_door,
        network::one_provider_reaches_one_target,
        trouble::each_method_that_is_refused_has_its_condition,
        trouble::a_hang_is_told_from_a_maintenance,
        trouble::one_503_is_said_and_forgiven,
        trouble::a_right_that_is_missing_names_the_object_and_keeps_the_rest,
        session::a_rotated_password_is_used_and_nobody_notices,
        pause::a_pod_that_starts_while_paused_waits,
        session::one_that_has_ended_is_renewed_and_never_a_wrong_password,
        absence::a_vcenter_that_is_killed_and_one_that_stays_away,
        absence::an_endpoint_that_is_edited,
        pods::a_rolling_update_of_one_pod_completes,
        pods::a_dead_pod_does_not_look_healthy,
        network::the_metrics_are_for_the_monitoring,
        repoint::to_another_backend_and_back_leaves_nothing_stale,
    );
    all.extend(tests!(lab, Alone:
        figures::the_first_login,
        neighbours::one_static_process_serves_two,
    ));
    all
}

fn main() -> ExitCode {
    let lab = Arc::new(Lab::new(env!("CARGO_CRATE_NAME")));
    let afterwards = tests!(lab, Alone: fleet::every_pod_watched_its_own_provider_alone);
    lab.play(AT_ONCE, trials(&lab), afterwards)
}
