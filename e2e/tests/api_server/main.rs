//! What the project believes of the API server, held to the real one: the pure model that the tests of the core stand on, and
//! the comparison of what is wanted with what is stored.
//!
//! A control plane without a node and without the product serves the suite: nobody but a test writes. A sample runs by
//! default, the rest as ignored tests; `BANLIEUE_SEED` asks for other chances than those of last time.
mod model;
mod real;
mod shapes;
mod stage;
mod story;

use banlieue_suite::{lab, tests};
use lab::{Lab, Manner};
use libtest_mimic::Trial;
use stage::Stage;
use std::ops::Range;
use std::process::ExitCode;
use std::sync::Arc;

/// How many stories the sample tells, and each chapter of the whole.
const STORIES: [u64; 2] = [60, 200];
/// How many chapters the whole has.
const CHAPTERS: u64 = 20;

fn trials(lab: &Arc<Lab<Stage>>) -> Vec<Trial> {
    let stories = |manner: Manner, name: &str, numbers: Range<u64>| {
        lab.trial(manner, name, async move |stage: &Stage| model::agrees(stage, numbers).await)
    };
    let [sample, each] = STORIES;
    let chapter = |number: u64| {
        let first = sample + number * each;
        stories(Manner::Long, &format!("model::agrees_in_chapter_{number}"), first..first + each)
    };
    // a story keeps the API server busy
    let mut all = vec![stories(Manner::Alone, "model::agrees", 0..sample)];
    all.extend((0..CHAPTERS).map(chapter));
    all.extend(tests!(lab, Beside: shapes::classes_are_stored_as_they_were_wanted));
    all.extend(tests!(lab, Long: shapes::many_classes_are_stored_as_they_were_wanted));
    all
}

fn main() -> ExitCode {
    let lab = Arc::new(Lab::new(env!("CARGO_CRATE_NAME")));
    lab.play(2, trials(&lab), vec![])
}
