//! [`Escape`]: applies that the API server reads as they were written, whatever characters are in them.
//!
//! An apply is sent as JSON and read as YAML 1.1, which refuses some characters that JSON has as they are, and takes others
//! for ends of lines (YAML 1.1, section 5.1 and 5.4). As `\uXXXX` they mean the same in both.
use futures::FutureExt;
use http::header::CONTENT_TYPE;
use kube::client::Body;
use std::task::{Context, Poll};
use tower::{Layer, Service};

/// The content type of an apply.
const APPLY: &[u8] = b"application/apply-patch+yaml";

/// The layer of a client that writes applies so.
#[derive(Clone, Copy, Debug)]
pub(super) struct Escape;

impl<S> Layer<S> for Escape {
    type Service = Escaped<S>;

    fn layer(&self, inner: S) -> Escaped<S> {
        Escaped(inner)
    }
}

/// A service whose applies are written so.
#[derive(Clone, Debug)]
pub(super) struct Escaped<S>(S);

impl<S: Service<http::Request<Body>>> Service<http::Request<Body>> for Escaped<S> {
    type Response = S::Response;
    type Error = S::Error;
    type Future = S::Future;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.0.poll_ready(cx)
    }

    fn call(&mut self, mut request: http::Request<Body>) -> S::Future {
        let applies = request.headers().get(CONTENT_TYPE).is_some_and(|t| t.as_bytes() == APPLY);
        // A body that is there as a whole can be cloned, and read at once.
        if applies
            && let Some(Some(Ok(bytes))) = request.body().try_clone().map(|b| b.collect_bytes().now_or_never())
            && let Some(escaped) = escaped(&bytes)
        {
            *request.body_mut() = escaped.into_bytes().into();
        }
        self.0.call(request)
    }
}

/// The same JSON without such characters; nothing where it has none. They can only be within strings.
fn escaped(json: &[u8]) -> Option<String> {
    let text = std::str::from_utf8(json).ok().filter(|text| text.contains(unreadable))?;
    let mut escaped = String::with_capacity(text.len() + 64);
    for c in text.chars() {
        match unreadable(c) {
            true => escaped.push_str(&format!("\\u{:04x}", u32::from(c))),
            false => escaped.push(c),
        }
    }
    Some(escaped)
}

/// What YAML does not take for itself, of what JSON writes as it is. All of it has four digits.
fn unreadable(c: char) -> bool {
    matches!(c, '\u{7f}'..='\u{9f}' | '\u{2028}' | '\u{2029}' | '\u{feff}' | '\u{fffe}' | '\u{ffff}')
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};
    use std::sync::{Arc, Mutex};

    /// YAML 1.1: `c-printable`, less the byte order mark and `b-generic`, which are no content of a line.
    fn printable(c: char) -> bool {
        let line_ends = ['\r', '\n', '\u{85}', '\u{2028}', '\u{2029}', '\u{feff}'];
        let printable = matches!(c, '\t' | ' '..='~' | '\u{a0}'..='\u{d7ff}' | '\u{e000}'..='\u{fffd}' | '\u{10000}'..);
        printable && !line_ends.contains(&c)
    }

    #[test]
    fn every_character_is_one_of_yaml_and_means_what_it_did() {
        for c in '\0'..=char::MAX {
            let body = serde_json::to_vec(&json!({ "a": format!("{c}\\u{c}\"") })).unwrap();
            let sent = escaped(&body).unwrap_or_else(|| String::from_utf8(body.clone()).unwrap());
            assert!(sent.chars().all(printable), "{c:?}: {sent:?}");
            let (before, after): (Value, Value) =
                (serde_json::from_slice(&body).unwrap(), serde_json::from_str(&sent).unwrap());
            assert_eq!(before, after, "{c:?}");
        }
    }

    #[tokio::test]
    async fn applies_alone_are_changed() {
        for (content_type, expected) in [
            ("application/apply-patch+yaml", r#"{"a":"\ufeff日"}"#),
            ("application/merge-patch+json", "{\"a\":\"\u{feff}日\"}"),
        ] {
            let sent = Arc::new(Mutex::new(None));
            let inner = tower::service_fn(async |request: http::Request<Body>| {
                let bytes = request.into_body().collect_bytes().await?;
                *sent.lock().unwrap() = Some(String::from_utf8(bytes.to_vec()).unwrap());
                Ok::<_, kube::Error>(())
            });
            let request = http::Request::patch("/").header(CONTENT_TYPE, content_type);
            let body = serde_json::to_vec(&json!({"a": "\u{feff}日"})).unwrap();
            Escape.layer(inner).call(request.body(body.into()).unwrap()).await.unwrap();
            assert_eq!(sent.lock().unwrap().as_deref(), Some(expected));
        }
    }
}
