//! What the stored status is known to speak of.
use crate::k8s::crd::Provider;

/// A generation of the spec that was reported, and its endpoint.
#[derive(Debug, Default)]
pub(super) struct Reported {
    generation: Option<i64>,
    endpoint: String,
}

impl Reported {
    /// That of this Provider, once its status has been written.
    pub(super) fn of(provider: &Provider) -> Self {
        Self { generation: provider.metadata.generation, endpoint: provider.spec.connection.endpoint.clone() }
    }

    /// Takes in what another pod has reported.
    pub(super) fn follow(&mut self, provider: &Provider) {
        if provider.status.as_ref().is_some_and(|s| s.observed_generation == provider.metadata.generation) {
            *self = Self::of(provider);
        }
    }

    /// Its generation, where the Provider still names that backend: a pause, another Secret or CA make no other one of it.
    pub(super) fn of_this_backend(&self, provider: &Provider) -> Option<i64> {
        self.generation.filter(|_| self.endpoint == provider.spec.connection.endpoint)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn provider(generation: i64, observed: i64, endpoint: &str) -> Provider {
        serde_json::from_value(json!({
            "apiVersion": "banlieue.io/v1alpha1", "kind": "Provider",
            "metadata": {"name": "lab", "generation": generation},
            "spec": {"providerClassRef": {"name": "c"}, "paused": generation % 2 == 0,
                "connection": {"endpoint": endpoint, "credentialsRef": {"name": "s"}}},
            "status": {"observedGeneration": observed},
        }))
        .unwrap()
    }

    #[test]
    fn a_pause_is_no_other_backend_and_an_endpoint_is() {
        let mut reported = Reported::default();
        assert_eq!(reported.of_this_backend(&provider(1, 0, "https://a")), None);
        reported.follow(&provider(3, 1, "https://a"));
        assert_eq!(reported.of_this_backend(&provider(3, 1, "https://a")), None, "of generation 1 nothing is known");
        reported.follow(&provider(3, 3, "https://a"));
        for paused_and_not in [4, 5] {
            assert_eq!(reported.of_this_backend(&provider(paused_and_not, 3, "https://a")), Some(3));
        }
        assert_eq!(reported.of_this_backend(&provider(6, 3, "https://b")), None);
        reported = Reported::of(&provider(6, 3, "https://b"));
        assert_eq!(reported.of_this_backend(&provider(7, 6, "https://b")), Some(6));
    }
}
