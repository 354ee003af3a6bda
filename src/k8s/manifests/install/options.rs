//! [`Install`]: how to install, checked as it is made.
use crate::k8s::crd::{Image, LogFormat, PullSecret};
use crate::k8s::lease::Timing;
use crate::k8s::manifests::names::{self, is_label, is_name};
use std::borrow::Cow;

/// How to install.
#[derive(Clone, Debug)]
pub struct Install {
    pub(super) namespace: String,
    pub(super) version: String,
    pub(super) registry: String,
    pub(super) replicas: i32,
    pub(super) election: Timing,
    pub(super) log_format: Option<LogFormat>,
    pub(super) provider_classes: bool,
    pub(super) allowed_images: Vec<String>,
    pub(super) digest: Option<String>,
    pub(super) pull_secret: Option<String>,
}

/// An option that cannot be used, in one sentence that names it.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("{option} {value:?} {problem}")]
pub struct Invalid {
    option: &'static str,
    value: String,
    problem: Cow<'static, str>,
}

impl Install {
    /// The tag of images of this build.
    pub const VERSION: &str = env!("CARGO_PKG_VERSION");
    /// Where the images of a build from source are.
    pub const REGISTRY: &str = "localhost";

    /// Into this namespace, from `<registry>/banlieue:<version>`.
    ///
    /// # Errors
    /// Where one of the three cannot be used.
    pub fn new(namespace: &str, version: &str, registry: &str) -> Result<Self, Invalid> {
        let wrong = |option, value: &str, problem: &'static str| Err(invalid(option, value, problem));
        if !is_label(namespace) {
            return wrong("--namespace", namespace, names::NO_NAMESPACE);
        }
        if namespace.starts_with("kube-") {
            return wrong("--namespace", namespace, "is Kubernetes' own; choose another, such as banlieue-system");
        }
        if !is_tag(version) {
            let problem = "is no tag of an image: 1 to 128 letters, digits, dots, dashes and underscores, not beginning with a dot or a dash";
            return wrong("--version", version, problem);
        }
        if registry.contains("://") {
            return wrong("--registry", registry, "has a scheme; write it like registry.example.com/infra");
        }
        if registry.ends_with('/') {
            return wrong("--registry", registry, "ends with a slash; leave it out");
        }
        if !is_registry(registry) {
            let problem =
                "is no registry: write it like registry.example.com:5000/infra, without tag, path parts in lower case";
            return wrong("--registry", registry, problem);
        }
        Ok(Self {
            namespace: namespace.into(),
            version: version.into(),
            registry: registry.into(),
            replicas: 1,
            election: Timing::ROLE,
            log_format: None,
            provider_classes: true,
            allowed_images: Vec::new(),
            digest: None,
            pull_secret: None,
        })
    }

    /// With this many pods of operator and controller each; one of them leads.
    ///
    /// # Errors
    /// Where there would be none, or far more than anybody needs.
    pub fn replicas(mut self, replicas: i32) -> Result<Self, Invalid> {
        if !(1..=10).contains(&replicas) {
            return Err(invalid("--replicas", replicas, "must be from 1 to 10"));
        }
        self.replicas = replicas;
        Ok(self)
    }

    /// With leaders of operator and controller elected in these times.
    #[must_use]
    pub fn election(mut self, timing: Timing) -> Self {
        self.election = timing;
        self
    }

    /// With this form of log in every pod.
    #[must_use]
    pub fn log_format(mut self, format: Option<LogFormat>) -> Self {
        self.log_format = format;
        self
    }

    /// Without a ProviderClass per backend.
    #[must_use]
    pub fn without_provider_classes(mut self) -> Self {
        self.provider_classes = false;
        self
    }

    /// With pods of Providers from images under these prefixes only, such as `registry.example.com/infra`; from any where
    /// there are none.
    ///
    /// # Errors
    /// Where one is no prefix of a repository, or none covers the image of this very installation.
    pub fn allow_images(mut self, prefixes: Vec<String>) -> Result<Self, Invalid> {
        let option = "--allow-images";
        if let Some(wrong) = prefixes.iter().find(|p| !is_registry(p)) {
            let problem = "is no prefix of a repository: write it like registry.example.com/infra";
            return Err(invalid(option, wrong, problem));
        }
        let own = self.repository();
        let covers =
            |p: &String| own.strip_prefix(p.as_str()).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
        if !prefixes.is_empty() && !prefixes.iter().any(covers) {
            let problem = format!("does not cover {own}, which the classes of this installation run");
            return Err(invalid(option, prefixes.join(","), problem));
        }
        self.allowed_images = prefixes;
        Ok(self)
    }

    /// With the image of this digest, whatever the tag says.
    ///
    /// # Errors
    /// Where it is no digest.
    pub fn digest(mut self, digest: Option<String>) -> Result<Self, Invalid> {
        if let Some(wrong) = digest.as_ref().filter(|d| !is_digest(d)) {
            let problem = "is no digest: write it like sha256: and 64 hexadecimal digits in lower case";
            return Err(invalid("--image-digest", wrong, problem));
        }
        self.digest = digest;
        Ok(self)
    }

    /// With this Secret for pulling the image: it has to be in the namespace of each pod.
    ///
    /// # Errors
    /// Where it is no name of a Secret.
    pub fn pull_secret(mut self, name: Option<String>) -> Result<Self, Invalid> {
        if let Some(wrong) = name.as_ref().filter(|n| !is_name(n)) {
            let problem = "is no name of a Secret: lower case letters, digits, dashes and dots";
            return Err(invalid("--image-pull-secret", wrong, problem));
        }
        self.pull_secret = name;
        Ok(self)
    }

    /// The operator as the API server knows it.
    pub fn operator(&self) -> String {
        format!("system:serviceaccount:{}:{}", self.namespace, names::OPERATOR)
    }

    /// Where it is installed.
    pub fn namespace(&self) -> &str {
        &self.namespace
    }

    /// The repository of the image.
    pub fn repository(&self) -> String {
        format!("{}/banlieue", self.registry)
    }

    /// The image: exactly `<registry>/banlieue:<version>`, or by its digest where one is given.
    pub fn image(&self) -> String {
        self.class_image().reference()
    }

    /// The image as a class has it.
    pub(super) fn class_image(&self) -> Image {
        let secret = self.pull_secret.iter().map(|name| PullSecret { name: name.clone() });
        Image {
            repository: self.repository(),
            tag: Some(self.version.clone()),
            digest: self.digest.clone(),
            pull_secrets: secret.collect(),
            ..Default::default()
        }
    }
}

fn invalid(option: &'static str, value: impl ToString, problem: impl Into<Cow<'static, str>>) -> Invalid {
    Invalid { option, value: value.to_string(), problem: problem.into() }
}

fn is_tag(text: &str) -> bool {
    let inner = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_');
    (1..=128).contains(&text.len()) && text.chars().all(inner) && !text.starts_with(['.', '-'])
}

fn is_digest(text: &str) -> bool {
    let digit = |c: char| c.is_ascii_digit() || ('a'..='f').contains(&c);
    text.strip_prefix("sha256:").is_some_and(|hash| hash.len() == 64 && hash.chars().all(digit))
}

/// A host with an optional port, and path parts as the class's rule on `image.repository` has them.
fn is_registry(text: &str) -> bool {
    let mut parts = text.split('/');
    let host = parts.next().unwrap_or_default();
    let (name, port) = match host.strip_prefix('[').and_then(|h| h.split_once(']')) {
        Some((address, rest)) => (address.parse::<std::net::Ipv6Addr>().is_ok(), rest.strip_prefix(':')),
        None => {
            let (name, port) = host.split_once(':').map_or((host, None), |(n, p)| (n, Some(p)));
            let inner = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-');
            (!name.is_empty() && name.chars().all(inner) && !name.starts_with('-'), port)
        }
    };
    let part = |p: &str| {
        let inner = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '.' | '-' | '_');
        let end = |c: Option<char>| c.is_some_and(|c| c.is_ascii_alphanumeric());
        p.chars().all(inner) && end(p.chars().next()) && end(p.chars().last())
    };
    text.len() <= 500 && name && port.is_none_or(|p| p.parse::<u16>().is_ok_and(|p| p > 0)) && parts.all(part)
}
