//! Calls and answers as frames on a stream. Own code: the C library cannot be part of a static program, and no client in
//! Rust for the remote protocol is maintained.
use super::procedure::{self, Procedure};
use crate::backends::label::shown;
use crate::backends::{Meter, cause};
use crate::k8s::crd::{Finding, FindingReason as Reason};
use std::io::ErrorKind;
use std::time::{Duration, Instant};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::time::timeout;

/// The remote program and its version: they have not changed since 2007.
const PROGRAM: (u32, u32) = (0x2000_8086, 1);
/// A length and the six numbers of a header, in bytes; the length counts itself.
const HEADER: usize = 28;
/// The largest answer that is read: a list as long as the protocol allows, with names of a usual length.
const LARGEST: usize = 1 << 20;
/// What no libvirt sends: rather is it another protocol.
const ABSURD: usize = (32 << 20) + HEADER;
/// How many messages that nobody asked for may come before an answer.
const MOST_MESSAGES: usize = 16;
/// The time a call may take in all; tests have less of it.
const PATIENCE: Duration = Duration::from_secs(if cfg!(test) { 4 } else { 15 });

/// What a frame is: what we send, what answers it, what nobody asked for.
const CALL: u32 = 0;
const REPLY: u32 = 1;
const MESSAGE: u32 = 2;

/// Both directions of a connection.
pub(super) trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}
impl<S: AsyncRead + AsyncWrite + Send + Unpin> Stream for S {}

/// A connection, one call at a time. After a failure it is of no use: what comes next may be anything.
pub(super) struct Wire {
    stream: Box<dyn Stream>,
    serial: u32,
    meter: Meter,
}

/// Why a call had no result.
#[derive(Debug, PartialEq)]
pub(super) enum CallError {
    /// The host understood, and refused: libvirt's error code, and its words.
    Refused(u32, String),
    /// There was no answer, or none of libvirt.
    Failed(Finding),
}

impl Wire {
    pub(super) fn new(stream: impl Stream + 'static, meter: &Meter) -> Self {
        Self { stream: Box::new(stream), serial: 0, meter: meter.clone() }
    }

    /// Calls a procedure; the result is the body of its answer.
    pub(super) async fn call(&mut self, procedure: Procedure, arguments: &[u8]) -> Result<Vec<u8>, CallError> {
        let began = Instant::now();
        let result = match timeout(PATIENCE, self.exchange(procedure, arguments)).await {
            Ok(result) => result,
            Err(_) => Err(Finding::new(Reason::TimedOut, "connected, but no answer in time").into()),
        };
        self.meter.request(&format!("{procedure:?}"), began.elapsed());
        result
    }

    async fn exchange(&mut self, procedure: Procedure, arguments: &[u8]) -> Result<Vec<u8>, CallError> {
        self.serial = self.serial.wrapping_add(1);
        let frame = frame([PROGRAM.0, PROGRAM.1, procedure as u32, CALL, self.serial, 0], arguments);
        self.stream.write_all(&frame).await.map_err(broken)?;
        self.stream.flush().await.map_err(broken)?;
        for _ in 0..=MOST_MESSAGES {
            let (header, body) = self.receive().await?;
            let expected = [PROGRAM.0, PROGRAM.1, procedure as u32, REPLY, self.serial];
            match header {
                [program, version, _, MESSAGE, ..] if (program, version) == PROGRAM => {}
                [ref start @ .., 0] if *start == expected => return Ok(body),
                [ref start @ .., 1] if *start == expected => {
                    let (code, words) = procedure::refusal(&body).map_err(unexpected)?;
                    return Err(CallError::Refused(code, shown(&words)));
                }
                _ => return Err(unexpected("the answer belongs to another call")),
            }
        }
        Err(unexpected("the host sends much that nobody asked for"))
    }

    async fn receive(&mut self) -> Result<([u32; 6], Vec<u8>), CallError> {
        let length = self.stream.read_u32().await.map_err(broken)?;
        let length = usize::try_from(length).unwrap_or(usize::MAX);
        if !(HEADER..=ABSURD).contains(&length) {
            return Err(unexpected("what listens at the endpoint does not speak libvirt's protocol"));
        }
        if length > LARGEST {
            let message = format!("the answer is larger than {} MiB", LARGEST >> 20);
            return Err(Finding::new(Reason::AnswerTooLarge, message).into());
        }
        let mut header = [0; 6];
        for number in &mut header {
            *number = self.stream.read_u32().await.map_err(broken)?;
        }
        // Grows with what comes, not with what was promised.
        let mut body = Vec::new();
        let promised = length - HEADER;
        (&mut self.stream).take(promised as u64).read_to_end(&mut body).await.map_err(broken)?;
        if body.len() < promised {
            return Err(broken(ErrorKind::UnexpectedEof.into()));
        }
        Ok((header, body))
    }
}

/// A frame: its length, its header, its body.
pub(super) fn frame(header: [u32; 6], body: &[u8]) -> Vec<u8> {
    let length = u32::try_from(HEADER + body.len()).unwrap_or(u32::MAX);
    let mut frame: Vec<u8> = std::iter::once(length).chain(header).flat_map(u32::to_be_bytes).collect();
    frame.extend(body);
    frame
}

pub(super) fn unexpected(why: &str) -> CallError {
    Finding::new(Reason::UnexpectedAnswer, why).into()
}

fn broken(error: std::io::Error) -> CallError {
    match error.kind() {
        ErrorKind::UnexpectedEof | ErrorKind::ConnectionReset | ErrorKind::BrokenPipe => {
            Finding::new(Reason::ConnectionFailed, "the host closed the connection").into()
        }
        _ => cause::named(&error).into(),
    }
}

impl From<Finding> for CallError {
    fn from(finding: Finding) -> Self {
        CallError::Failed(finding)
    }
}
