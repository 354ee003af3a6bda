//! TLS towards a backend: whom to trust, who we are. HTTP and libvirt share it.
use super::Target;
use crate::k8s::crd::{Finding, FindingReason as Reason};
use chrono::DateTime;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{WantsClientCert, verify_server_cert_signed_by_trust_anchor};
use rustls::crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{CertificateError, ClientConfig, ConfigBuilder, DigitallySignedStruct, RootCertStore, SignatureScheme};
use std::sync::Arc;

/// A configuration that trusts what the target says, and does not say yet who we are.
///
/// The image has no certificates of a system: Mozilla's are built in. A `caBundle` takes their place, so that nobody
/// else's authority can vouch for a backend whose own is named.
///
/// # Errors
/// When the CA bundle holds nothing that can be trusted.
pub(super) fn trusting(target: &Target) -> Result<ConfigBuilder<ClientConfig, WantsClientCert>, Finding> {
    let roots = match &target.ca_bundle {
        Some(pem) => bundle(pem)?,
        None => {
            let mut roots = RootCertStore::empty();
            roots.add_parsable_certificates(webpki_root_certs::TLS_SERVER_ROOT_CERTS.iter().cloned());
            roots
        }
    };
    let provider = Arc::new(ring::default_provider());
    let builder = ClientConfig::builder_with_provider(provider.clone())
        .with_safe_default_protocol_versions()
        .map_err(|error| Finding::new(Reason::ConnectionFailed, error.to_string()))?;
    Ok(match target.insecure_skip_tls_verify {
        true => builder.dangerous().with_custom_certificate_verifier(Arc::new(Unchecked(provider))),
        false => builder.with_root_certificates(roots),
    })
}

/// The authorities of a CA bundle. One whose time is over is left out as long as there is another: so is a bundle during
/// the change from one to the next.
fn bundle(pem: &[u8]) -> Result<RootCertStore, Finding> {
    let invalid = |why: &str| Finding::new(Reason::CABundleInvalid, format!("the caBundle {why}"));
    let mut roots = RootCertStore::empty();
    let mut over = None;
    for (index, der) in CertificateDer::pem_slice_iter(pem).enumerate() {
        let der = der.map_err(|_| invalid("is not PEM"))?;
        if let Some(out) = out_of_dates(&der) {
            over = Some(out);
        } else if roots.add(der).is_err() {
            return Err(invalid(&format!("holds something that is no certificate, at place {}", index + 1)));
        }
    }
    match over {
        Some(out) if roots.is_empty() => Err(invalid(&format!("holds no certificate whose time it is: {out}"))),
        None if roots.is_empty() => Err(invalid("holds no certificate in PEM")),
        _ => Ok(roots),
    }
}

/// What is wrong with the dates of a certificate, as words; nothing, too, where they cannot be read.
///
/// The verifier never looks at the dates of an authority. Taken as a server's, they are what it looks at first.
pub(super) fn out_of_dates(der: &CertificateDer<'_>) -> Option<String> {
    let parsed = ParsedCertificate::try_from(der).ok()?;
    let algorithms = ring::default_provider().signature_verification_algorithms.all;
    let none = RootCertStore::empty();
    let verified = verify_server_cert_signed_by_trust_anchor(&parsed, &none, &[], UnixTime::now(), algorithms);
    let day = |time: UnixTime| {
        let time = i64::try_from(time.as_secs()).ok().and_then(|seconds| DateTime::from_timestamp(seconds, 0));
        time.map_or("a day out of all calendars".into(), |time| time.format("%Y-%m-%d").to_string())
    };
    match verified {
        Err(rustls::Error::InvalidCertificate(CertificateError::ExpiredContext { not_after, .. })) => {
            Some(format!("it ended on {}", day(not_after)))
        }
        Err(rustls::Error::InvalidCertificate(CertificateError::NotValidYetContext { not_before, .. })) => {
            Some(format!("it begins on {}", day(not_before)))
        }
        _ => None,
    }
}

/// Takes any certificate, as `insecureSkipTLSVerify` asks for; whoever shows it must have its key all the same.
#[derive(Debug)]
struct Unchecked(Arc<CryptoProvider>);

impl ServerCertVerifier for Unchecked {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls12_signature(message, certificate, signed, &self.0.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls13_signature(message, certificate, signed, &self.0.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rcgen::{BasicConstraints, CertificateParams, IsCa, KeyPair, date_time_ymd};
    use rstest::rstest;

    fn authority(until: i32) -> String {
        let mut params = CertificateParams::new([]).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        (params.not_before, params.not_after) = (date_time_ymd(2020, 1, 1), date_time_ymd(until, 1, 1));
        params.self_signed(&KeyPair::generate().unwrap()).unwrap().pem()
    }

    const NO_CERTIFICATE: &str = "-----BEGIN CERTIFICATE-----\naGVsbG8=\n-----END CERTIFICATE-----\n";
    const CUT: &str = "-----BEGIN CERTIFICATE-----\naGVsbG8=\n";

    #[rstest]
    #[case::good(authority(2100), 1)]
    #[case::chain(authority(2100) + &authority(2101), 2)]
    #[case::old_and_new(authority(2021) + &authority(2100), 1)]
    #[case::among_other_things(format!("The CA:\n{}-----BEGIN X509 CRL-----\naGVsbG8=\n-----END X509 CRL-----\n", authority(2100)), 1)]
    fn trusts_a_bundle(#[case] pem: String, #[case] authorities: usize) {
        assert_eq!(bundle(pem.as_bytes()).unwrap().len(), authorities);
    }

    #[rstest]
    #[case::nonsense("nonsense".into(), "no certificate in PEM")]
    #[case::empty(String::new(), "no certificate in PEM")]
    #[case::cut(CUT.into(), "is not PEM")]
    #[case::no_certificate(NO_CERTIFICATE.into(), "no certificate, at place 1")]
    #[case::second_is_none(authority(2100) + NO_CERTIFICATE, "no certificate, at place 2")]
    #[case::expired(authority(2021), "it ended on 2021-01-01")]
    fn refuses_a_bundle(#[case] pem: String, #[case] says: &str) {
        let finding = bundle(pem.as_bytes()).unwrap_err();
        assert_eq!(finding.reason, Reason::CABundleInvalid);
        assert!(finding.message.contains(says), "{}", finding.message);
    }
}
