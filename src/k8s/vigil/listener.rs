//! [`Listener`]: hears every request to the API server and its answer: counts them, and takes signs of life of watches.
use super::{LIVED, Request, Vigil};
use futures::future::BoxFuture;
use http_body::{Body, Frame, SizeHint};
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Instant;
use tower::{Layer, Service};

/// The layer of a client under which a [`Vigil`] is kept.
#[derive(Clone, Debug)]
pub struct Listener {
    vigil: Vigil,
    host: String,
}

impl Listener {
    /// For a client of the API server at `host`.
    pub fn new(vigil: &Vigil, host: impl Into<String>) -> Self {
        Self { vigil: vigil.clone(), host: host.into() }
    }
}

impl<S> Layer<S> for Listener {
    type Service = Heard<S>;

    fn layer(&self, inner: S) -> Heard<S> {
        Heard { inner, listener: self.clone() }
    }
}

/// A service that is listened to.
#[derive(Clone, Debug)]
pub struct Heard<S> {
    inner: S,
    listener: Listener,
}

impl<S, Q, B> Service<http::Request<Q>> for Heard<S>
where
    S: Service<http::Request<Q>, Response = http::Response<B>>,
    S::Future: Send + 'static,
    S::Error: Send,
{
    type Response = http::Response<Pulse<B>>;
    type Error = S::Error;
    type Future = BoxFuture<'static, Result<Self::Response, S::Error>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, request: http::Request<Q>) -> Self::Future {
        let Listener { vigil, host } = self.listener.clone();
        let method = request.method().to_string();
        let watches = request.uri().query().is_some_and(|q| q.split('&').any(|p| p == "watch=true"));
        let path = watches.then(|| request.uri().path().to_owned());
        let answer = self.inner.call(request);
        Box::pin(async move {
            if let Some(path) = &path {
                tokio::time::sleep(vigil.pause(path, Instant::now())).await;
            }
            let answer = answer.await;
            let code = answer.as_ref().map_or_else(|_| "<error>".to_owned(), |a| a.status().as_str().to_owned());
            vigil.requests.get_or_create(&Request { code, method, host }).inc();
            let answer = answer?;
            let path = path.filter(|_| answer.status().is_success());
            if let Some(path) = &path {
                vigil.begun(path);
            }
            let watch = path.map(|path| (vigil, path, Instant::now()));
            Ok(answer.map(|body| Pulse { body, watch }))
        })
    }
}

/// The body of an answer; each frame of a watch's is a sign of life.
#[derive(Debug)]
pub struct Pulse<B> {
    body: B,
    watch: Option<(Vigil, String, Instant)>,
}

impl<B: Body + Unpin> Body for Pulse<B> {
    type Data = B::Data;
    type Error = B::Error;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<B::Data>, B::Error>>> {
        let polled = Pin::new(&mut self.body).poll_frame(cx);
        if let (Poll::Ready(frame), Some((vigil, path, begun))) = (&polled, &self.watch) {
            let now = Instant::now();
            let alive = match frame {
                Some(frame) => frame.is_ok(),
                None => now - *begun >= LIVED,
            };
            if alive {
                vigil.alive(path, now);
            }
        }
        polled
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
