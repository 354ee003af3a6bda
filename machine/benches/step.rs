//! What one decision costs: nanoseconds for people, and for the check how many times a clone of what it reads, both taken in
//! one run, so that a busy machine fails nothing.
#[path = "../../src/fsm/tests/fixture.rs"]
#[expect(dead_code, reason = "the tests use the rest")]
mod fixture;

use banlieue_machine::fsm::{self, *};
use fixture::{but, deleting, drifted, new, ready};
use std::hint::black_box;
use std::process::ExitCode;
use std::time::{Duration, Instant};

/// A step may cost this many clones of its observation. It takes one to eight, the most where there is least to clone.
const CLONES: f64 = 25.0;
/// How often each is done in a row, and how many rows are run: the best row counts.
const TIMES: u32 = 20_000;
const ROWS: usize = 15;

fn best(mut go: impl FnMut()) -> Duration {
    let row = |_| {
        let began = Instant::now();
        (0..TIMES).for_each(|_| go());
        began.elapsed() / TIMES
    };
    (0..ROWS).map(row).min().unwrap_or_default()
}

fn main() -> ExitCode {
    let cases = [
        ("nothing exists yet", new()),
        ("at rest", ready()),
        ("one object drifted", but(Part::Role, drifted())),
        ("being deleted", deleting(vec![])),
    ];
    let mut dear = false;
    for (name, seen) in cases {
        let first = step(None, &seen, Default::default());
        let told = first.effects().iter().find_map(|effect| match effect {
            Effect::ReportWorkload(status) => Some((**status).clone()),
            _ => None,
        });
        let clone = best(|| drop(black_box(black_box(&seen).clone())));
        let cost = best(|| drop(black_box(step(black_box(told.as_ref()), black_box(&seen), Default::default()))));
        let clones = cost.as_secs_f64() / clone.as_secs_f64();
        println!("figure: step, {name}: {} ns, {clones:.1} clones of its observation", cost.as_nanos());
        dear |= clones > CLONES;
    }
    if dear {
        eprintln!("a step costs more than {CLONES} clones of its observation");
        return ExitCode::FAILURE;
    }
    ExitCode::SUCCESS
}
