//! What tests of several backends stand on: an authority, and servers on this machine.
use super::{Credentials, Keeper, Meter, Target};
use crate::k8s::crd::{Backend, FindingReason as Reason};
use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair, date_time_ymd};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::{RootCertStore, ServerConfig};
use std::net::SocketAddr;
use std::sync::Arc;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;

/// Marks a secret; nothing that is shown may ever contain it.
pub(super) const SECRET: &str = "hunter2";

/// An authority of its own.
pub(super) struct Authority {
    pub(super) pem: String,
    issuer: Issuer<'static, KeyPair>,
}

/// A certificate and its key, in PEM.
pub(super) struct Pair {
    pub(super) certificate: String,
    pub(super) key: String,
}

impl Authority {
    pub(super) fn new() -> Self {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let mut params = CertificateParams::new([]).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().unwrap();
        Self { pem: params.self_signed(&key).unwrap().pem(), issuer: Issuer::new(params, key) }
    }

    /// A certificate for names or addresses, good until the first day of a year.
    pub(super) fn issue(&self, names: &[&str], until: i32) -> Pair {
        let mut params = CertificateParams::new(names.iter().map(|n| (*n).to_owned()).collect::<Vec<_>>()).unwrap();
        (params.not_before, params.not_after) = (date_time_ymd(2020, 1, 1), date_time_ymd(until, 1, 1));
        let key = KeyPair::generate().unwrap();
        Pair { certificate: params.signed_by(&key, &self.issuer).unwrap().pem(), key: key.serialize_pem() }
    }

    /// The TLS of a server; where `clients` are named, only theirs are let in.
    pub(super) fn acceptor(&self, names: &[&str], until: i32, clients: Option<&Authority>) -> TlsAcceptor {
        let Pair { certificate, key } = self.issue(names, until);
        let builder = match clients {
            None => ServerConfig::builder().with_no_client_auth(),
            Some(clients) => {
                let mut roots = RootCertStore::empty();
                roots.add(CertificateDer::from_pem_slice(clients.pem.as_bytes()).unwrap()).unwrap();
                let verifier = WebPkiClientVerifier::builder(roots.into()).build().unwrap();
                ServerConfig::builder().with_client_cert_verifier(verifier)
            }
        };
        let chain = vec![CertificateDer::from_pem_slice(certificate.as_bytes()).unwrap()];
        let key = PrivateKeyDer::from_pem_slice(key.as_bytes()).unwrap();
        TlsAcceptor::from(Arc::new(builder.with_single_cert(chain, key).unwrap()))
    }
}

/// Serves each connection in turn, on a free port of `address`.
pub(super) async fn serve<F>(address: &str, serve: impl Fn(TcpStream) -> F + Send + 'static) -> SocketAddr
where
    F: Future<Output = ()> + Send,
{
    let listener = TcpListener::bind((address, 0)).await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            serve(stream).await;
        }
    });
    address
}

/// Reads the head of each request and answers as `answer` says, until the client is gone.
pub(super) async fn speak_http(mut stream: impl AsyncRead + AsyncWrite + Unpin, answer: impl Fn(&str) -> String) {
    let mut head = Vec::new();
    while let Ok(byte) = stream.read_u8().await {
        head.push(byte);
        if head.ends_with(b"\r\n\r\n") {
            let text = String::from_utf8(std::mem::take(&mut head)).unwrap();
            if stream.write_all(answer(&text).as_bytes()).await.is_err() {
                return;
            }
            let _ = stream.flush().await;
        }
    }
}

/// A target with keys of a Secret.
pub(super) fn target(endpoint: String, ca: Option<&Authority>, secret: &[(&str, &str)]) -> Target {
    let secret = secret.iter().map(|(key, value)| ((*key).to_owned(), value.as_bytes().to_vec()));
    Target {
        endpoint,
        insecure_skip_tls_verify: false,
        ca_bundle: ca.map(|ca| ca.pem.clone().into_bytes()),
        credentials: Credentials::new(secret),
    }
}

/// What a look at a target ends in, and its sentence.
pub(super) async fn meets(backend: Backend, target: &Target) -> (Reason, String) {
    let outcome = Keeper::new(backend, Meter::default()).probe(target, true).await;
    let shown = format!("{outcome:?}");
    assert!(!shown.contains(SECRET), "{shown}");
    let last = outcome.findings.last().unwrap();
    assert!(last.message.len() < 400, "{}", last.message);
    (last.reason, last.message.clone())
}
