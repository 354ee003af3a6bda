//! Where a libvirt daemon listens, and which of its drivers is meant.
use crate::k8s::crd::{Backend, Finding, FindingReason as Reason};
use reqwest::Url;

/// Out of an endpoint such as `qemu+tls://host.example.com/system`.
#[derive(Debug, PartialEq)]
pub(super) struct Address {
    /// A name or an address, without brackets.
    pub(super) host: String,
    pub(super) port: u16,
    /// Whether it is to be encrypted.
    pub(super) tls: bool,
    /// What the daemon itself calls the driver, such as `qemu:///system`.
    pub(super) uri: String,
}

/// The ports of libvirt: over TLS, and in the clear.
const TLS: u16 = 16514;
const TCP: u16 = 16509;

/// Reads an endpoint.
///
/// # Errors
/// When it is none of libvirt's. The value is not repeated: it may hold a secret.
pub(super) fn parse(endpoint: &str) -> Result<Address, Finding> {
    let invalid = |why: &str| Finding::new(Reason::EndpointInvalid, format!("the endpoint {why}"));
    let url = Url::parse(endpoint).map_err(|_| invalid("is no URL"))?;
    let known = Backend::Libvirt.schemes();
    let scheme = known.iter().find(|s| **s == url.scheme());
    let (driver, transport) = scheme
        .and_then(|s| s.split_once('+'))
        .ok_or_else(|| invalid(&format!("must begin with one of {}", known.join("://, ") + "://")))?;
    if !url.username().is_empty() || url.password().is_some() {
        return Err(invalid("must not contain a user or a password"));
    }
    if url.query().is_some() || url.fragment().is_some() {
        return Err(invalid("must not contain ? or #: options are fields of spec.connection"));
    }
    let host = url.host_str().unwrap_or_default().trim_matches(['[', ']']);
    if host.is_empty() {
        return Err(invalid("names no host"));
    }
    let path = match (url.path(), driver) {
        ("" | "/", "test") => "/default",
        ("" | "/", _) => "/system",
        (path, _) => path,
    };
    let tls = transport == "tls";
    Ok(Address {
        host: host.to_owned(),
        port: url.port().unwrap_or(if tls { TLS } else { TCP }),
        tls,
        uri: format!("{driver}://{path}"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case::usual("qemu+tls://host.example.com/system", "host.example.com", 16514, true, "qemu:///system")]
    #[case::no_path("qemu+tls://host.example.com", "host.example.com", 16514, true, "qemu:///system")]
    #[case::port("qemu+tls://10.0.0.1:1234/session", "10.0.0.1", 1234, true, "qemu:///session")]
    #[case::ipv6("qemu+tls://[2001:db8::1]/system", "2001:db8::1", 16514, true, "qemu:///system")]
    #[case::ipv6_port("QEMU+TLS://[::1]:99/system", "::1", 99, true, "qemu:///system")]
    #[case::clear("test+tcp://127.0.0.1/default", "127.0.0.1", 16509, false, "test:///default")]
    #[case::test("test+tls://h/", "h", 16514, true, "test:///default")]
    fn reads(#[case] endpoint: &str, #[case] host: &str, #[case] port: u16, #[case] tls: bool, #[case] uri: &str) {
        let expected = Address { host: host.into(), port, tls, uri: uri.into() };
        assert_eq!(parse(endpoint), Ok(expected));
    }

    #[rstest]
    #[case::no_url("host")]
    #[case::no_host("qemu+tls:///system")]
    #[case::another_backend("https://vcenter/sdk")]
    #[case::ssh("qemu+ssh://host/system")]
    #[case::no_transport("qemu://host/system")]
    #[case::user("qemu+tls://hunter2@host/system")]
    #[case::option("qemu+tls://host/system?no_verify=1")]
    #[case::fragment("qemu+tls://host/system#hunter2")]
    #[case::port("qemu+tls://host:99999/system")]
    fn refuses(#[case] endpoint: &str) {
        let finding = parse(endpoint).unwrap_err();
        assert_eq!(finding.reason, Reason::EndpointInvalid);
        assert!(!finding.message.contains("hunter2"), "{}", finding.message);
    }
}
