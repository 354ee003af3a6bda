//! The calls that are made, and what their answers hold; the numbers are those of libvirt's `remote_protocol.x`.
use super::xdr::{Reader, put_optional_string, put_u32};

/// A call of the remote program. Each name is the protocol's own.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(u32)]
pub(super) enum Procedure {
    ConnectOpen = 1,
    ConnectClose = 2,
    ConnectGetType = 3,
    ConnectGetVersion = 4,
    NodeGetInfo = 6,
    ConnectGetHostname = 59,
    AuthList = 66,
    ConnectGetLibVersion = 157,
    ConnectListAllStoragePools = 281,
    ConnectListAllNetworks = 283,
}

/// The longest string of an answer, in bytes.
const LONGEST: usize = 4096;
/// How many pools or networks the protocol allows in an answer.
const MOST: usize = 16384;
/// Of the ways to log in: none, as the certificate has said it all.
const AUTH_NONE: u32 = 0;
/// Nothing is ever changed over this connection.
const READ_ONLY: u32 = 1;

/// Opens a driver, such as `qemu:///system`.
pub(super) fn open(uri: &str) -> Vec<u8> {
    let mut arguments = Vec::new();
    put_optional_string(&mut arguments, uri);
    put_u32(&mut arguments, READ_ONLY);
    arguments
}

/// All of a list, whatever state they are in.
pub(super) fn all() -> Vec<u8> {
    let mut arguments = Vec::new();
    put_u32(&mut arguments, 1);
    put_u32(&mut arguments, 0);
    arguments
}

/// Whether one may go on without a login, out of the answer of AuthList.
pub(super) fn open_to_us(body: &[u8]) -> Result<bool, &'static str> {
    let mut reader = Reader::new(body);
    let ways = (0..reader.count(20)?).map(|_| reader.u32()).collect::<Result<Vec<_>, _>>()?;
    reader.end()?;
    Ok(ways.is_empty() || ways.contains(&AUTH_NONE))
}

/// A string that is the whole answer.
pub(super) fn text(body: &[u8]) -> Result<String, &'static str> {
    let mut reader = Reader::new(body);
    let text = reader.string(LONGEST)?;
    reader.end()?;
    Ok(text.to_owned())
}

/// A version that is the whole answer: a million for each major number, a thousand for each minor one.
pub(super) fn version(body: &[u8]) -> Result<String, &'static str> {
    let mut reader = Reader::new(body);
    let number = reader.u64()?;
    reader.end()?;
    Ok(format!("{}.{}.{}", number / 1_000_000, number / 1000 % 1000, number % 1000))
}

/// What the hardware is.
#[derive(Debug, PartialEq)]
pub(super) struct Node {
    pub(super) model: String,
    pub(super) kibibytes: u64,
    pub(super) processors: u32,
}

pub(super) fn node(body: &[u8]) -> Result<Node, &'static str> {
    let mut reader = Reader::new(body);
    // Each of its characters is a number of its own.
    let model = (0..32).map(|_| reader.u32()).collect::<Result<Vec<_>, _>>()?;
    let model = model.into_iter().map_while(|c| char::from_u32(c).filter(|c| *c != '\0')).collect();
    let node = Node { model, kibibytes: reader.u64()?, processors: reader.u32()? };
    for _mhz_nodes_sockets_cores_threads in 0..5 {
        reader.u32()?;
    }
    reader.end()?;
    Ok(node)
}

impl std::fmt::Display for Node {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let model: String = self.model.chars().filter(|c| c.is_ascii_graphic()).collect();
        write!(f, "{} CPUs ({model}), {} MiB of memory", self.processors, self.kibibytes >> 10)
    }
}

/// The names in a list of pools or networks; each has a uuid beside it.
pub(super) fn names(body: &[u8]) -> Result<Vec<String>, &'static str> {
    let mut reader = Reader::new(body);
    let mut names = Vec::new();
    for _ in 0..reader.count(MOST)? {
        names.push(reader.string(LONGEST)?.to_owned());
        reader.opaque(16)?;
    }
    reader.u32()?;
    reader.end()?;
    Ok(names)
}

/// An error's code and what the host says of it; what follows in the answer is for programs.
pub(super) fn refusal(body: &[u8]) -> Result<(u32, String), &'static str> {
    let mut reader = Reader::new(body);
    let (code, _domain) = (reader.u32()?, reader.u32()?);
    Ok((code, reader.optional_string(1 << 16)?.unwrap_or_default().to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn versions_and_nodes_read_as_people_write_them() {
        assert_eq!(version(&9_001_002_u64.to_be_bytes()), Ok("9.1.2".into()));
        let mut body: Vec<u8> = "i686".chars().flat_map(|c| u32::from(c).to_be_bytes()).collect();
        body.resize(128, 0);
        body.extend(3_145_728_u64.to_be_bytes());
        body.extend([16, 1400, 2, 2, 2, 2_u32].into_iter().flat_map(u32::to_be_bytes));
        assert_eq!(node(&body).unwrap().to_string(), "16 CPUs (i686), 3072 MiB of memory");
    }

    /// No body makes a reader panic, or hand out more than the body has.
    #[test]
    fn survive_anything() {
        proptest!(|(body in proptest::collection::vec(prop_oneof![Just(0), Just(1), any::<u8>()], 0..200))| {
            let _ = (open_to_us(&body), text(&body), version(&body), node(&body), refusal(&body));
            if let Ok(names) = names(&body) {
                prop_assert!(names.len() * 20 <= body.len());
            }
        });
    }
}
