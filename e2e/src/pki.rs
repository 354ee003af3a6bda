//! The certificates of one box: one authority, made anew at every start.

use std::path::PathBuf;

use anyhow::Result;
use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair, KeyUsagePurpose,
    date_time_ymd,
};

use crate::files::RunDir;

/// The authority of a box.
#[derive(Debug)]
pub struct Authority {
    issuer: Issuer<'static, KeyPair>,
    run: RunDir,
}

/// A certificate and its key, as files.
#[derive(Clone, Debug)]
pub struct Pair {
    /// The certificate's file.
    pub cert: PathBuf,
    /// The key's file.
    pub key: PathBuf,
}

impl Pair {
    /// The files of the certificate called `name` in the folder of a box.
    pub fn at(run: &RunDir, name: &str) -> Self {
        Self { cert: run.join(format!("pki/{name}.crt")), key: run.join(format!("pki/{name}.key")) }
    }
}

impl Authority {
    /// Makes an authority and writes `pki/ca.crt` and `pki/ca.key`.
    pub fn create(run: &RunDir) -> Result<Self> {
        let mut params = params("banlieue-e2e", &[], Vec::new())?;
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages =
            vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign, KeyUsagePurpose::DigitalSignature];
        let key = KeyPair::generate()?;
        let cert = params.self_signed(&key)?;
        run.write("pki/ca.crt", &cert.pem())?;
        run.write("pki/ca.key", &key.serialize_pem())?;
        Ok(Self { issuer: Issuer::new(params, key), run: run.clone() })
    }

    /// The authority that an earlier [`Authority::create`] wrote.
    pub fn load(run: &RunDir) -> Result<Self> {
        let mut params = params("banlieue-e2e", &[], Vec::new())?;
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::from_pem(&std::fs::read_to_string(run.join("pki/ca.key"))?)?;
        Ok(Self { issuer: Issuer::new(params, key), run: run.clone() })
    }

    /// A certificate for a client: user `name`, in `groups`.
    pub fn client(&self, file: &str, name: &str, groups: &[&str]) -> Result<Pair> {
        self.issue(file, params(name, groups, Vec::new())?)
    }

    /// A certificate for a server (and client) under `names`, which may be addresses.
    pub fn server(&self, file: &str, name: &str, groups: &[&str], names: &[&str]) -> Result<Pair> {
        self.issue(file, params(name, groups, names.iter().map(|n| n.to_string()).collect())?)
    }

    fn issue(&self, file: &str, mut params: CertificateParams) -> Result<Pair> {
        params.is_ca = IsCa::ExplicitNoCa;
        // libvirtd does not start with a certificate that lacks the second one.
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature, KeyUsagePurpose::KeyEncipherment];
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth, ExtendedKeyUsagePurpose::ServerAuth];
        params.use_authority_key_identifier_extension = true;
        let key = KeyPair::generate()?;
        let cert = params.signed_by(&key, &self.issuer)?;
        self.run.write(&format!("pki/{file}.crt"), &cert.pem())?;
        self.run.write(&format!("pki/{file}.key"), &key.serialize_pem())?;
        Ok(Pair::at(&self.run, file))
    }
}

fn params(name: &str, groups: &[&str], names: Vec<String>) -> Result<CertificateParams> {
    let mut params = CertificateParams::new(names)?;
    params.not_before = date_time_ymd(2020, 1, 1);
    params.not_after = date_time_ymd(2120, 1, 1);
    params.distinguished_name = rcgen::DistinguishedName::new();
    params.distinguished_name.push(DnType::CommonName, name);
    for group in groups {
        params.distinguished_name.push(DnType::OrganizationName, *group);
    }
    Ok(params)
}

/// The key pair that signs the tokens of ServiceAccounts: `pki/sa.key` and `pki/sa.pub`.
pub fn service_account_keys(run: &RunDir) -> Result<()> {
    let key = KeyPair::generate()?;
    run.write("pki/sa.key", &key.serialize_pem())?;
    run.write("pki/sa.pub", &key.public_key_pem())?;
    Ok(())
}

/// Writes a kubeconfig at `file`, with the certificate called `user` and paths to the files of the box.
pub fn kubeconfig(run: &RunDir, file: &str, server: &str, user: &str) -> Result<PathBuf> {
    let pair = Pair::at(run, user);
    let text = format!(
        "apiVersion: v1
kind: Config
clusters:
- name: banlieue
  cluster:
    server: {server}
    certificate-authority: {ca}
users:
- name: {user}
  user:
    client-certificate: {cert}
    client-key: {key}
contexts:
- name: banlieue
  context: {{cluster: banlieue, user: {user}}}
current-context: banlieue
",
        ca = run.arg("pki/ca.crt"),
        cert = pair.cert.display(),
        key = pair.key.display(),
    );
    run.write(file, &text)
}
