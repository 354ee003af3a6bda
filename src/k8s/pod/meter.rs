//! What a pod measures of its backend as a whole.
use super::Seen;
use chrono::Utc;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;

/// Gauges of the last look.
#[derive(Clone, Debug, Default)]
pub(super) struct Meter {
    up: Gauge,
    leads: Gauge,
    last_success: Gauge,
    failure_domains: Gauge,
}

impl Meter {
    pub(super) fn register(&self, registry: &mut Registry) {
        let mut add = |name: &str, help: &str, gauge: &Gauge| registry.register(name, help, gauge.clone());
        add("banlieue_backend_up", "Whether the last look reached the backend and was let in", &self.up);
        add("banlieue_backend_leads", "Whether this pod writes the status of its Provider", &self.leads);
        let help = "When the backend was last reached, in seconds since 1970";
        add("banlieue_backend_last_success_timestamp_seconds", help, &self.last_success);
        add("banlieue_backend_failure_domains", "Failure domains as last read", &self.failure_domains);
    }

    pub(super) fn seen(&self, seen: &Seen) {
        self.up.set(seen.reached.into());
        if seen.reached {
            self.last_success.set(Utc::now().timestamp());
        }
        if let Some(domains) = &seen.domains {
            self.failure_domains.set(i64::try_from(domains.len()).unwrap_or(i64::MAX));
        }
    }

    pub(super) fn leads(&self, leads: bool) {
        self.leads.set(leads.into());
    }
}
