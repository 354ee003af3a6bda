//! The end of a role: SIGTERM from Kubernetes, SIGINT from a person.
use tokio::signal::unix::{SignalKind, signal};

/// Resolves when the process is told to stop.
pub async fn terminated() {
    let (Ok(mut term), Ok(mut int)) = (signal(SignalKind::terminate()), signal(SignalKind::interrupt())) else {
        return std::future::pending().await;
    };
    tokio::select! {
        _ = term.recv() => {}
        _ = int.recv() => {}
    }
}
