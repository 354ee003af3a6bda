//! What the project believes of the API server, held to the real one: the pure model that the tests of the core stand on, and
//! the comparison of what is wanted with what is stored.
//!
//! A control plane without a node and without the product serves the suite: nobody but a test writes. A sample runs by
//! default; `BANLIEUE_LONG=1` asks for all of it, `BANLIEUE_SEED` for other chances than those of last time.
mod model;
mod real;
mod shapes;
mod stage;
mod story;

#[path = "../support/lab.rs"]
mod lab;

use lab::{Lab, Manner, tests};
use libtest_mimic::Trial;
use stage::{Stage, long};
use std::process::ExitCode;
use std::sync::Arc;

/// How many trials tell stories, and how many stories each tells: a sample in seconds, or a few thousand.
fn stories() -> (u64, u64) {
    if long() { (20, 200) } else { (1, 60) }
}

fn trials(lab: &Arc<Lab>) -> Vec<Trial> {
    let (chapters, each) = stories();
    let chapter = |number: u64| {
        let told = async move |stage: &Stage| model::agrees(stage, number * each..(number + 1) * each).await;
        // one keeps the API server busy
        lab.trial(Manner::Alone, &format!("model::agrees_{number}"), told)
    };
    let mut all: Vec<Trial> = (0..chapters).map(chapter).collect();
    all.extend(tests!(lab, Beside: shapes::every_shape_of_class_is_stored_as_it_was_wanted));
    all
}

fn main() -> ExitCode {
    let mut arguments = libtest_mimic::Arguments::from_args();
    arguments.test_threads.get_or_insert(2);
    let lab = Arc::new(Lab::new());
    let conclusion = libtest_mimic::run(&arguments, trials(&lab));
    lab.end(conclusion.has_failed());
    conclusion.exit_code()
}
