//! The way to the host: name, connection, TLS with a certificate on both sides.
use super::address::Address;
use super::wire::{Stream, Wire};
use crate::backends::{Meter, Target, cause, tls};
use crate::k8s::crd::{Finding, FindingReason as Reason};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{AlertDescription, ClientConfig, Error as TlsError};
use std::io::{Error, ErrorKind};
use std::sync::Arc;
use std::time::Duration;
use tokio::io::AsyncReadExt;
use tokio::net::{TcpStream, lookup_host};
use tokio::time::timeout;
use tokio_rustls::TlsConnector;

/// A connection that is not made after this long is not made; the same for what TLS adds.
const CONNECT: Duration = Duration::from_secs(5);
/// What the host sends once it has accepted our certificate.
const ACCEPTED: u8 = 1;

/// What it takes to reach one host.
pub(super) struct Dial {
    address: Address,
    /// Nothing, where it is not encrypted.
    tls: Option<(TlsConnector, ServerName<'static>)>,
}

impl Dial {
    /// For a target; nothing is sent yet.
    pub(super) fn new(address: Address, target: &Target) -> Result<Self, Finding> {
        let tls = match address.tls {
            false => None,
            true => {
                let name = ServerName::try_from(address.host.clone())
                    .map_err(|_| Finding::new(Reason::EndpointInvalid, "the endpoint's host is no DNS name"))?;
                Some((TlsConnector::from(Arc::new(config(target)?)), name))
            }
        };
        Ok(Self { address, tls })
    }

    /// The name that the endpoint has for the host.
    pub(super) fn host(&self) -> &str {
        &self.address.host
    }

    /// The driver to open there.
    pub(super) fn uri(&self) -> &str {
        &self.address.uri
    }

    /// Connects, and is let in.
    pub(super) async fn connect(&self, meter: &Meter) -> Result<Wire, Finding> {
        let stream = in_time("no connection in time", self.stream()).await?;
        let Some((connector, name)) = &self.tls else { return Ok(Wire::new(stream, meter)) };
        let handshake = connector.connect(name.clone(), stream);
        let handshake =
            async { handshake.await.map_err(|error| refused(&error).unwrap_or_else(|| cause::named(&error))) };
        let mut stream = in_time("connected, but no TLS in time", handshake).await?;
        in_time("connected, but the host says nothing to our certificate", accepted(&mut stream)).await?;
        Ok(Wire::new(stream, meter))
    }

    async fn stream(&self) -> Result<TcpStream, Finding> {
        let Address { host, port, .. } = &self.address;
        let no_address = |_| Finding::new(Reason::NameNotResolved, "the name of the endpoint has no address");
        let addresses: Vec<_> = lookup_host((host.as_str(), *port)).await.map_err(no_address)?.collect();
        TcpStream::connect(addresses.as_slice()).await.map_err(|error| cause::named(&error))
    }
}

async fn in_time<T>(otherwise: &str, step: impl Future<Output = Result<T, Finding>>) -> Result<T, Finding> {
    timeout(CONNECT, step).await.unwrap_or_else(|_| Err(Finding::new(Reason::TimedOut, otherwise)))
}

/// The host looks at our certificate only after the handshake: it says that it will do, or hangs up.
async fn accepted(stream: &mut impl Stream) -> Result<(), Finding> {
    const HUNG_UP: &str = "the host hung up right after the handshake, as it does over a client certificate that it does not accept; its log says why";
    match stream.read_u8().await {
        Ok(ACCEPTED) => Ok(()),
        Ok(_) => Err(Finding::new(Reason::UnexpectedAnswer, "what listens at the endpoint is no libvirt")),
        Err(error) => Err(match (refused(&error), error.kind()) {
            (Some(finding), _) => finding,
            (None, ErrorKind::UnexpectedEof | ErrorKind::ConnectionReset) => {
                Finding::new(Reason::ClientCertificateRefused, HUNG_UP)
            }
            (None, _) => cause::named(&error),
        }),
    }
}

/// An alert that is about our certificate.
fn refused(error: &Error) -> Option<Finding> {
    use AlertDescription::{AccessDenied, BadCertificate, CertificateExpired, CertificateRequired, CertificateRevoked};
    use AlertDescription::{CertificateUnknown, DecryptError, UnknownCA, UnsupportedCertificate};
    match error.get_ref()?.downcast_ref::<TlsError>()? {
        TlsError::AlertReceived(
            alert @ (AccessDenied
            | BadCertificate
            | CertificateExpired
            | CertificateRequired
            | CertificateRevoked
            | CertificateUnknown
            | DecryptError
            | UnknownCA
            | UnsupportedCertificate),
        ) => {
            let message = format!("the host does not accept the client certificate ({alert:?}); its log says why");
            Some(Finding::new(Reason::ClientCertificateRefused, message))
        }
        _ => None,
    }
}

/// Whom to trust, and the client's certificate and key: `tls.crt` and `tls.key` of the Secret.
fn config(target: &Target) -> Result<ClientConfig, Finding> {
    const CERTIFICATE: &str = "tls.crt";
    const KEY: &str = "tls.key";
    let malformed =
        |key: &str, what: &str| Finding::new(Reason::SecretKeyMalformed, format!("the key {key} of the Secret {what}"));
    let chain = CertificateDer::pem_slice_iter(target.credentials.bytes(CERTIFICATE)?);
    let chain: Vec<_> = chain.collect::<Result<_, _>>().map_err(|_| malformed(CERTIFICATE, "is not PEM"))?;
    let first = chain.first().ok_or_else(|| malformed(CERTIFICATE, "holds no certificate in PEM"))?;
    if let Some(out) = tls::out_of_dates(first) {
        return Err(malformed(CERTIFICATE, &format!("holds a certificate whose time it is not: {out}")));
    }
    let key = PrivateKeyDer::from_pem_slice(target.credentials.bytes(KEY)?)
        .map_err(|_| malformed(KEY, "holds no private key in PEM; one with a passphrase cannot be used"))?;
    tls::trusting(target)?.with_client_auth_cert(chain, key).map_err(|error| match error {
        TlsError::InconsistentKeys(_) => malformed(KEY, "does not belong to tls.crt"),
        TlsError::InvalidCertificate(_) => malformed(CERTIFICATE, "holds something that is no certificate"),
        _ => malformed(KEY, "holds a private key of a kind that cannot be used"),
    })
}
