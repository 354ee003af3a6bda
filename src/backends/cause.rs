//! What keeps a connection from working, by its name.
use crate::k8s::crd::{Finding, FindingReason as Reason};
use rustls::{CertificateError, InvalidMessage};
use std::error::Error;
use std::io::ErrorKind;

/// The cause that a chain of errors ends in.
pub(super) fn named(error: &(dyn Error + 'static)) -> Finding {
    let mut next = Some(error);
    let mut deepest = String::new();
    while let Some(cause) = next {
        let text = cause.to_string();
        if let Some(tls) = cause.downcast_ref::<rustls::Error>() {
            return of_tls(tls);
        }
        if text.contains("dns error") {
            return Finding::new(Reason::NameNotResolved, "the name of the endpoint has no address");
        }
        let io = cause.downcast_ref::<std::io::Error>();
        match io.map(std::io::Error::kind) {
            Some(ErrorKind::ConnectionRefused) => return Finding::new(Reason::ConnectionRefused, "connection refused"),
            Some(ErrorKind::TimedOut) => return Finding::new(Reason::TimedOut, "no connection in time"),
            _ => {}
        }
        deepest = text;
        // What an io::Error wraps is no `source` of it.
        next = match io.and_then(std::io::Error::get_ref) {
            Some(inner) => Some(inner),
            None => cause.source(),
        };
    }
    Finding::new(Reason::ConnectionFailed, deepest)
}

fn of_tls(error: &rustls::Error) -> Finding {
    let reason = match error {
        rustls::Error::InvalidCertificate(certificate) => match certificate {
            // The signature is bad where the issuer has the name of a trusted authority and another key.
            CertificateError::UnknownIssuer | CertificateError::BadSignature => Reason::CertificateUntrusted,
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
