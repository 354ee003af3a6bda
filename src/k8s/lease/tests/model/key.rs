//! What of a [`World`] decides what can follow, in few bytes.
use super::world::{Candidate, Step, Stored, TICK, World};
use crate::k8s::lease::{Record, Timing};
use std::time::{Duration, Instant};

impl World {
    /// What of a state decides what can follow: ages in place of times, equality in place of numbers.
    pub(super) fn key(&self, timing: Timing) -> Vec<u8> {
        let mut key = Key { bytes: Vec::with_capacity(48), times: Vec::new(), versions: Vec::new() };
        let age = |at: Instant, cap: Duration| (self.now - at).min(cap + TICK).as_secs() as u8;
        key.stored(&self.lease);
        key.bytes.extend([self.troubles, self.gap.into()]);
        for Candidate { election, step, adrift } in &self.candidates {
            match &election.seen {
                None => key.bytes.push(0),
                Some((record, since)) => {
                    key.bytes.push(1 + age(*since, timing.lease));
                    key.record(record.as_ref());
                }
            }
            key.bytes.push(election.renewed.map_or(0, |at| 1 + age(at, timing.renew)));
            match step {
                Step::Idle => key.bytes.push(0),
                Step::Reads(stored) => {
                    key.bytes.push(1);
                    key.stored(stored);
                }
                Step::Decides(over) => {
                    key.bytes.push(2);
                    key.version(*over);
                }
                Step::Puts { over, sent, taken } => {
                    key.bytes.extend([3, age(*sent, timing.renew), taken.map_or(2, u8::from)]);
                    key.version(*over);
                }
            }
            key.bytes.push(adrift.is_some().into());
            key.version(adrift.flatten());
        }
        key.bytes
    }
}

/// A state in few bytes. Times of renewal and versions are numbered in the order in which they are met.
struct Key {
    bytes: Vec<u8>,
    times: Vec<String>,
    versions: Vec<u32>,
}

impl Key {
    fn stored(&mut self, stored: &Stored) {
        self.record(stored.as_ref().map(|(record, _)| record));
        self.version(stored.as_ref().map(|(_, version)| *version));
    }

    fn record(&mut self, record: Option<&Record>) {
        let holder = record.map_or(0, |r| r.holder.bytes().next().unwrap_or(1));
        let time = record.and_then(|r| r.renewed.as_ref()).map_or(0, |time| number(&mut self.times, time));
        self.bytes.extend([holder, time]);
    }

    fn version(&mut self, version: Option<u32>) {
        let version = version.map_or(0, |version| number(&mut self.versions, &version));
        self.bytes.push(version);
    }
}

/// The place of `one` among those that were met, from 1.
fn number<T: Clone + PartialEq>(met: &mut Vec<T>, one: &T) -> u8 {
    let at = met.iter().position(|known| known == one).unwrap_or_else(|| {
        met.push(one.clone());
        met.len() - 1
    });
    at as u8 + 1
}
