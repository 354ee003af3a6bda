//! [`Story`]: what a few hands do to a few objects, by chance, told to the model as it goes on.
use crate::stage::NAMESPACES;
use banlieue::fsm::Fault as Refused;
use banlieue_machine::fsm::Fault;
use banlieue_machine::server::{Address, Finalizer, Guard, Manager, Piece, Propagation, Server, Uid};
use std::collections::BTreeSet;

/// The kinds that take part: of ours and of Kubernetes, cluster-wide and not.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(crate) enum Kind {
    Provider,
    ProviderClass,
    ServiceAccount,
    Role,
    ClusterRoleBinding,
}

/// An object of a story.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(crate) struct Key {
    pub(crate) kind: Kind,
    pub(crate) namespace: Option<&'static str>,
}

impl Address for Key {
    fn namespace(&self) -> Option<&str> {
        self.namespace
    }
}

/// The objects of a story.
pub(crate) const KEYS: [Key; 6] = [
    Key { kind: Kind::Provider, namespace: Some(NAMESPACES[0]) },
    Key { kind: Kind::ProviderClass, namespace: None },
    Key { kind: Kind::ServiceAccount, namespace: Some(NAMESPACES[0]) },
    Key { kind: Kind::Role, namespace: Some(NAMESPACES[0]) },
    Key { kind: Kind::Role, namespace: Some(NAMESPACES[1]) },
    Key { kind: Kind::ClusterRoleBinding, namespace: None },
];
/// Those of them that own others.
const OWNERS: [Key; 3] = [KEYS[0], KEYS[1], KEYS[2]];

/// One write.
#[derive(Clone, Debug)]
pub(crate) enum Write {
    Create(Vec<(Piece, u32)>),
    Apply { manager: Manager, guard: Guard, force: bool, pieces: Vec<(Piece, u32)> },
    Edit(Vec<(Piece, Option<u32>)>),
    Finalize { uid: Uid, before: BTreeSet<Finalizer>, after: BTreeSet<Finalizer> },
    Delete { uid: Option<Uid>, propagation: Propagation },
}

/// A story so far.
pub(crate) struct Story {
    chance: fastrand::Rng,
    /// What the model says.
    pub(crate) server: Server<Key>,
    /// Every uid of an owner that there ever was, and whose it was.
    pub(crate) owners: Vec<(Uid, Key)>,
    /// Every uid that there ever was.
    uids: Vec<Uid>,
    /// Whether the binding gets owners within a namespace, which it cannot have. Then it gets no others: what the collector
    /// makes of both together depends on what it has looked at before.
    astray: bool,
}

impl Story {
    /// One that has not begun.
    pub(crate) fn new(seed: u64) -> Self {
        let mut chance = fastrand::Rng::with_seed(seed);
        let astray = chance.bool();
        Self { chance, server: Server::default(), owners: vec![], uids: vec![], astray }
    }

    /// What somebody does next: more often what makes sense than what does not.
    pub(crate) fn next(&mut self) -> (Key, Write) {
        let key = KEYS[self.chance.usize(..KEYS.len())];
        let stored = self.server.get(&key).map(|o| (o.uid, o.finalizers()));
        let Some((uid, finalizers)) = stored else {
            let write = match self.chance.u8(..10) {
                0..4 => Write::Create(self.pieces(key)),
                4..9 => self.apply(key, None),
                _ => Write::Delete { uid: None, propagation: self.propagation() },
            };
            return (key, write);
        };
        let write = match self.chance.u8(..20) {
            0 => Write::Create(self.pieces(key)),
            1..8 => self.apply(key, Some(uid)),
            8..11 => Write::Edit(self.edits()),
            11..15 => {
                let before = if self.chance.u8(..6) == 0 { BTreeSet::new() } else { finalizers };
                let mut after = before.clone();
                let flipped = if self.chance.bool() { Finalizer::Ours } else { Finalizer::Foreign };
                if !after.remove(&flipped) {
                    after.insert(flipped);
                }
                Write::Finalize { uid: self.uid_near(uid), before, after }
            }
            _ => {
                let uid = if self.chance.bool() { None } else { Some(self.uid_near(uid)) };
                Write::Delete { uid, propagation: self.propagation() }
            }
        };
        (key, write)
    }

    /// Tells the model; the uid where the object may be a new one.
    pub(crate) fn tell(&mut self, key: Key, write: &Write) -> Result<Option<Uid>, Refused> {
        let server = &mut self.server;
        let told = match write {
            Write::Create(pieces) => server.create(&key, pieces).map(Some),
            Write::Apply { manager, guard, force, pieces } => {
                server.apply(&key, *manager, *guard, *force, pieces).map(Some)
            }
            Write::Edit(changes) => server.patch(&key, changes).map(|()| None),
            Write::Finalize { uid, before, after } => server.finalize(&key, *uid, before, after).map(|()| None),
            Write::Delete { uid, propagation } => server.delete(&key, *uid, *propagation).map(|()| None),
        };
        if let Ok(Some(uid)) = told
            && !self.uids.contains(&uid)
        {
            self.uids.push(uid);
            if OWNERS.contains(&key) {
                self.owners.push((uid, key));
            }
        }
        told.map_err(the_products)
    }

    /// The kinds of what an object owns.
    pub(crate) fn dependents(&self, key: Key) -> BTreeSet<Kind> {
        let uid = self.server.get(&key).map(|o| o.uid);
        let owned = self.server.objects.iter().filter(|(_, o)| o.owners().any(|(owner, _)| Some(owner) == uid));
        owned.map(|(key, _)| key.kind).collect()
    }

    /// Mostly this one, sometimes one of the past.
    fn uid_near(&mut self, uid: Uid) -> Uid {
        if self.chance.u8(..5) == 0 { self.uids[self.chance.usize(..self.uids.len())] } else { uid }
    }

    fn propagation(&mut self) -> Propagation {
        match self.chance.u8(..6) {
            0 => Propagation::Orphan,
            1 => Propagation::Foreground,
            _ => Propagation::Background,
        }
    }

    fn apply(&mut self, key: Key, stored: Option<Uid>) -> Write {
        let manager = if self.chance.u8(..3) == 0 { Manager::Other } else { Manager::Operator };
        let guard = match (self.chance.u8(..4), stored) {
            (0, Some(uid)) => Guard::Uid(self.uid_near(uid)),
            (1, _) => Guard::Absent,
            (2, None) if !self.uids.is_empty() => Guard::Uid(self.uids[self.chance.usize(..self.uids.len())]),
            _ => Guard::Any,
        };
        Write::Apply { manager, guard, force: self.chance.bool(), pieces: self.pieces(key) }
    }

    fn pieces(&mut self, at: Key) -> Vec<(Piece, u32)> {
        let mut pieces = Vec::new();
        for field in 0..3 {
            if self.chance.bool() {
                pieces.push((Piece::Field(field), self.chance.u32(1..3)));
            }
        }
        for finalizer in [Finalizer::Ours, Finalizer::Foreign] {
            if self.chance.u8(..6) == 0 {
                pieces.push((Piece::Finalizer(finalizer), 0));
            }
        }
        let (server, chance, astray) = (&self.server, &mut self.chance, self.astray);
        // an owner that goes after its dependents is not looked at again when one more turns up: nobody should make one
        let goes = |key: &Key| server.get(key).is_some_and(|o| o.finalizers().contains(&Finalizer::Foreground));
        // what owns each other in a circle goes in an order of chance
        let older = |uid: Uid| server.get(&at).is_none_or(|o| uid < o.uid);
        let reaches = |key: &Key| match at.kind {
            Kind::ProviderClass => key.namespace.is_none(),
            Kind::ClusterRoleBinding => key.namespace.is_some() == astray,
            Kind::Provider | Kind::ServiceAccount | Kind::Role => true,
        };
        let may = |(uid, key): &&(Uid, Key)| !goes(key) && older(*uid) && reaches(key);
        for (uid, key) in self.owners.iter().rev().filter(may).take(4) {
            if chance.u8(..3) == 0 {
                pieces.push((Piece::Owner(*uid), key.namespace.is_some().into()));
            }
        }
        pieces
    }

    fn edits(&mut self) -> Vec<(Piece, Option<u32>)> {
        let change = |chance: &mut fastrand::Rng| (chance.u8(..3) > 0).then(|| chance.u32(1..4));
        (0..3)
            .filter(|_| self.chance.bool())
            .collect::<Vec<u8>>()
            .into_iter()
            .map(|f| (Piece::Field(f), change(&mut self.chance)))
            .collect()
    }
}

/// The model's word for a refusal as the product's: the same source, built twice.
fn the_products(fault: Fault) -> Refused {
    match fault {
        Fault::Conflict => Refused::Conflict,
        Fault::Stale => Refused::Stale,
        Fault::Refused => Refused::Refused,
        Fault::NotFound => Refused::NotFound,
        Fault::NamespaceTerminating => Refused::NamespaceTerminating,
        Fault::Throttled => Refused::Throttled,
        Fault::Transport => Refused::Transport,
    }
}
