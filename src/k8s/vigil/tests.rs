use super::*;
use http_body::{Body, Frame, SizeHint};
use std::collections::VecDeque;
use std::future::{Ready, poll_fn, ready};
use std::pin::Pin;
use std::task::{Context, Poll};
use tower::{Layer, Service};

const PODS: &str = "/api/v1/pods";
const SECOND: Duration = Duration::from_secs(1);

fn silent() -> watcher::Error {
    let status = kube::core::Status::failure("pods is forbidden: no", "Forbidden").with_code(403);
    watcher::Error::InitialListFailed(kube::Error::Api(status.boxed()))
}

#[test]
fn a_silent_watch_is_doubted_then_lost() {
    let vigil = Vigil::new(20 * SECOND);
    vigil.attend(PODS);
    let start = Instant::now();
    vigil.alive(PODS, start);
    let check = |after: u32| vigil.checks(start + after * SECOND).remove(0);
    assert_eq!(check(9), ("watch-pods".into(), Ok(())));
    assert_eq!(check(10), ("watch-pods".into(), Err("silent for 10 s".into())));
    assert_eq!(vigil.overdue(start + 19 * SECOND), None);
    assert!(vigil.overdue(start + 20 * SECOND).is_some_and(|words| words.contains("watch of pods")));
    vigil.alive(PODS, start + 20 * SECOND);
    assert_eq!(vigil.overdue(start + 39 * SECOND), None);
}

#[test]
fn a_watch_that_cannot_start_says_why_at_once_and_a_start_alone_does_not_save_it() {
    let vigil = Vigil::new(20 * SECOND);
    let pods = vigil.attend(PODS);
    let start = Instant::now();
    pods.failed(&silent());
    assert_eq!(vigil.checks(start), [("watch-pods".into(), Err("pods is forbidden: no".into()))]);
    assert!(vigil.overdue(start + 21 * SECOND).is_some_and(|words| words.contains("pods is forbidden")));
    vigil.begun(PODS);
    assert_eq!(vigil.checks(start), [("watch-pods".into(), Ok(()))]);
    assert!(vigil.overdue(start + 21 * SECOND).is_some());
}

/// A server that ends each watch at once would be asked without a pause: the watcher has none of its own there.
#[test]
fn a_watch_is_begun_once_a_second_at_most() {
    let vigil = Vigil::new(360 * SECOND);
    vigil.attend(PODS);
    let now = Instant::now();
    let pauses: Vec<_> = (0..3).map(|_| vigil.pause(PODS, now)).collect();
    assert_eq!(pauses, [Duration::ZERO, SECOND, 2 * SECOND]);
    assert_eq!(vigil.pause(PODS, now + 10 * SECOND), Duration::ZERO);
    assert_eq!(vigil.pause("/api/v1/secrets", now), Duration::ZERO, "nobody attends to it");
}

/// A body of these frames.
struct Frames(VecDeque<&'static [u8]>);

impl Body for Frames {
    type Data = &'static [u8];
    type Error = std::convert::Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Self::Data>, Self::Error>>> {
        Poll::Ready(self.0.pop_front().map(|data| Ok(Frame::data(data))))
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::default()
    }
}

struct Server(u16);

impl Service<http::Request<()>> for Server {
    type Response = http::Response<Frames>;
    type Error = std::convert::Infallible;
    type Future = Ready<Result<Self::Response, Self::Error>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, _: http::Request<()>) -> Self::Future {
        let mut answer = http::Response::new(Frames([&b"{}"[..]].into()));
        *answer.status_mut() = http::StatusCode::from_u16(self.0).unwrap();
        ready(Ok(answer))
    }
}

/// Asks a server that answers with this status, reads the frame, and says whether that was a sign of life of the watch.
async fn heard(status: u16, uri: &str) -> bool {
    let vigil = Vigil::new(360 * SECOND);
    let mut registry = Registry::default();
    vigil.register(&mut registry);
    vigil.attend(PODS);
    let long_ago = Instant::now().checked_sub(10 * SECOND).unwrap();
    vigil.alive(PODS, long_ago);
    let mut service = Listener::new(&vigil, "server:6443").layer(Server(status));
    let mut answer = service.call(http::Request::get(uri).body(()).unwrap()).await.unwrap();
    assert_eq!(vigil.lock()[PODS].alive, long_ago, "the start alone is no sign of life");
    while poll_fn(|cx| Pin::new(answer.body_mut()).poll_frame(cx)).await.is_some() {}
    let mut text = String::new();
    prometheus_client::encoding::prometheus_text::encode(&mut text, &registry).unwrap();
    let count = format!("rest_client_requests_total{{code=\"{status}\",method=\"GET\",host=\"server:6443\"}} 1");
    assert!(text.contains(&count), "{text}");
    vigil.lock()[PODS].alive != long_ago
}

#[tokio::test]
async fn what_a_watch_sends_is_a_sign_of_life_and_nothing_else() {
    assert!(heard(200, "/api/v1/pods?&watch=true&timeoutSeconds=290").await);
    assert!(!heard(403, "/api/v1/pods?&watch=true&timeoutSeconds=290").await);
    assert!(!heard(200, "/api/v1/pods?&limit=500").await);
    assert!(!heard(200, "/api/v1/namespaces?&watch=true").await);
}
