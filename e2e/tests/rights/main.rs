//! Rights: what each role is granted is what it uses, no more and no less.
//!
//! One cluster without a node, the product installed by its own installer, each role a process of this machine under the
//! token of its own account. A [life](lives) of a role is a short script that uses all that the role is granted; nothing is
//! refused to it. With one right taken away, something is.
mod ablation;
mod lives;
mod markers;
mod stage;
mod token;
mod used;

use banlieue_suite::{grants, lab, operator, tests, until};
use lab::Lab;
use stage::Stage;
use std::process::ExitCode;
use std::sync::Arc;

fn main() -> ExitCode {
    let lab = Arc::new(Lab::<Stage>::new(env!("CARGO_CRATE_NAME")));
    let mut trials = tests!(lab, Alone:
        used::is_what_is_granted,
        token::a_pod_may_do_what_its_role_says_and_nothing_else,
        ablation::a_right_that_is_missing_is_missed,
        markers::nothing_secret_is_told,
    );
    trials.extend(tests!(lab, Long:
        ablation::each_right_of_the_operator,
        ablation::each_right_of_the_controller,
        ablation::each_right_of_a_pod,
        ablation::each_right_of_a_pod_of_a_namespace,
    ));
    lab.play(1, trials, vec![])
}
