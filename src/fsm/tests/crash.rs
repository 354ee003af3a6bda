//! Every kill point: stop after each effect of each plan, plan anew from what is stored, and end where the fault-free
//! run ends (I9). The model refuses what the server would refuse, and I1, I2 and I7 are held at every write.
use super::server::{Finalizer, Piece, Propagation};
use super::world::{PROVIDER, Step, World};
use crate::fsm::*;

/// How many rounds any story may take.
const ROUNDS: usize = 40;

/// A run to its end: what there is, and how many effects and creates it took.
struct Run {
    world: World,
    effects: usize,
    creates: usize,
}

/// Runs until nothing is owed any more. Dies once, after `kill` effects, and starts again from what is stored.
fn run(mut world: World, kill: Option<usize>) -> Run {
    let (mut effects, mut creates) = (0, 0);
    for _ in 0..ROUNDS {
        let view = world.clone();
        let plan = view.plan();
        for step in &plan {
            effects += 1;
            if kill == Some(effects - 1) {
                break;
            }
            creates += usize::from(matches!(step, Step::Create(_)));
            world.carry_out(&view, *step).unwrap_or_else(|fault| panic!("{step:?}: {fault:?}: {world:?}"));
            assert!(world.grants(view.uid()) == 0 || world.finalizer(), "I1, I2: {step:?}: {world:?}");
        }
        world.settle();
        assert!(world.writers() <= 1, "one writer at a time: {:?}", world.pods);
        if plan.is_empty() && world == view {
            return Run { world, effects, creates };
        }
    }
    panic!("no rest after {ROUNDS} rounds: {world:?}");
}

/// What an outsider sees at the end: everything but uids.
fn outcome(world: &World) -> String {
    let objects: Vec<_> = world.server.objects.keys().collect();
    format!("{:?} {} {:?} {objects:?}", world.deletion(), world.finalizer(), world.status)
}

/// What somebody does to a Provider that has come to rest.
type Story = fn(&mut World);

fn drop_object(world: &mut World, part: Part) {
    let key = world.wanted(part);
    world.server.delete(&key, None, Propagation::Background).expect("it is there");
}

fn drop_all(world: &mut World) {
    Part::ALL.into_iter().for_each(|part| drop_object(world, part));
}

const STORIES: &[(&str, Story)] = &[
    ("create", |_| ()),
    ("class edit", |w| w.revision += 1),
    ("other backend", |w| w.backend = 1),
    ("moved away", |w| w.away = !w.away),
    ("other backend and away", |w| {
        w.backend = 1;
        w.away = !w.away;
    }),
    ("account deleted", |w| drop_object(w, Part::ServiceAccount)),
    ("all deleted", drop_all),
    ("paused and drifted", |w| {
        w.paused = true;
        drop_object(w, Part::Role);
    }),
    ("class deleted", |w| w.class = false),
    ("deleted", |w| w.delete(Propagation::Background)),
    ("deleted in the foreground", |w| w.delete(Propagation::Foreground)),
    ("deleted and orphaned", |w| w.delete(Propagation::Orphan)),
    ("deleted under a foreign finalizer", |w| {
        let foreign = Piece::Finalizer(Finalizer::Foreign);
        w.server.patch(&PROVIDER, &[(foreign, Some(0))]).expect("it lives");
        w.delete(Propagation::Background);
    }),
    ("deleted while paused", |w| {
        w.paused = true;
        w.delete(Propagation::Background);
    }),
    ("deleted without class", |w| {
        w.class = false;
        w.delete(Propagation::Background);
    }),
    ("deleted half moved", |w| {
        drop_object(w, Part::Deployment);
        w.backend = 1;
        w.away = !w.away;
        w.delete(Propagation::Background);
    }),
    ("foreign in the way", |w| {
        w.backend = 1;
        w.server.create(&w.wanted(Part::Role), &[]).expect("the name is free");
    }),
];

#[test]
fn every_kill_point_ends_where_the_fault_free_run_ends() {
    let told: Vec<_> = STORIES.iter().flat_map(|s| [false, true].map(|away| tell(s.0, s.1, away))).collect();
    println!("told {} stories, killed at {} points", told.len(), told.iter().sum::<usize>());
}

/// Tells one story, and how many kill points it has.
fn tell(name: &str, story: Story, away: bool) -> usize {
    let mut born = World::new(away);
    born.register();
    let created = run(born.clone(), None);
    for kill in 0..created.effects {
        let killed = run(born.clone(), Some(kill));
        assert_eq!(outcome(&killed.world), outcome(&created.world), "{name}: killed after {kill} effects");
    }
    let mut rest = created.world;
    story(&mut rest);
    rest.settle();
    let end = run(rest.clone(), None);
    if rest.deletion() != Deletion::No {
        // what others hold keeps what it owns until they let go
        let left =
            if end.world.provider().is_some() { end.world.grants(rest.uid()) } else { end.world.server.objects.len() };
        assert!(left == 0 && !end.world.finalizer(), "{name}: nothing is left: {:?}", end.world);
    }
    for kill in 0..end.effects {
        let killed = run(rest.clone(), Some(kill));
        assert_eq!(outcome(&killed.world), outcome(&end.world), "{name}: killed after {kill} effects");
        assert_eq!(killed.creates, end.creates, "{name}: no create is sent twice");
    }
    created.effects + end.effects
}
