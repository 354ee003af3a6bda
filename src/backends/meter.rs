//! What is measured of the traffic with a backend.
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;
use std::time::Duration;

/// Counters of logins and times of requests; clones count together.
#[derive(Clone, Debug)]
pub struct Meter {
    requests: Family<Request, Histogram, fn() -> Histogram>,
    logins: Family<Login, Counter>,
}

#[derive(Clone, Debug, EncodeLabelSet, Eq, Hash, PartialEq)]
struct Request {
    method: String,
}

#[derive(Clone, Debug, EncodeLabelSet, Eq, Hash, PartialEq)]
struct Login {
    result: &'static str,
}

/// How a login ended.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum LoginResult {
    /// The backend let us in.
    Ok,
    /// It refused user or password.
    Refused,
    /// Anything else.
    Failed,
}

impl Default for Meter {
    fn default() -> Self {
        let times: fn() -> Histogram =
            || Histogram::new([0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0]);
        Self { requests: Family::new_with_constructor(times), logins: Family::default() }
    }
}

impl Meter {
    /// Makes them known as `banlieue_backend_*`.
    pub fn register(&self, registry: &mut Registry) {
        let help = "Time of requests to the backend, by method";
        registry.register("banlieue_backend_request_seconds", help, self.requests.clone());
        registry.register("banlieue_backend_logins", "Logins at the backend, by result", self.logins.clone());
    }

    pub(super) fn request(&self, method: &str, took: Duration) {
        self.requests.get_or_create(&Request { method: method.into() }).observe(took.as_secs_f64());
    }

    pub(super) fn login(&self, result: LoginResult) {
        let result = match result {
            LoginResult::Ok => "ok",
            LoginResult::Refused => "refused",
            LoginResult::Failed => "failed",
        };
        self.logins.get_or_create(&Login { result }).inc();
    }
}
