//! HTTP to a backend: trust, limits, and the names of what can go wrong.
use super::Target;
use crate::k8s::crd::{Finding, FindingReason as Reason};
use reqwest::{Certificate, Client, Response, Url};
use rustls::{CertificateError, InvalidMessage};
use std::error::Error;
use std::io::ErrorKind;
use std::time::Duration;

/// A connection that is not made after this long is not made.
const CONNECT: Duration = Duration::from_secs(5);

/// A client that trusts what the target says, follows no redirect and keeps its one connection open.
///
/// The image has no certificates of a system: Mozilla's are built in. A `caBundle` takes their place, so that nobody
/// else's authority can vouch for a backend whose own is named.
///
/// # Errors
/// When the CA bundle holds no certificate.
pub(super) fn client(target: &Target) -> Result<Client, Finding> {
    let invalid = |why: &str| Finding::new(Reason::CABundleInvalid, format!("the caBundle {why}"));
    let mut roots = Vec::new();
    if let Some(pem) = &target.ca_bundle {
        let ours = Certificate::from_pem_bundle(pem).map_err(|_| invalid("is not PEM"))?;
        if ours.is_empty() {
            return Err(invalid("holds no certificate in PEM"));
        }
        roots.extend(ours);
    }
    let own = roots.len();
    if own == 0 {
        let built_in = webpki_root_certs::TLS_SERVER_ROOT_CERTS.iter();
        roots.extend(built_in.filter_map(|der| Certificate::from_der(der).ok()));
    }
    Client::builder()
        .tls_certs_only(roots)
        .tls_danger_accept_invalid_certs(target.insecure_skip_tls_verify)
        .redirect(reqwest::redirect::Policy::none())
        .no_proxy()
        .http1_only()
        .pool_max_idle_per_host(1)
        .connect_timeout(CONNECT)
        .user_agent(concat!("banlieue/", env!("CARGO_PKG_VERSION")))
        .build()
        .map_err(|_| match own {
            0 => Finding::new(Reason::EndpointInvalid, "no client could be made for the endpoint"),
            _ => invalid("holds something that is no certificate"),
        })
}

/// The URL of an endpoint; `path` where it has none.
///
/// # Errors
/// When it is no `https` or `http` URL, or carries a user or a password. The value is not repeated: it may hold a secret.
pub(super) fn endpoint(text: &str, path: &str) -> Result<Url, Finding> {
    let invalid = |why: &str| Finding::new(Reason::EndpointInvalid, format!("the endpoint {why}"));
    let mut url = Url::parse(text).map_err(|_| invalid("is no URL"))?;
    if !matches!(url.scheme(), "https" | "http") {
        return Err(invalid("must begin with https:// or http://"));
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(invalid("must not contain a user or a password"));
    }
    if url.path() == "/" {
        url.set_path(path);
    }
    Ok(url)
}

/// The body of an answer, of at most `limit` bytes.
pub(super) async fn body(mut answer: Response, limit: usize) -> Result<Vec<u8>, Finding> {
    let too_large = || Finding::new(Reason::AnswerTooLarge, format!("the answer is larger than {} MiB", limit >> 20));
    if answer.content_length().is_some_and(|length| length > limit as u64) {
        return Err(too_large());
    }
    let mut body = Vec::new();
    while let Some(chunk) = answer.chunk().await.map_err(|e| failure(&e))? {
        if body.len() + chunk.len() > limit {
            return Err(too_large());
        }
        body.extend_from_slice(&chunk);
    }
    Ok(body)
}

/// What an HTTP status says by itself, where it is no answer of the backend's own.
pub(super) fn status(answer: &Response) -> Option<Finding> {
    let status = answer.status();
    let reason = match status.as_u16() {
        200 | 500 => return None,
        300..=399 => Reason::Redirected,
        502..=504 => Reason::BackendUnavailable,
        _ => Reason::UnexpectedAnswer,
    };
    Some(Finding::new(reason, format!("the endpoint answers HTTP {status}")))
}

/// What kept a request from being answered.
pub(super) fn failure(error: &reqwest::Error) -> Finding {
    let mut next: Option<&(dyn Error + 'static)> = Some(error);
    let mut deepest = String::new();
    while let Some(cause) = next {
        let text = cause.to_string();
        if let Some(tls) = cause.downcast_ref::<rustls::Error>() {
            return tls_failure(tls);
        }
        if text.contains("dns error") {
            return Finding::new(Reason::NameNotResolved, "the name of the endpoint has no address");
        }
        let io = cause.downcast_ref::<std::io::Error>();
        match io.map(std::io::Error::kind) {
            Some(ErrorKind::ConnectionRefused) => return Finding::new(Reason::ConnectionRefused, "connection refused"),
            Some(ErrorKind::TimedOut) => return timed_out(error),
            _ => {}
        }
        deepest = text;
        // What an io::Error wraps is no `source` of it.
        next = match io.and_then(std::io::Error::get_ref) {
            Some(inner) => Some(inner),
            None => cause.source(),
        };
    }
    if error.is_timeout() {
        return timed_out(error);
    }
    Finding::new(Reason::ConnectionFailed, deepest)
}

fn timed_out(error: &reqwest::Error) -> Finding {
    let what = if error.is_connect() { "no connection in time" } else { "connected, but no answer in time" };
    Finding::new(Reason::TimedOut, what)
}

fn tls_failure(error: &rustls::Error) -> Finding {
    let reason = match error {
        rustls::Error::InvalidCertificate(certificate) => match certificate {
            CertificateError::UnknownIssuer => Reason::CertificateUntrusted,
            CertificateError::Expired
            | CertificateError::ExpiredContext { .. }
            | CertificateError::NotValidYet
            | CertificateError::NotValidYetContext { .. } => Reason::CertificateExpired,
            CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
                Reason::CertificateNameMismatch
            }
            _ => Reason::CertificateUnusable,
        },
        rustls::Error::InvalidMessage(InvalidMessage::InvalidContentType | InvalidMessage::UnknownProtocolVersion) => {
            Reason::NotTLS
        }
        _ => Reason::ConnectionFailed,
    };
    Finding::new(reason, error.to_string())
}
