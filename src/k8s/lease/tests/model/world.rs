//! [`World`]: two candidates, their Lease, and all that may come next.
use crate::k8s::lease::{Election, Next, Record, Timing};
use std::time::{Duration, Instant};

const NAMES: [&str; 2] = ["a", "b"];
const STRANGER: &str = "x";
/// One step of the model's clock.
pub(super) const TICK: Duration = Duration::from_secs(1);

/// Takes in a change that leads to one more state.
type Also<'a> = &'a mut dyn FnMut(&dyn Fn(&mut World));

/// A stored Lease, and its resourceVersion.
pub(super) type Stored = Option<(Record, u32)>;

/// What a candidate waits for.
#[derive(Clone, Debug)]
pub(super) enum Step {
    Idle,
    /// The answer to its GET is on its way.
    Reads(Stored),
    /// It has made up its mind to PUT over this version, and sleeps.
    Decides(Option<u32>),
    /// Its PUT is on its way; then whether it was taken, which is on its way back.
    Puts {
        over: Option<u32>,
        sent: Instant,
        taken: Option<bool>,
    },
}

#[derive(Clone, Debug)]
pub(super) struct Candidate {
    pub(super) election: Election,
    pub(super) step: Step,
    /// A PUT that it does not wait for any more, and that may still be taken.
    pub(super) adrift: Option<Option<u32>>,
}

#[derive(Clone, Debug)]
pub(super) struct World {
    pub(super) now: Instant,
    pub(super) lease: Stored,
    /// The last version, and the last time of renewal, that anything was written with.
    written: u32,
    pub(super) candidates: [Candidate; 2],
    /// How much may still go wrong: answers that are lost, processes that end, hands that edit.
    pub(super) troubles: u8,
    /// A hand deleted the Lease and nobody has put it back: who starts just now cannot know that there was a holder.
    pub(super) gap: bool,
}

impl World {
    pub(super) fn new(timing: Timing, troubles: u8) -> Self {
        let candidate = |name| Candidate { election: Election::new(name, timing), step: Step::Idle, adrift: None };
        Self { now: Instant::now(), lease: None, written: 0, candidates: NAMES.map(candidate), troubles, gap: false }
    }

    pub(super) fn leaders(&self) -> usize {
        self.candidates.iter().filter(|c| c.election.leads(self.now)).count()
    }

    fn store(&mut self, record: Record) {
        self.written += 1;
        self.lease = Some((record, self.written));
        self.gap = false;
    }

    /// A PUT of candidate `who` arrives.
    fn put(&mut self, who: usize, over: Option<u32>, timing: Timing) -> bool {
        let taken = self.lease.as_ref().map(|(_, version)| *version) == over;
        if taken {
            let renewed = Some((self.written + 1).to_string());
            self.store(Record { holder: NAMES[who].into(), renewed, lasts: timing.lease });
        }
        taken
    }

    /// The next of what candidate `who` does where everything works.
    fn proceed(&mut self, who: usize, timing: Timing) {
        let now = self.now;
        let step = std::mem::replace(&mut self.candidates[who].step, Step::Idle);
        self.candidates[who].step = match step {
            Step::Idle => Step::Reads(self.lease.clone()),
            Step::Reads(seen) => {
                let next = self.candidates[who].election.look(now, seen.as_ref().map(|(record, _)| record));
                match next {
                    Next::Wait(_) => Step::Idle,
                    Next::Acquire | Next::Renew => Step::Decides(seen.map(|(_, version)| version)),
                }
            }
            Step::Decides(over) => Step::Puts { over, sent: now, taken: None },
            Step::Puts { over, sent, taken: None } => {
                Step::Puts { over, sent, taken: Some(self.put(who, over, timing)) }
            }
            Step::Puts { sent, taken: Some(taken), .. } => {
                if taken {
                    self.candidates[who].election.written(sent);
                }
                Step::Idle
            }
        };
    }

    /// The candidate waits no longer: its answer is lost, or its PUT still under way.
    fn give_up(&mut self, who: usize) {
        let candidate = &mut self.candidates[who];
        if let Step::Puts { over, taken: None, .. } = candidate.step {
            candidate.adrift = Some(over);
        }
        candidate.step = Step::Idle;
    }

    /// The process ends and begins anew, under the name that it had.
    fn restart(&mut self, who: usize, timing: Timing) {
        self.give_up(who);
        self.candidates[who].election = Election::new(NAMES[who], timing);
    }

    /// Every state that may come next.
    pub(super) fn next(&self, timing: Timing) -> Vec<World> {
        let mut next = Vec::new();
        let mut also = |go: &dyn Fn(&mut World)| {
            let mut world = self.clone();
            go(&mut world);
            next.push(world);
        };
        also(&|w| w.now += TICK);
        for who in 0..NAMES.len() {
            also(&|w| w.proceed(who, timing));
            if let Some(over) = self.candidates[who].adrift {
                also(&|w| {
                    w.candidates[who].adrift = None;
                    w.put(who, over, timing);
                });
            }
        }
        if self.troubles > 0 {
            self.trouble(timing, &mut |go| {
                let mut world = self.clone();
                world.troubles -= 1;
                go(&mut world);
                next.push(world);
            });
        }
        next
    }

    /// What may go wrong.
    fn trouble(&self, timing: Timing, also: Also<'_>) {
        for (who, name) in NAMES.into_iter().enumerate() {
            if !matches!(self.candidates[who].step, Step::Idle) {
                also(&|w| w.give_up(who));
            }
            if self.gap {
                continue;
            }
            also(&|w| w.restart(who, timing));
            if let Some((record, _)) = self.lease.as_ref().filter(|(record, _)| record.holder == name) {
                // it ends as it should, and gives the Lease back
                also(&|w| {
                    w.restart(who, timing);
                    w.store(Record { holder: String::new(), renewed: None, ..record.clone() });
                });
            }
        }
        if let Some((record, _)) = &self.lease {
            for holder in ["", STRANGER] {
                also(&|w| w.store(Record { holder: holder.into(), ..record.clone() }));
            }
            let known = |c: &Candidate| c.election.seen.is_some() && !matches!(c.step, Step::Reads(None));
            if self.candidates.iter().all(known) {
                also(&|w| (w.lease, w.gap) = (None, true));
            }
        }
    }

    /// Whether nothing is under way: each state leads to such a one without a step that can fail.
    pub(super) fn quiet(&self) -> bool {
        self.candidates.iter().all(|c| matches!(c.step, Step::Idle) && c.adrift.is_none())
    }

    /// Whether one leads once requests are answered, nobody crashes and no hand comes.
    pub(super) fn recovers(mut self, timing: Timing) -> bool {
        let ticks = 2 * (timing.lease + timing.retry).as_secs();
        for _ in 0..ticks {
            for who in 0..NAMES.len() {
                // what is under way, then a whole round
                for _ in 0..9 {
                    self.proceed(who, timing);
                }
            }
            self.now += TICK;
        }
        self.leaders() == 1
    }
}
