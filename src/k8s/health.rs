//! `/livez`, `/readyz` and `/metrics`: the same server in every role, in the words of Kubernetes' own components.
use super::process::Process;
use axum::extract::{RawQuery, State};
use axum::http::{StatusCode, header};
use axum::response::IntoResponse;
use axum::routing::get;
use prometheus_client::encoding::prometheus_text;
use prometheus_client::registry::Registry;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::sync::{Arc, PoisonError, RwLock};
use tokio::net::TcpListener;

/// The named checks of a process. Clones share them. Reasons are shown to anyone who can reach the port: no secrets.
#[derive(Clone, Debug, Default)]
pub struct Health(Arc<RwLock<Checks>>);

#[derive(Debug, Default)]
struct Checks {
    live: Named,
    ready: Named,
}

/// A check's name, and why it fails.
type Named = BTreeMap<String, Result<(), String>>;

impl Health {
    /// Checks that `/readyz` waits for: each fails with "not yet" until [`Health::ready`] says otherwise.
    pub fn waiting_for(ready: &[&'static str]) -> Self {
        let health = Self::default();
        for check in ready {
            health.ready(*check, Err("not yet".into()));
        }
        health
    }

    /// Says how a check of `/livez` stands. A failing one gets the container killed: never for what is outside of it.
    pub fn live(&self, check: impl Into<String>, state: Result<(), String>) {
        self.0.write().unwrap_or_else(PoisonError::into_inner).live.insert(check.into(), state);
    }

    /// Says how a check of `/readyz` stands.
    pub fn ready(&self, check: impl Into<String>, state: Result<(), String>) {
        self.0.write().unwrap_or_else(PoisonError::into_inner).ready.insert(check.into(), state);
    }

    /// Whether every check of `/readyz` passes.
    pub fn is_ready(&self) -> bool {
        self.0.read().unwrap_or_else(PoisonError::into_inner).ready.values().all(Result::is_ok)
    }

    fn answer(&self, path: &str, verbose: bool) -> (StatusCode, String) {
        let checks = self.0.read().unwrap_or_else(PoisonError::into_inner);
        let named = if path == "livez" { &checks.live } else { &checks.ready };
        let passed = named.values().all(Result::is_ok);
        let status = if passed { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
        if passed && !verbose {
            return (status, "ok".into());
        }
        let mut text = String::from("[+]ping ok\n");
        for (name, state) in named {
            let _ = match state {
                Ok(()) => writeln!(text, "[+]{name} ok"),
                Err(why) => writeln!(text, "[-]{name} failed: {why}"),
            };
        }
        let _ = writeln!(text, "{path} check {}", if passed { "passed" } else { "failed" });
        (status, text)
    }
}

/// The server, bound and not yet serving: a port that is taken shows before anything else is started.
#[derive(Debug)]
pub struct Server {
    listener: TcpListener,
}

impl Server {
    /// Binds a port on all addresses, 0 for any; IPv4 alone where the machine has no IPv6.
    ///
    /// # Errors
    /// When the port is taken.
    pub async fn bind(port: u16) -> std::io::Result<Self> {
        let listener = match TcpListener::bind((Ipv6Addr::UNSPECIFIED, port)).await {
            Err(error) if error.kind() != std::io::ErrorKind::AddrInUse => {
                TcpListener::bind((Ipv4Addr::UNSPECIFIED, port)).await?
            }
            bound => bound?,
        };
        Ok(Self { listener })
    }

    /// The port that was bound.
    ///
    /// # Errors
    /// When the socket is gone.
    pub fn port(&self) -> std::io::Result<u16> {
        Ok(self.listener.local_addr()?.port())
    }

    /// Serves until `shutdown` is done; the metrics of the process itself are added.
    ///
    /// # Errors
    /// When the listener fails.
    pub async fn serve(
        self,
        health: Health,
        mut metrics: Registry,
        shutdown: impl Future<Output = ()> + Send + 'static,
    ) -> std::io::Result<()> {
        metrics.register_collector(Box::new(Process));
        axum::serve(self.listener, router(health, metrics)).with_graceful_shutdown(shutdown).await
    }
}

fn router(health: Health, metrics: Registry) -> axum::Router {
    let metrics = Arc::new(metrics);
    axum::Router::new()
        .route("/livez", get(|State(h): State<Health>, RawQuery(q)| async move { h.answer("livez", verbose(q)) }))
        .route("/readyz", get(|State(h): State<Health>, RawQuery(q)| async move { h.answer("readyz", verbose(q)) }))
        .route("/metrics", get(move || async move { exposition(&metrics) }))
        .with_state(health)
}

fn verbose(query: Option<String>) -> bool {
    query.is_some_and(|q| q.split('&').any(|p| p.split('=').next() == Some("verbose")))
}

fn exposition(metrics: &Registry) -> impl IntoResponse + use<> {
    let mut text = String::new();
    let status = match prometheus_text::encode(&mut text, metrics) {
        Ok(()) => StatusCode::OK,
        Err(_) => StatusCode::INTERNAL_SERVER_ERROR,
    };
    (status, [(header::CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8")], text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use prometheus_client::metrics::counter::Counter;

    async fn get(port: u16, path: &str) -> (u16, String, String) {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let answer = reqwest::get(format!("http://127.0.0.1:{port}{path}")).await.unwrap();
        let kind = answer.headers()["content-type"].to_str().unwrap().to_owned();
        (answer.status().as_u16(), kind, answer.text().await.unwrap())
    }

    #[tokio::test]
    async fn says_what_is_wrong_and_stops_when_told() {
        let health = Health::waiting_for(&["backend"]);
        let mut metrics = Registry::default();
        metrics.register("banlieue_things", "Things", Counter::<u64>::default());
        let server = Server::bind(0).await.unwrap();
        let port = server.port().unwrap();
        let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
        let serving = tokio::spawn(server.serve(health.clone(), metrics, async { stopped.await.unwrap_or_default() }));

        assert_eq!(get(port, "/livez").await.0, 200);
        let (status, _, text) = get(port, "/readyz").await;
        assert_eq!((status, text.as_str()), (503, "[+]ping ok\n[-]backend failed: not yet\nreadyz check failed\n"));
        health.ready("backend", Ok(()));
        assert_eq!(get(port, "/readyz").await.2, "ok");
        assert_eq!(get(port, "/readyz?verbose").await.2, "[+]ping ok\n[+]backend ok\nreadyz check passed\n");
        let (_, kind, text) = get(port, "/metrics").await;
        assert_eq!(kind, "text/plain; version=0.0.4; charset=utf-8");
        for line in ["banlieue_things_total 0", "process_open_fds "] {
            assert!(text.contains(line), "{line} is not in {text}");
        }
        assert!(Server::bind(port).await.is_err(), "a port that is taken is an error at once");

        stop.send(()).unwrap();
        serving.await.unwrap().unwrap();
    }
}
