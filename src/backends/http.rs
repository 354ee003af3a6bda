//! HTTP to a backend: limits, and what an answer says before it is read.
use super::{Target, cause, tls};
use crate::k8s::crd::{Finding, FindingReason as Reason};
use reqwest::{Client, Response, Url};
use std::time::Duration;

/// What is taken: a password or a token is never sent in the clear, but to the servers of this program's own tests.
const SCHEMES: &[&str] = if cfg!(test) { &["https", "http"] } else { &["https"] };
/// A connection that is not made after this long is not made.
const CONNECT: Duration = Duration::from_secs(5);

/// A client that trusts what the target says, follows no redirect and keeps its one connection open.
///
/// # Errors
/// When the CA bundle holds nothing that can be trusted.
pub(super) fn client(target: &Target) -> Result<Client, Finding> {
    Client::builder()
        .tls_backend_preconfigured(tls::trusting(target)?.with_no_client_auth())
        .redirect(reqwest::redirect::Policy::none())
        .no_proxy()
        .http1_only()
        .pool_max_idle_per_host(1)
        .connect_timeout(CONNECT)
        .user_agent(concat!("banlieue/", env!("CARGO_PKG_VERSION")))
        .build()
        .map_err(|_| Finding::new(Reason::EndpointInvalid, "no client could be made for the endpoint"))
}

/// The URL of an endpoint; `path` where it has none.
///
/// # Errors
/// When it is no `https` URL, or carries a user or a password. The value is not repeated: it may hold a secret.
pub(super) fn endpoint(text: &str, path: &str) -> Result<Url, Finding> {
    let invalid = |why: &str| Finding::new(Reason::EndpointInvalid, format!("the endpoint {why}"));
    let mut url = Url::parse(text).map_err(|_| invalid("is no URL"))?;
    if !SCHEMES.contains(&url.scheme()) {
        return Err(invalid("must begin with https://"));
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(invalid("must not contain a user or a password"));
    }
    if url.path() == "/" {
        url.set_path(path);
    }
    Ok(url)
}

/// The body of an answer, of at most `limit` bytes.
pub(super) async fn body(mut answer: Response, limit: usize) -> Result<Vec<u8>, Finding> {
    let too_large = || Finding::new(Reason::AnswerTooLarge, format!("the answer is larger than {} MiB", limit >> 20));
    if answer.content_length().is_some_and(|length| length > limit as u64) {
        return Err(too_large());
    }
    let mut body = Vec::new();
    while let Some(chunk) = answer.chunk().await.map_err(|e| failure(&e))? {
        if body.len() + chunk.len() > limit {
            return Err(too_large());
        }
        body.extend_from_slice(&chunk);
    }
    Ok(body)
}

/// What an HTTP status says by itself, unless it is `expected`: one with which the backend itself answers.
pub(super) fn status(answer: &Response, expected: &[u16]) -> Option<Finding> {
    let status = answer.status();
    let reason = match status.as_u16() {
        status if expected.contains(&status) => return None,
        300..=399 => Reason::Redirected,
        // From 595 on: what the proxy of a Proxmox node says of another node.
        502..=504 | 595..=599 => Reason::BackendUnavailable,
        _ => Reason::UnexpectedAnswer,
    };
    Some(Finding::new(reason, format!("the endpoint answers HTTP {}", status.as_u16())))
}

/// What kept a request from being answered.
pub(super) fn failure(error: &reqwest::Error) -> Finding {
    match cause::named(error) {
        // The name that a limit of ours goes by.
        Finding { reason: Reason::ConnectionFailed | Reason::TimedOut, .. } if error.is_timeout() => {
            let what = if error.is_connect() { "no connection in time" } else { "connected, but no answer in time" };
            Finding::new(Reason::TimedOut, what)
        }
        finding => finding,
    }
}
