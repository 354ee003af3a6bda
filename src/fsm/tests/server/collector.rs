//! The garbage collector: what goes with its owners, what stays, and what it strikes out.
use super::object::{Finalizer, Object, Piece, Propagation, Uid};
use super::{Address, Server};

impl<K: Address> Server<K> {
    /// The garbage collector, until it has nothing more to do.
    pub fn collect(&mut self) {
        let next = |server: &Self| server.objects.iter().find_map(|(k, o)| Some((k.clone(), server.collected(k, o)?)));
        while let Some((key, object)) = next(self) {
            match object {
                Some(object) => self.put(&key, object),
                None => drop(self.delete(&key, None, Propagation::Background)),
            }
        }
    }

    /// What the collector makes of an object, where it makes anything of it: another one, or nothing at all.
    fn collected(&self, key: &K, object: &Object) -> Option<Option<Object>> {
        let goes_by = |o: &Object, way: Finalizer| o.deleting && o.pieces.contains_key(&Piece::Finalizer(way));
        let way = [Finalizer::Orphan, Finalizer::Foreground].into_iter().find(|way| goes_by(object, *way));
        if let Some(way) = way
            && !self.objects.values().any(|d| d.owners().any(|(uid, _)| uid == object.uid))
        {
            return object.without(|piece| *piece == Piece::Finalizer(way)).map(Some);
        }
        let owner = |uid: Uid| self.find(uid).and_then(|at| Some((at, self.get(at)?)));
        let left_behind = |uid| owner(uid).is_some_and(|(_, o)| goes_by(o, Finalizer::Orphan));
        if let Some(next) = object.without(|piece| matches!(piece, Piece::Owner(uid) if left_behind(*uid))) {
            return Some(Some(next));
        }
        // a cluster-wide object cannot say in which namespace its owner was: it is left alone for ever
        if object.deleting || (key.namespace().is_none() && object.owners().any(|(_, namespaced)| namespaced)) {
            return None;
        }
        let near = |at: &K| at.namespace().is_none() || at.namespace() == key.namespace();
        let stays = |uid| owner(uid).is_some_and(|(at, o)| near(at) && !goes_by(o, Finalizer::Foreground));
        let next = object.without(|piece| matches!(piece, Piece::Owner(uid) if !stays(*uid)))?;
        let left = next.owners().next().is_some();
        Some(left.then_some(next))
    }
}
