//! Frames that no libvirt sends: one reason and one sentence each, in bounded memory.
use super::*;
use crate::backends::libvirt::wire::CallError;
use proptest::prelude::*;
use rstest::rstest;

/// A call to a host that answers with these bytes and hangs up.
async fn call(answer: &[u8]) -> Result<Vec<u8>, CallError> {
    let (ours, mut theirs) = tokio::io::duplex(1 << 22);
    let mut wire = Wire::new(ours, &Meter::default());
    theirs.write_all(answer).await.unwrap();
    theirs.shutdown().await.unwrap();
    wire.call(Procedure::NodeGetInfo, &[]).await
}

fn reply(start: [u32; 6], body: &[u8]) -> Vec<u8> {
    frame(start, body)
}

const GOOD: [u32; 6] = [PROGRAM, 1, 6, 1, 1, 0];

#[rstest]
#[case::nothing(vec![], Reason::ConnectionFailed)]
#[case::half_a_length(vec![0, 0], Reason::ConnectionFailed)]
#[case::no_length(vec![0; 4], Reason::UnexpectedAnswer)]
#[case::shorter_than_a_header(27_u32.to_be_bytes().to_vec(), Reason::UnexpectedAnswer)]
#[case::half_a_header([28_u32, PROGRAM].map(u32::to_be_bytes).concat(), Reason::ConnectionFailed)]
#[case::half_a_body(reply(GOOD, &[1; 100])[..60].to_vec(), Reason::ConnectionFailed)]
#[case::two_mebibytes((2_u32 << 20).to_be_bytes().to_vec(), Reason::AnswerTooLarge)]
#[case::two_gibibytes((2_u32 << 30).to_be_bytes().to_vec(), Reason::UnexpectedAnswer)]
#[case::http(b"HTTP/1.1 400 Bad Request\r\n\r\n".to_vec(), Reason::UnexpectedAnswer)]
#[case::ssh(b"SSH-2.0-OpenSSH_9.2\r\n".to_vec(), Reason::UnexpectedAnswer)]
#[case::tls_alert(vec![21, 3, 3, 0, 2, 2, 40], Reason::UnexpectedAnswer)]
#[case::another_program(reply([7, 1, 6, 1, 1, 0], &[]), Reason::UnexpectedAnswer)]
#[case::another_version(reply([PROGRAM, 2, 6, 1, 1, 0], &[]), Reason::UnexpectedAnswer)]
#[case::another_procedure(reply([PROGRAM, 1, 7, 1, 1, 0], &[]), Reason::UnexpectedAnswer)]
#[case::another_serial(reply([PROGRAM, 1, 6, 1, 2, 0], &[]), Reason::UnexpectedAnswer)]
#[case::a_call(reply([PROGRAM, 1, 6, 0, 1, 0], &[]), Reason::UnexpectedAnswer)]
#[case::many_messages(reply([PROGRAM, 1, 999, 2, 0, 0], &[0; 8]).repeat(100), Reason::UnexpectedAnswer)]
#[tokio::test]
async fn a_frame(#[case] answer: Vec<u8>, #[case] reason: Reason) {
    match call(&answer).await {
        Err(CallError::Failed(finding)) => assert_eq!(finding.reason, reason, "{finding:?}"),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn messages_that_nobody_asked_for_are_passed_over() {
    let mut answer = reply([PROGRAM, 1, 999, 2, 0, 0], &[0; 8]).repeat(3);
    answer.extend(reply(GOOD, b"body"));
    assert_eq!(call(&answer).await, Ok(b"body".to_vec()));
}

/// Whatever comes, a call ends.
#[test]
fn anything() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let bytes = proptest::collection::vec(any::<u8>(), 0..80);
    let number = prop_oneof![Just(0), Just(1), Just(6), Just(28), Just(60), Just(PROGRAM), any::<u32>()];
    let numbers = proptest::collection::vec(number, 0..8);
    proptest!(|(numbers in numbers, bytes in bytes)| {
        let mut answer: Vec<u8> = numbers.into_iter().flat_map(u32::to_be_bytes).collect();
        answer.extend(bytes);
        let _ = runtime.block_on(call(&answer));
    });
}

/// A host that hangs in the middle of an answer.
#[tokio::test]
async fn a_hang() {
    let (ours, mut theirs) = tokio::io::duplex(1 << 10);
    theirs.write_all(&reply(GOOD, &[1; 100])[..60]).await.unwrap();
    match Wire::new(ours, &Meter::default()).call(Procedure::NodeGetInfo, &[]).await {
        Err(CallError::Failed(finding)) => assert_eq!(finding.reason, Reason::TimedOut),
        other => panic!("{other:?}"),
    }
}
