//! The client of the API server: where its configuration comes from, and what happens when there is no answer.
use super::escape::Escape;
use super::failure::root_cause;
use super::kubeconfig::{self, Unusable};
use super::vigil::{Listener, Vigil};
pub use kube::Client;
use kube::Config;
use kube::client::ClientBuilder;
use std::path::PathBuf;
use std::time::Duration;

/// The longest time until the API server has answered for the first time.
const FIRST_ANSWER: Duration = Duration::from_secs(10);
/// The longest time until a connection is made.
const CONNECT: Duration = Duration::from_secs(5);
/// The longest silence within an answer that somebody waits for. No watch runs over such a client.
const PERSON_READ: Duration = Duration::from_secs(30);
/// The longest silence in a role: a little more than a watch lives, so that a quiet one is not cut.
const ROLE_READ: Duration = Duration::from_secs(300);

/// Which API server, as whom.
#[derive(Clone, Debug, Default)]
pub struct Source {
    /// The kubeconfig to read, in place of `KUBECONFIG`, the pod's own identity and `~/.kube/config`.
    pub kubeconfig: Option<PathBuf>,
    /// The context to take, in place of the current one.
    pub context: Option<String>,
    /// Whom to act as, where the person may.
    pub impersonate: Option<String>,
}

/// Who waits for the answers.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Purpose {
    /// A person, at a terminal: no watches, and no answer takes long.
    Person,
    /// A role that runs until it is told to stop, with watches.
    Role,
}

/// Why there is no connection: one line that says what is wrong and what to do, without a secret.
#[derive(Debug, thiserror::Error)]
pub enum NoConnection {
    /// The kubeconfig cannot be used.
    #[error(transparent)]
    Kubeconfig(#[from] Unusable),
    /// The pod has no identity.
    #[error("this pod's identity cannot be used: {0}; is its service account token mounted?")]
    InCluster(#[from] kube::config::InClusterError),
    /// The client cannot be made from the configuration.
    #[error("cannot talk to the API server at {server}: {why}")]
    Client {
        /// Its address.
        server: String,
        /// What is wrong.
        why: String,
    },
    /// Nothing came back.
    #[error(
        "the API server at {server} does not answer: {why}; is it running, and is this the right kubeconfig or --context?"
    )]
    Silent {
        /// Its address.
        server: String,
        /// What happened instead.
        why: String,
    },
    /// Its certificate is not one that the configuration trusts.
    #[error(
        "the certificate of the API server at {server} does not fit: {why}; check certificate-authority and server in the kubeconfig"
    )]
    Certificate {
        /// Its address.
        server: String,
        /// What is wrong with it.
        why: String,
    },
    /// It does not know who asks.
    #[error(
        "the API server at {server} does not accept the credentials of the kubeconfig; log in again, or choose another by --context"
    )]
    Unauthorized {
        /// Its address.
        server: String,
    },
}

/// A client that has had one answer from the API server.
///
/// # Errors
/// When the configuration cannot be used, or within ten seconds there is no answer.
pub async fn connect(source: &Source, purpose: Purpose) -> Result<Client, NoConnection> {
    open(source, purpose, |config| Ok(ClientBuilder::try_from(config)?.with_layer(&Escape).build())).await
}

/// A client of a role whose watches are kept under `vigil`, that has had one answer from the API server.
///
/// # Errors
/// As [`connect`].
pub async fn connect_under(vigil: &Vigil, source: &Source) -> Result<Client, NoConnection> {
    open(source, Purpose::Role, |config| {
        let listener = Listener::new(vigil, address(&config));
        Ok(ClientBuilder::try_from(config)?.with_layer(&listener).with_layer(&Escape).build())
    })
    .await
}

async fn open(
    source: &Source,
    purpose: Purpose,
    build: impl FnOnce(Config) -> kube::Result<Client>,
) -> Result<Client, NoConnection> {
    let config = config(source, purpose).await?;
    let server = address(&config);
    let client = build(config).map_err(|e| NoConnection::Client { server: server.clone(), why: root_cause(&e) })?;
    match tokio::time::timeout(FIRST_ANSWER, client.apiserver_version()).await {
        Err(_) => {
            let why = format!("nothing within {} seconds", FIRST_ANSWER.as_secs());
            Err(NoConnection::Silent { server, why })
        }
        Ok(Err(error)) => explain(server, &error).map_or(Ok(client), Err),
        Ok(Ok(_)) => Ok(client),
    }
}

async fn config(source: &Source, purpose: Purpose) -> Result<Config, NoConnection> {
    let named = source.kubeconfig.is_some() || source.context.is_some() || std::env::var_os("KUBECONFIG").is_some();
    let in_pod = std::env::var_os("KUBERNETES_SERVICE_HOST").is_some();
    let mut config = if in_pod && !named {
        Config::incluster()?
    } else {
        kubeconfig::load(source.kubeconfig.as_deref(), source.context.as_deref()).await?
    };
    config.auth_info.impersonate.clone_from(&source.impersonate);
    // kube's own retries take up to 15 turns, obey any Retry-After, and repeat a POST.
    config.default_retry = false;
    config.connect_timeout = Some(CONNECT);
    config.read_timeout = Some(if purpose == Purpose::Person { PERSON_READ } else { ROLE_READ });
    // else the time a pooled connection lay idle counts as silence
    config.reset_reader_on_write = true;
    Ok(config)
}

/// Host and port alone: a URL may carry more than may be shown.
fn address(config: &Config) -> String {
    let url = &config.cluster_url;
    let port = url.port_u16().unwrap_or(if url.scheme_str() == Some("http") { 80 } else { 443 });
    format!("{}:{port}", url.host().unwrap_or_default())
}

/// Why the first question failed, or nothing if an answer is an answer.
fn explain(server: String, error: &kube::Error) -> Option<NoConnection> {
    let why = root_cause(error);
    match error {
        kube::Error::Api(status) if status.code == 401 => Some(NoConnection::Unauthorized { server }),
        kube::Error::Api(status) if status.code == 403 => None,
        kube::Error::Auth(_) => Some(NoConnection::Client { server, why }),
        _ if why.contains("certificate") => Some(NoConnection::Certificate { server, why }),
        _ => Some(NoConnection::Silent { server, why }),
    }
}
