//! [`Object`]: what is stored, piece by piece, and whose each piece is.
use std::collections::{BTreeMap, BTreeSet};

/// A uid, never given twice.
pub type Uid = u32;

/// A piece of an object that a manager can own by itself.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub enum Piece {
    /// A field of the body.
    Field(u8),
    /// A finalizer.
    Finalizer(Finalizer),
    /// A reference to the owner of this uid; its value tells whether the owner's kind is namespaced.
    Owner(Uid),
}

impl Piece {
    /// Whether it is a finalizer.
    pub(super) fn holds(&self) -> bool {
        matches!(self, Piece::Finalizer(_))
    }
}

/// Who holds an object back.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub enum Finalizer {
    /// The operator.
    Ours,
    /// Somebody else.
    Foreign,
    /// The collector, until it has released the dependents.
    Orphan,
    /// The collector, until the dependents are gone.
    Foreground,
}

/// Who writes. Server-side apply remembers who owns what.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum Manager {
    /// The operator's applies.
    Operator = 1,
    /// Another's applies.
    Other = 2,
    /// Whoever creates, patches and edits.
    Person = 4,
}

/// What an apply is conditional on.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum Guard {
    /// Nothing.
    Any,
    /// Nothing may be there (`resourceVersion: "1"`).
    Absent,
    /// The object of this uid has to be there.
    Uid(Uid),
}

/// What becomes of the dependents of a deleted object.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum Propagation {
    /// They go after it.
    Background,
    /// They go before it.
    Foreground,
    /// They stay.
    Orphan,
}

/// The value of a piece, and the managers that own it as bits.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub struct Held {
    pub(super) value: u32,
    pub(super) managers: u8,
}

/// What is stored of one object.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub struct Object {
    /// Its uid.
    pub uid: Uid,
    /// Whether its deletion was asked.
    pub deleting: bool,
    pub(super) pieces: BTreeMap<Piece, Held>,
}

impl Object {
    /// What a piece says.
    pub fn value(&self, piece: Piece) -> Option<u32> {
        self.pieces.get(&piece).map(|held| held.value)
    }

    /// Everything it consists of.
    pub fn pieces(&self) -> impl Iterator<Item = (Piece, u32)> {
        self.pieces.iter().map(|(piece, held)| (*piece, held.value))
    }

    /// What holds it back.
    pub fn finalizers(&self) -> BTreeSet<Finalizer> {
        let of = |piece: &Piece| if let Piece::Finalizer(finalizer) = piece { Some(*finalizer) } else { None };
        self.pieces.keys().filter_map(of).collect()
    }

    /// The uids of its owners, and whether each is within a namespace.
    pub fn owners(&self) -> impl Iterator<Item = (Uid, bool)> {
        let of = |(piece, value)| if let Piece::Owner(uid) = piece { Some((uid, value != 0)) } else { None };
        self.pieces().filter_map(of)
    }

    /// It without some of its pieces, where it has any of them.
    pub(super) fn without(&self, test: impl Fn(&Piece) -> bool) -> Option<Self> {
        let mut next = self.clone();
        next.pieces.retain(|piece, _| !test(piece));
        (next.pieces.len() < self.pieces.len()).then_some(next)
    }

    /// Whether one of these managers owns a finalizer.
    pub(super) fn lists(&self, managers: u8) -> bool {
        self.pieces.iter().any(|(piece, held)| piece.holds() && held.managers & managers != 0)
    }

    /// The API server's own finalizer, which is no manager's.
    pub(super) fn hold_by_server(&mut self, finalizer: Finalizer) {
        self.pieces.insert(Piece::Finalizer(finalizer), Held { value: 0, managers: 0 });
    }

    pub(super) fn set(&mut self, piece: Piece, value: u32, manager: Manager) {
        self.pieces.insert(piece, Held { value, managers: manager as u8 });
    }
}
