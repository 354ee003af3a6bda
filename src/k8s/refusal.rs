//! What an error of the API means: the one place that reads codes, causes and messages.
use crate::effects::Refusal;
use crate::fsm::Fault;
use kube::Error;
use kube::core::Status;
use std::future::Future;
use std::time::Duration;

/// How long one request may take. kube has no response timeout of its own.
pub const PATIENCE: Duration = Duration::from_secs(10);

/// Awaits a request of `what` for at most [`PATIENCE`], and says what its failure means.
pub async fn bounded<T>(what: &str, request: impl Future<Output = Result<T, Error>>) -> Result<T, Refusal> {
    match tokio::time::timeout(PATIENCE, request).await {
        Ok(Ok(answer)) => Ok(answer),
        Ok(Err(error)) => Err(classify(what, &error)),
        Err(_) => Err(Refusal {
            fault: Fault::Transport,
            words: format!("{what}: no answer from the API server within {} s", PATIENCE.as_secs()),
        }),
    }
}

/// What a failure of `what` means, in the API's own words.
pub fn classify(what: &str, error: &Error) -> Refusal {
    match error {
        Error::Api(status) => Refusal { fault: fault(status), words: format!("{what}: {}", words(status)) },
        other => Refusal { fault: Fault::Transport, words: format!("{what}: {}", crate::k8s::chain(other)) },
    }
}

fn words(status: &Status) -> &str {
    if status.message.is_empty() { &status.reason } else { &status.message }
}

fn fault(status: &Status) -> Fault {
    let causes = status.details.iter().flat_map(|d| &d.causes);
    match status.code {
        403 if causes.clone().any(|c| c.reason == "NamespaceTerminating")
            || status.message.contains("because it is being terminated") =>
        {
            Fault::NamespaceTerminating
        }
        404 => Fault::NotFound,
        409 => Fault::Conflict,
        // a wrong uid, a failed `test` of a patch, a finalizer on what is being deleted: what we saw is no longer so
        422 if causes.clone().any(|c| c.field == "metadata.uid" || c.field == "metadata.finalizers")
            || status.message.contains("testing ")
            || status.message.contains("test failed")
            || status.message.contains("in our request") =>
        {
            Fault::Stale
        }
        429 => Fault::Throttled,
        500.. => Fault::Transport,
        _ => Fault::Refused,
    }
}
