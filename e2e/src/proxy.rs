//! [`Proxy`]: something between one client and the API server that sees every request, and may hold it, answer in the
//! API server's place, or cut the connection before or after the API server has done what was asked.
//!
//! It speaks plain HTTP on the loopback and hands the client's own credentials on, so the API server's record names the
//! client as ever.
use crate::cluster::Cluster;
use anyhow::{Context, Result, bail};
use http::{HeaderMap, Method, Request, Response, Uri, header};
use http_body_util::BodyExt;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use kube::Client;
use kube::client::Body;
use kube::config::AuthInfo;
use serde_json::Value;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use tokio::net::TcpListener;
use tokio::task::JoinSet;

/// A request, as rules see it.
#[derive(Clone, Debug)]
pub struct Asked {
    /// A number that no other request to this proxy has.
    pub number: u64,
    /// Its method.
    pub method: Method,
    /// Path and query.
    pub uri: Uri,
}

impl Asked {
    /// Whether it could change something and is no dry run.
    pub fn writes(&self) -> bool {
        self.method != Method::GET && !self.uri.query().is_some_and(|q| q.contains("dryRun="))
    }
}

/// What becomes of a request, or of its answer.
#[derive(Debug)]
pub enum Way {
    /// It goes on.
    On,
    /// This goes back in place of the API server's own answer.
    Answer(Response<Body>),
    /// Nothing goes back: the connection ends.
    Cut,
}

/// What a proxy does with requests. A rule that waits holds the request back until then, or until the client gives up.
pub trait Rule: Send + Sync + 'static {
    /// A request has come in; the API server knows nothing of it yet.
    fn asked(&self, asked: &Asked) -> impl Future<Output = Way> + Send {
        let _ = asked;
        async { Way::On }
    }

    /// The API server has done it and answered with this status; the client knows nothing of that yet.
    fn answered(&self, asked: &Asked, status: u16) -> impl Future<Output = Way> + Send {
        let _ = (asked, status);
        async { Way::On }
    }
}

/// A proxy that runs until this value is dropped.
#[derive(Debug)]
pub struct Proxy {
    address: SocketAddr,
    /// Its connections, which end with it.
    _tasks: JoinSet<()>,
}

impl Proxy {
    /// Listens on a port of its own, in front of this cluster's API server.
    pub async fn start(cluster: &Cluster, rule: Arc<impl Rule>) -> Result<Self> {
        let mut config = cluster.config().await?;
        config.auth_info = AuthInfo::default();
        config.default_retry = false;
        let client = Client::try_from(config)?;
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let address = listener.local_addr()?;
        let mut tasks = JoinSet::new();
        tasks.spawn(async move {
            let mut connections = JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                while connections.try_join_next().is_some() {}
                let (client, rule) = (client.clone(), rule.clone());
                let serve = service_fn(move |request| pass(client.clone(), rule.clone(), request));
                // one that ends badly is one that a rule cut, or that the client gave up
                connections.spawn(async move {
                    drop(http1::Builder::new().serve_connection(TokioIo::new(stream), serve).await)
                });
            }
        });
        Ok(Self { address, _tasks: tasks })
    }

    /// `kubeconfig`, by way of this proxy.
    pub fn kubeconfig(&self, kubeconfig: &str) -> Result<String> {
        let mut value: Value = serde_json::from_str(kubeconfig).context("not a kubeconfig in JSON")?;
        for entry in value["clusters"].as_array_mut().into_iter().flatten() {
            entry["cluster"] = serde_json::json!({ "server": format!("http://{}", self.address) });
        }
        Ok(serde_json::to_string_pretty(&value)?)
    }
}

/// One request. An error ends the connection.
async fn pass<R: Rule>(client: Client, rule: Arc<R>, request: Request<Incoming>) -> Result<Response<Body>> {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let (mut head, body) = request.into_parts();
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    let asked = Asked { number, method: head.method.clone(), uri: head.uri.clone() };
    let body = Body::from(body.collect().await?.to_bytes().to_vec());
    match rule.asked(&asked).await {
        Way::On => {}
        Way::Answer(answer) => return Ok(answer),
        Way::Cut => bail!("{} {} was cut", asked.method, asked.uri),
    }
    of_the_connection(&mut head.headers);
    // a task of its own: what was sent is answered, though the client die meanwhile
    let sent = tokio::spawn(async move {
        let mut answer = client.send(Request::from_parts(head, body)).await?;
        of_the_connection(answer.headers_mut());
        match rule.answered(&asked, answer.status().as_u16()).await {
            Way::On => Ok(answer),
            Way::Answer(other) => Ok(other),
            Way::Cut => bail!("{} {} was cut", asked.method, asked.uri),
        }
    });
    sent.await?
}

/// Takes off what speaks of one connection and not of the message.
fn of_the_connection(headers: &mut HeaderMap) {
    for name in [header::CONNECTION, header::HOST, header::TRANSFER_ENCODING, header::UPGRADE] {
        headers.remove(name);
    }
}
