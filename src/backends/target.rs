//! [`Target`]: where a backend is, whom to trust, and how to log in.
use crate::k8s::crd::{Finding, FindingReason};
use secrecy::{ExposeSecret, SecretBox, SecretString};
use std::collections::BTreeMap;

/// Everything it takes to reach a backend, read afresh for each probe.
#[derive(Clone, Debug, PartialEq)]
pub struct Target {
    /// The URL.
    pub endpoint: String,
    /// Skip the check of the certificate.
    pub insecure_skip_tls_verify: bool,
    /// Certificates in PEM to trust in place of the built-in ones.
    pub ca_bundle: Option<Vec<u8>>,
    /// The keys and values of the Secret.
    pub credentials: Credentials,
}

/// The keys and values of a Secret; shown and logged without the values.
#[derive(Clone, Default)]
pub struct Credentials(BTreeMap<String, SecretBox<[u8]>>);

/// How many keys of a Secret a message names.
const MOST_SHOWN: usize = 8;

impl Credentials {
    /// From the data of a Secret.
    pub fn new(data: impl IntoIterator<Item = (String, Vec<u8>)>) -> Self {
        Self(data.into_iter().map(|(key, value)| (key, value.into_boxed_slice().into())).collect())
    }

    /// The bytes of a key.
    ///
    /// # Errors
    /// When it is missing or empty. The keys that are there are named: often one of them is the wrong word for this one.
    pub fn bytes(&self, key: &str) -> Result<&[u8], Finding> {
        let missing =
            |what: &str| Finding::new(FindingReason::SecretKeyMissing, format!("the key {key} of the Secret {what}"));
        match self.0.get(key).map(ExposeSecret::expose_secret) {
            Some([]) => Err(missing("is empty")),
            Some(value) => Ok(value),
            None if self.0.is_empty() => Err(missing("is missing; the Secret is empty")),
            None => {
                let there: Vec<&str> = self.0.keys().map(String::as_str).take(MOST_SHOWN).collect();
                Err(missing(&format!("is missing; it has {}", there.join(", "))))
            }
        }
    }

    /// The text of a key.
    ///
    /// # Errors
    /// When it is missing, empty, no UTF-8, or has a control character: a newline at the end of a password is what `echo`
    /// leaves, and trimming it in silence would hide it. Each such try would count towards a lock-out, so none is made.
    pub fn text(&self, key: &str) -> Result<SecretString, Finding> {
        let value = self.bytes(key)?;
        let malformed =
            |what: &str| Finding::new(FindingReason::SecretKeyMalformed, format!("the key {key} of the Secret {what}"));
        let text = std::str::from_utf8(value).map_err(|_| malformed("is not UTF-8"))?;
        if text.ends_with(['\n', '\r']) {
            return Err(malformed("ends with a newline (`echo` adds one; use `printf %s`)"));
        }
        if text.contains(char::is_control) {
            return Err(malformed("has a control character in it"));
        }
        Ok(text.to_owned().into())
    }
}

impl PartialEq for Credentials {
    fn eq(&self, other: &Self) -> bool {
        let open = |c: &Self| c.0.iter().map(|(k, v)| (k.clone(), v.expose_secret().to_vec())).collect::<Vec<_>>();
        open(self) == open(other)
    }
}

impl std::fmt::Debug for Credentials {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_set().entries(self.0.keys()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case::missing(None, Some(FindingReason::SecretKeyMissing))]
    #[case::empty(Some(&b""[..]), Some(FindingReason::SecretKeyMissing))]
    #[case::newline(Some(&b"hunter2\n"[..]), Some(FindingReason::SecretKeyMalformed))]
    #[case::binary(Some(&b"\xff\xfe"[..]), Some(FindingReason::SecretKeyMalformed))]
    #[case::null(Some(&b"a\0b"[..]), Some(FindingReason::SecretKeyMalformed))]
    #[case::spaces(Some(&b" a b "[..]), None)]
    #[case::unicode(Some("pässwörd✓".as_bytes()), None)]
    fn reads_a_key(#[case] value: Option<&[u8]>, #[case] fails: Option<FindingReason>) {
        let credentials = Credentials::new(value.map(|v| ("password".to_owned(), v.to_vec())));
        let read = credentials.text("password");
        assert_eq!(read.as_ref().err().map(|f| f.reason), fails);
        let shown = format!("{credentials:?}{read:?}");
        assert!(!shown.contains("hunter2") && !shown.contains('✓'), "{shown}");
    }
}
