//! How a backend is reached: endpoint, credentials, trust.
use super::{Backend, schema};
use kube::KubeSchema;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How a backend is reached.
///
/// Every rule on the endpoint stands on this struct: a rule on the string itself would echo its value, and with it a
/// password somebody put there, in the error and in the audit log.
#[derive(Clone, Debug, Deserialize, Eq, KubeSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
#[schemars(description = "How the backend is reached.")]
#[x_kube(
    validation = Rule::new("isURL(self.endpoint)").field_path(".endpoint")
        .message("the endpoint is not a URL; write it like https://vcenter.example.com/sdk"),
    validation = Rule::new(known_scheme()).field_path(".endpoint")
        .message(format!("the scheme of the endpoint must be one of {}", schemes().join(", ")).as_str()),
    validation = Rule::new("!isURL(self.endpoint) || url(self.endpoint).getHostname() != ''").field_path(".endpoint")
        .message("the endpoint names no host"),
    validation = Rule::new("!self.endpoint.matches('^[^/]*//[^/?#]*@')").field_path(".endpoint")
        .message("the endpoint must not contain a user or a password; put them in the Secret of credentialsRef"),
    validation = Rule::new("!self.endpoint.contains('#')").field_path(".endpoint")
        .message("the endpoint must not contain a fragment (#)"),
    validation = Rule::new("!self.endpoint.contains('?')").field_path(".endpoint")
        .message("the endpoint must not contain a query (?): it is shown to everybody; options are fields of spec.connection"),
    validation = Rule::new("!self.endpoint.matches('[[:space:][:cntrl:]]')").field_path(".endpoint")
        .message("the endpoint must not contain white space"),
    validation = Rule::new(PORT).field_path(".endpoint")
        .message("the port of the endpoint must be from 1 to 65535"),
)]
pub struct Connection {
    /// The URL of the backend, such as `https://vcenter.example.com/sdk`, `https://pve.example.com:8006` or
    /// `qemu+tls://host.example.com/system`. It must not contain a user, a password, a query
    /// or a fragment.
    #[schemars(length(min = 1, max = 2048))]
    pub endpoint: String,
    /// The Secret with the credentials, in the namespace of the Provider.
    pub credentials_ref: CredentialsRef,
    /// The certificates that the backend's certificate is checked against; those built into the image by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ca_bundle: Option<CaBundle>,
    /// Does not check the certificate of the backend: whoever sits between can read the credentials. False by default;
    /// a condition shows it where it is set.
    #[serde(default, rename = "insecureSkipTLSVerify", skip_serializing_if = "std::ops::Not::not")]
    pub insecure_skip_tls_verify: bool,
}

const PORT: &str = "!isURL(self.endpoint) || url(self.endpoint).getPort() == '' || \
    (url(self.endpoint).getPort().size() <= 5 && int(url(self.endpoint).getPort()) >= 1 && \
    int(url(self.endpoint).getPort()) <= 65535)";

/// The schemes of all backends, compiled in or not: the schema does not depend on the build.
fn schemes() -> Vec<&'static str> {
    let mut all: Vec<_> = Backend::ALL.iter().flat_map(|b| b.schemes()).copied().collect();
    let mut seen = std::collections::BTreeSet::new();
    all.retain(|s| seen.insert(*s));
    all
}

fn known_scheme() -> String {
    let list: Vec<_> = schemes().iter().map(|s| format!("'{s}'")).collect();
    format!("!isURL(self.endpoint) || url(self.endpoint).getScheme() in [{}]", list.join(", "))
}

/// The Secret with the credentials.
#[derive(Clone, Debug, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
pub struct CredentialsRef {
    /// The name of the Secret. Its keys for vsphere: `username` and `password`; for libvirt over TLS: `tls.crt` and
    /// `tls.key`; for proxmox: `username` (`user@realm!tokenid`) and `tokenValue`.
    #[schemars(length(min = 1, max = 253), regex(pattern = schema::DNS_SUBDOMAIN))]
    pub name: String,
}

/// Where the certificates to trust come from: exactly one of the three.
#[derive(Clone, Debug, Default, Deserialize, Eq, KubeSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
#[schemars(description = "The certificates to trust: exactly one of inline, configMapRef and secretRef.")]
#[x_kube(
    validation = Rule::new("[has(self.inline), has(self.configMapRef), has(self.secretRef)].filter(x, x).size() == 1")
        .message("set exactly one of inline, configMapRef and secretRef"),
    validation = Rule::new("!has(self.inline) || self.inline.contains('-----BEGIN CERTIFICATE-----')").field_path(".inline")
        .message("inline must hold certificates in PEM (-----BEGIN CERTIFICATE-----)"),
    validation = Rule::new("!has(self.inline) || !self.inline.contains('PRIVATE KEY-----')").field_path(".inline")
        .message("inline holds a private key; only certificates belong there"),
)]
pub struct CaBundle {
    /// The certificates themselves, in PEM.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 65536))]
    pub inline: Option<String>,
    /// A ConfigMap in the namespace of the Provider.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub config_map_ref: Option<KeyRef>,
    /// A Secret in the namespace of the Provider.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub secret_ref: Option<KeyRef>,
}

/// A key of a ConfigMap or Secret.
#[derive(Clone, Debug, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
#[schemars(
    description = "The object, in the namespace of the Provider, and its key that holds the certificates in PEM."
)]
pub struct KeyRef {
    /// The name of the object.
    #[schemars(length(min = 1, max = 253), regex(pattern = schema::DNS_SUBDOMAIN))]
    pub name: String,
    /// The key that holds the certificates in PEM; `ca.crt` by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 253), regex(pattern = schema::DATA_KEY))]
    pub key: Option<String>,
}

impl KeyRef {
    /// The key, or its default `ca.crt`.
    pub fn key(&self) -> &str {
        self.key.as_deref().unwrap_or("ca.crt")
    }
}
