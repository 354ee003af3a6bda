//! Every kill point: stop after each effect of each plan, plan anew from what is stored, and end where the fault-free
//! run ends (I9). The model refuses what the server would refuse, and holds I1, I2 and I7 at every write.
use super::model::{Model, Stored};
use crate::fsm::*;

/// How many rounds any story may take.
const ROUNDS: usize = 40;

/// Runs until nothing is owed any more. Dies once, after `kill` effects, and starts again from what is stored.
fn run(mut model: Model, kill: Option<usize>) -> (Model, usize) {
    let mut done = 0;
    for _ in 0..ROUNDS {
        if !model.provider {
            model.settle();
            return (model, done);
        }
        let plan = model.plan();
        if plan.effects().is_empty() && plan.wake() != Wake::Again {
            let before = model.outcome();
            model.settle();
            if model.plan().effects().is_empty() && model.outcome() == before {
                return (model, done);
            }
            continue;
        }
        for effect in plan.effects() {
            if kill == Some(done) {
                done += 1;
                break;
            }
            model.apply(effect);
            done += 1;
        }
        model.settle();
    }
    panic!("no rest after {ROUNDS} rounds: {model:?}");
}

/// What somebody does to a Provider that has come to rest.
type Story = fn(&mut Model);

const STORIES: &[(&str, Story)] = &[
    ("create", |_| ()),
    ("class edit", |m| m.revision += 1),
    ("other backend", |m| m.backend = 1),
    ("moved away", |m| m.away = !m.away),
    ("other backend and away", |m| {
        m.backend = 1;
        m.away = !m.away;
    }),
    ("account deleted", |m| {
        m.objects.remove(&m.wanted(Part::ServiceAccount));
    }),
    ("all deleted", |m| m.objects.clear()),
    ("paused and drifted", |m| {
        m.paused = true;
        m.objects.remove(&m.wanted(Part::Role));
    }),
    ("class deleted", |m| m.class = false),
    ("deleted", |m| m.deletion = Deletion::Requested),
    ("deleted while paused", |m| {
        m.paused = true;
        m.deletion = Deletion::Requested;
    }),
    ("deleted without class", |m| {
        m.class = false;
        m.deletion = Deletion::Requested;
    }),
    ("deleted half moved", |m| {
        m.backend = 1;
        m.away = !m.away;
        m.objects.remove(&m.wanted(Part::Deployment));
        m.deletion = Deletion::Requested;
    }),
    ("deleted and orphaned", |m| {
        m.objects.values_mut().for_each(|o| o.owned = false);
        m.deletion = Deletion::Requested;
    }),
    ("foreign in the way", |m| {
        m.backend = 1;
        m.objects.insert(m.wanted(Part::Role), Stored { uid: 999, stamp: None, owned: false, body: 0 });
    }),
];

#[test]
fn every_kill_point_ends_where_the_fault_free_run_ends() {
    for (name, story) in STORIES {
        for away in [false, true] {
            tell(name, *story, away);
        }
    }
}

fn tell(name: &str, story: Story, away: bool) {
    let (mut rest, creating) = run(Model::new(away), None);
    // killed while it was created
    for kill in 0..creating {
        assert_eq!(
            run(Model::new(away), Some(kill)).0.outcome(),
            rest.outcome(),
            "{name}: killed after {kill} effects"
        );
    }
    story(&mut rest);
    rest.settle();
    let (end, effects) = run(rest.clone(), None);
    if end.deletion != Deletion::No {
        assert!(!end.provider && end.objects.values().all(|o| o.stamp.is_none()), "{name}: nothing is left: {end:?}");
    }
    for kill in 0..effects {
        let (killed, _) = run(rest.clone(), Some(kill));
        assert_eq!(killed.outcome(), end.outcome(), "{name}: killed after {kill} effects");
        let counted = |model: &Model| model.log.iter().filter(|e| e.starts_with("create")).count();
        assert_eq!(counted(&killed), counted(&end), "{name}: no create is sent twice");
    }
}
