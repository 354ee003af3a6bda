//! The client against a host that is played here, in frames; the live suites have Debian's libvirtd.
mod certificates;
mod frames;
mod host;

use super::wire::{Wire, frame};
use super::*;
use crate::backends::fixture::{self, Authority, meets, target};
use crate::backends::{Keeper, Outcome};
use crate::k8s::crd::Backend;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};

/// The remote program.
const PROGRAM: u32 = 0x2000_8086;

/// What a host answers to a procedure: a status and a body.
type Answers = fn(u32) -> (u32, Vec<u8>);

/// Plays a host until its client is gone.
async fn play(stream: impl AsyncRead + AsyncWrite + Unpin, answers: Answers) {
    play_some(stream, answers, usize::MAX).await;
}

/// Plays a host that hangs up after some calls.
async fn play_some(mut stream: impl AsyncRead + AsyncWrite + Unpin, answers: Answers, calls: usize) {
    for _ in 0..calls {
        let Ok(length) = stream.read_u32().await else { return };
        let mut call = vec![0; length as usize - 4];
        stream.read_exact(&mut call).await.unwrap();
        let number = |at: usize| u32::from_be_bytes(call[at * 4..][..4].try_into().unwrap());
        let (procedure, serial) = (number(2), number(4));
        let (status, body) = answers(procedure);
        if stream.write_all(&frame([PROGRAM, 1, procedure, 1, serial, status], &body)).await.is_err() {
            return;
        }
    }
}

fn string(text: &str) -> Vec<u8> {
    let mut body = Vec::new();
    xdr::put_optional_string(&mut body, text);
    body.split_off(4)
}

fn list(names: &[&str]) -> Vec<u8> {
    let mut body = (names.len() as u32).to_be_bytes().to_vec();
    for name in names {
        body.extend(string(name));
        body.extend([7; 16]);
    }
    body.extend((names.len() as u32).to_be_bytes());
    body
}

fn node() -> Vec<u8> {
    let mut body: Vec<u8> = "x86_64".chars().flat_map(|c| u32::from(c).to_be_bytes()).collect();
    body.resize(128, 0);
    body.extend((8_u64 << 20).to_be_bytes());
    body.extend([4_u32, 2000, 1, 1, 4, 1].into_iter().flat_map(u32::to_be_bytes));
    body
}

/// An error as libvirt writes it: code, domain, message, and what is for programs.
fn error(code: u32, message: &str) -> (u32, Vec<u8>) {
    let mut body = [code, 7].into_iter().flat_map(u32::to_be_bytes).collect();
    xdr::put_optional_string(&mut body, message);
    body.extend([0; 32]);
    (1, body)
}

/// A host as it should be.
fn good(procedure: u32) -> (u32, Vec<u8>) {
    let body = match procedure {
        66 => vec![0, 0, 0, 1, 0, 0, 0, 0],
        1 | 2 => vec![],
        3 => string("QEMU"),
        4 => 9_001_000_u64.to_be_bytes().to_vec(),
        157 => 11_003_000_u64.to_be_bytes().to_vec(),
        6 => node(),
        59 => string("Node1.example.com"),
        281 => list(&["images", "default"]),
        283 => list(&["default"]),
        other => return error(39, &format!("unknown procedure: {other}")),
    };
    (0, body)
}

async fn probe(answers: Answers) -> Outcome {
    let address = fixture::serve("127.0.0.1", move |stream| play(stream, answers)).await;
    let target = target(format!("qemu+tcp://{address}/system"), None, &[]);
    Keeper::new(Backend::Libvirt, Meter::default()).probe(&target, true).await
}
