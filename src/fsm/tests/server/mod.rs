//! A small pure model of the API server and its garbage collector: uids, guards, finalizers, owner references, and who
//! owns what under server-side apply. The crash tests and the search stand on it; a live suite holds it to the real one.
#![allow(unreachable_pub, reason = "that live suite is another crate and reads this file too")]
mod collector;
mod object;

use crate::fsm::Fault;
pub use object::{Finalizer, Guard, Manager, Object, Piece, Propagation, Uid};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Debug;
use std::sync::Arc;

/// Where an object is.
pub trait Address: Clone + Debug + Ord {
    /// Its namespace; `None` where its kind is cluster-wide.
    fn namespace(&self) -> Option<&str>;
}

/// Everything that is stored. A clone is cheap: it shares the objects.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub struct Server<K> {
    /// The objects by their addresses.
    pub objects: BTreeMap<K, Arc<Object>>,
    next: Uid,
}

impl<K> Default for Server<K> {
    fn default() -> Self {
        Self { objects: BTreeMap::new(), next: 1 }
    }
}

impl<K: Address> Server<K> {
    /// What is stored there.
    pub fn get(&self, key: &K) -> Option<&Object> {
        self.objects.get(key).map(|object| &**object)
    }

    /// The address of a uid.
    pub fn find(&self, uid: Uid) -> Option<&K> {
        self.objects.iter().find(|(_, object)| object.uid == uid).map(|(key, _)| key)
    }

    /// A create by name.
    pub fn create(&mut self, key: &K, pieces: &[(Piece, u32)]) -> Result<Uid, Fault> {
        if self.objects.contains_key(key) {
            Err(Fault::Conflict)
        } else {
            Ok(self.insert(key, pieces, Manager::Person))
        }
    }

    fn insert(&mut self, key: &K, pieces: &[(Piece, u32)], manager: Manager) -> Uid {
        let mut object = Object { uid: self.next, deleting: false, pieces: BTreeMap::new() };
        self.next += 1;
        pieces.iter().for_each(|(piece, value)| object.set(*piece, *value, manager));
        let uid = object.uid;
        self.objects.insert(key.clone(), Arc::new(object));
        uid
    }

    /// A server-side apply: what the manager owned and no longer names goes, what another owns is a conflict or is taken.
    pub fn apply(
        &mut self,
        key: &K,
        manager: Manager,
        guard: Guard,
        force: bool,
        wanted: &[(Piece, u32)],
    ) -> Result<Uid, Fault> {
        let Some(stored) = self.objects.get(key) else {
            return match guard {
                Guard::Uid(_) => Err(Fault::Conflict),
                Guard::Any | Guard::Absent => Ok(self.insert(key, wanted, manager)),
            };
        };
        if guard == Guard::Absent {
            return Err(Fault::Conflict);
        }
        let (mut object, bit) = ((**stored).clone(), manager as u8);
        let named = |piece: &Piece| wanted.iter().any(|(w, _)| w == piece);
        let had_listed = object.lists(bit);
        object.pieces.retain(|piece, held| {
            let left = held.managers & !bit;
            let dropped = held.managers & bit != 0 && !named(piece);
            held.managers = if dropped { left } else { held.managers };
            !dropped || left != 0
        });
        // who drops the last finalizer that anybody names drops the list, and with it what the API server put there itself
        if had_listed && !object.lists(u8::MAX) && !wanted.iter().any(|(piece, _)| piece.holds()) {
            object.pieces.retain(|piece, _| !piece.holds());
        }
        for (piece, value) in wanted {
            match object.pieces.get_mut(piece) {
                Some(held) if held.value == *value => held.managers |= bit,
                Some(held) if held.managers & !bit != 0 && !force => return Err(Fault::Conflict),
                _ => object.set(*piece, *value, manager),
            }
        }
        // the uid is looked at after the conflicts
        let uid = object.uid;
        match guard {
            Guard::Uid(wanted) if wanted != uid => Err(Fault::Stale),
            _ => self.store(key, object).map(|()| uid),
        }
    }

    /// A person's edit: what it sets is theirs, what stays as it is stays whose it was.
    pub fn patch(&mut self, key: &K, changes: &[(Piece, Option<u32>)]) -> Result<(), Fault> {
        let mut object = self.get(key).ok_or(Fault::NotFound)?.clone();
        for (piece, change) in changes {
            match change {
                None => drop(object.pieces.remove(piece)),
                Some(value) if object.value(*piece) == Some(*value) => {}
                Some(value) => object.set(*piece, *value, Manager::Person),
            }
        }
        self.store(key, object)
    }

    /// The finalizer patch: it tests the uid and the finalizers that it replaces.
    pub fn finalize(
        &mut self,
        key: &K,
        uid: Uid,
        before: &BTreeSet<Finalizer>,
        after: &BTreeSet<Finalizer>,
    ) -> Result<(), Fault> {
        let stored = self.get(key).ok_or(Fault::NotFound)?;
        if stored.uid != uid || stored.finalizers() != *before {
            return Err(Fault::Stale);
        }
        let on = after.difference(before).map(|f| (Piece::Finalizer(*f), Some(0)));
        let off = before.difference(after).map(|f| (Piece::Finalizer(*f), None));
        self.patch(key, &on.chain(off).collect::<Vec<_>>())
    }

    /// A delete; what holds finalizers stays until the last is off.
    pub fn delete(&mut self, key: &K, uid: Option<Uid>, propagation: Propagation) -> Result<(), Fault> {
        let mut object = self.get(key).ok_or(Fault::NotFound)?.clone();
        if uid.is_some_and(|uid| uid != object.uid) {
            return Err(Fault::Conflict);
        }
        // the way that is asked for last is the way it goes
        object.pieces.remove(&Piece::Finalizer(Finalizer::Orphan));
        object.pieces.remove(&Piece::Finalizer(Finalizer::Foreground));
        match propagation {
            Propagation::Background => {}
            Propagation::Foreground => object.hold_by_server(Finalizer::Foreground),
            Propagation::Orphan => object.hold_by_server(Finalizer::Orphan),
        }
        object.deleting = true;
        self.put(key, object);
        Ok(())
    }

    /// Takes a change in. What is being deleted gets no finalizer more.
    fn store(&mut self, key: &K, object: Object) -> Result<(), Fault> {
        let before = self.get(key).ok_or(Fault::NotFound)?;
        if object.deleting && !object.finalizers().is_subset(&before.finalizers()) {
            return Err(Fault::Stale);
        }
        self.put(key, object);
        Ok(())
    }

    fn put(&mut self, key: &K, object: Object) {
        if object.deleting && object.finalizers().is_empty() {
            self.objects.remove(key);
        } else {
            self.objects.insert(key.clone(), Arc::new(object));
        }
    }
}
