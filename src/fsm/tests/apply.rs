//! Server-side apply on the model, as the real API server was seen to do it.
use super::server::{Address, Guard, Manager, Piece, Server, Uid};
use crate::fsm::Fault;

impl Address for &'static str {
    fn namespace(&self) -> Option<&str> {
        Some("n")
    }
}

const A: Piece = Piece::Field(0);
const B: Piece = Piece::Field(1);

fn applied(server: &mut Server<&'static str>, by: Manager, force: bool, wanted: &[(Piece, u32)]) -> Result<Uid, Fault> {
    server.apply(&"o", by, Guard::Any, force, wanted)
}

fn stored(server: &Server<&'static str>) -> Vec<(Piece, u32)> {
    server.get(&"o").expect("stored").pieces().collect()
}

#[test]
fn what_a_manager_no_longer_names_goes_unless_another_owns_it_too() {
    let mut server = Server::default();
    applied(&mut server, Manager::Operator, false, &[(A, 1), (B, 1)]).expect("made");
    applied(&mut server, Manager::Other, false, &[(A, 1)]).expect("the same value is shared");
    applied(&mut server, Manager::Operator, false, &[]).expect("given up");
    assert_eq!(stored(&server), [(A, 1)]);
    applied(&mut server, Manager::Other, false, &[]).expect("given up");
    assert_eq!(stored(&server), []);
}

#[test]
fn what_another_owns_is_a_conflict_or_is_taken() {
    let mut server = Server::default();
    applied(&mut server, Manager::Operator, false, &[(A, 1)]).expect("made");
    assert_eq!(applied(&mut server, Manager::Other, false, &[(A, 2)]), Err(Fault::Conflict));
    applied(&mut server, Manager::Other, true, &[(A, 2)]).expect("taken by force");
    // it is no longer the first one's to give up
    applied(&mut server, Manager::Operator, false, &[]).expect("nothing of its own");
    assert_eq!(stored(&server), [(A, 2)]);
}

#[test]
fn a_persons_edit_is_theirs() {
    let mut server = Server::default();
    applied(&mut server, Manager::Operator, false, &[(A, 1)]).expect("made");
    server.patch(&"o", &[(A, Some(1)), (B, Some(5))]).expect("edited");
    assert_eq!(
        applied(&mut server, Manager::Operator, false, &[(A, 2)]).map(drop),
        Ok(()),
        "an edit that changes nothing owns nothing"
    );
    server.patch(&"o", &[(A, Some(3))]).expect("edited");
    assert_eq!(applied(&mut server, Manager::Operator, false, &[(A, 2)]), Err(Fault::Conflict));
    applied(&mut server, Manager::Operator, true, &[(A, 2)]).expect("put back");
    assert_eq!(stored(&server), [(A, 2), (B, 5)], "and what they added stays");
}
