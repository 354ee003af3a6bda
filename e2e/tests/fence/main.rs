//! What holds when the operator is taken over: the admission policies, attacked under its own token.
//!
//! One cluster without a node serves the suite, the product installed by its own installer, the operator a process of this
//! machine. Attacks are dry runs: the API server decides on them as on any write, and one that passes ruins nothing.
mod attack;
mod audit;
mod deputy;
mod open;
mod scene;
mod stage;
mod types;

use banlieue_suite::{lab, operator, tests, until};
use lab::Lab;
use libtest_mimic::Trial;
use stage::Stage;
use std::process::ExitCode;
use std::sync::Arc;

/// How many tests run beside each other: they ask more than they wait.
const AT_ONCE: usize = 3;

fn trials(lab: &Arc<Lab<Stage>>) -> Vec<Trial> {
    let mut all = tests!(lab, Beside:
        types::no_policy_has_a_warning,
        types::a_typo_is_caught,
        attack::every_attack_is_denied,
        attack::legitimate_writes_pass,
        attack::what_is_accepted_is_known,
        attack::a_read_of_a_secret_is_told_of,
        audit::a_grant_of_its_work_is_no_alarm,
        deputy::nobody_has_a_secret_read_that_he_may_not_read,
        deputy::nobody_else_writes_the_workload,
        deputy::a_class_keeps_out_of_the_cluster_itself,
    );
    all.extend(tests!(lab, Alone:
        audit::another_grant_is_one,
        open::an_open_fence_stops_the_mint,
        open::an_operator_that_is_told_to_goes_on,
    ));
    all
}

fn main() -> ExitCode {
    let lab = Arc::new(Lab::new(env!("CARGO_CRATE_NAME")));
    lab.play(AT_ONCE, trials(&lab), vec![])
}
