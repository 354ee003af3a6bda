//! The garbage collector: what goes with its owners, what stays, and what it strikes out.
use super::object::{Finalizer, Object, Piece, Propagation, Uid};
use super::{Address, Server};

/// What the collector does with an object.
enum Verdict {
    Change(Object),
    Delete(Propagation),
}

impl<K: Address> Server<K> {
    /// The garbage collector, until it has nothing more to do.
    pub fn collect(&mut self) {
        let next = |server: &Self| server.objects.iter().find_map(|(k, o)| Some((k.clone(), server.collected(k, o)?)));
        while let Some((key, verdict)) = next(self) {
            match verdict {
                Verdict::Change(object) => self.put(&key, object),
                Verdict::Delete(propagation) => drop(self.delete(&key, None, propagation)),
            }
        }
    }

    /// What the collector makes of an object, where it makes anything of it.
    fn collected(&self, key: &K, object: &Object) -> Option<Verdict> {
        let goes_by = |o: &Object, way: Finalizer| o.deleting && o.pieces.contains_key(&Piece::Finalizer(way));
        let way = [Finalizer::Orphan, Finalizer::Foreground].into_iter().find(|way| goes_by(object, *way));
        let owns = self.objects.values().any(|d| d.owners().any(|(uid, _)| uid == object.uid));
        if let Some(way) = way
            && !owns
        {
            return object.without(|piece| *piece == Piece::Finalizer(way)).map(Verdict::Change);
        }
        let owner = |uid: Uid| self.find(uid).and_then(|at| Some((at, self.get(at)?)));
        let left_behind = |uid| owner(uid).is_some_and(|(_, o)| goes_by(o, Finalizer::Orphan));
        if let Some(next) = object.without(|piece| matches!(piece, Piece::Owner(uid) if left_behind(*uid))) {
            return Some(Verdict::Change(next));
        }
        // a cluster-wide object cannot say in which namespace its owner was: it is left alone for ever
        if object.deleting || (key.namespace().is_none() && object.owners().any(|(_, namespaced)| namespaced)) {
            return None;
        }
        let near = |at: &K| at.namespace().is_none() || at.namespace() == key.namespace();
        let stays = |uid| owner(uid).is_some_and(|(at, o)| near(at) && !goes_by(o, Finalizer::Foreground));
        let next = object.without(|piece| matches!(piece, Piece::Owner(uid) if !stays(*uid)))?;
        if next.owners().next().is_some() {
            return Some(Verdict::Change(next));
        }
        // what goes before its owner, and owns something itself, goes as its owner does
        let waited_for = |uid| owner(uid).is_some_and(|(at, o)| near(at) && goes_by(o, Finalizer::Foreground));
        let first = owns && object.owners().any(|(uid, _)| waited_for(uid));
        Some(Verdict::Delete(if first { Propagation::Foreground } else { Propagation::Background }))
    }
}
