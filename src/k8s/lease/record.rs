//! The Lease object, as far as an election is concerned.
use k8s_openapi::api::coordination::v1::{Lease, LeaseSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{MicroTime, ObjectMeta, OwnerReference};
use k8s_openapi::jiff::Timestamp;
use std::collections::BTreeMap;
use std::time::Duration;

/// What of a Lease tells whether its holder is alive.
#[derive(Clone, Debug, Hash, PartialEq, Eq)]
pub struct Record {
    /// Its holder; empty when it was released.
    pub holder: String,
    /// When the holder wrote it, by the holder's clock: compared for change only.
    pub renewed: Option<String>,
    /// How long the holder asked others to wait.
    pub lasts: Duration,
}

impl Record {
    /// Whether its holder gave it back. A Lease whose holder was edited away still tells when that one last renewed it.
    pub fn free(&self) -> bool {
        self.holder.is_empty() && self.renewed.is_none()
    }
}

impl From<&Lease> for Record {
    fn from(lease: &Lease) -> Self {
        let spec = lease.spec.clone().unwrap_or_default();
        let seconds = spec.lease_duration_seconds.and_then(|s| u64::try_from(s).ok()).unwrap_or_default();
        Record {
            holder: spec.holder_identity.unwrap_or_default(),
            renewed: spec.renew_time.map(|t| t.0.to_string()),
            lasts: Duration::from_secs(seconds),
        }
    }
}

/// What a Lease carries besides the election; set anew at each acquisition.
#[derive(Clone, Debug, Default)]
pub struct Meta {
    /// Annotations, added to those that are there.
    pub annotations: BTreeMap<String, String>,
    /// Labels, added to those that are there.
    pub labels: BTreeMap<String, String>,
    /// The one owner, which replaces those that are there; without one they are left alone.
    pub owner: Option<OwnerReference>,
}

/// The Lease of a new holder: what was there, with our name and metadata. Its resourceVersion stays, so that a PUT of it
/// fails if anyone else was faster; without one (it is missing) a PUT creates it.
pub(super) fn acquired(
    there: Option<Lease>,
    name: &str,
    meta: &Meta,
    identity: &str,
    lease: Duration,
    now: Timestamp,
) -> Lease {
    let there = there.unwrap_or_else(|| Lease {
        metadata: ObjectMeta { name: Some(name.into()), ..Default::default() },
        spec: None,
    });
    let before = there.spec.unwrap_or_default();
    let mut metadata = there.metadata;
    metadata.managed_fields = None;
    extend(&mut metadata.annotations, &meta.annotations);
    extend(&mut metadata.labels, &meta.labels);
    if let Some(owner) = &meta.owner {
        metadata.owner_references = Some(vec![owner.clone()]);
    }
    let spec = LeaseSpec {
        holder_identity: Some(identity.into()),
        lease_duration_seconds: i32::try_from(lease.as_secs()).ok(),
        acquire_time: Some(micro(now)),
        renew_time: Some(micro(now)),
        lease_transitions: Some(before.lease_transitions.map_or(0, |n| n.saturating_add(1))),
        ..before
    };
    Lease { metadata, spec: Some(spec) }
}

/// The Lease renewed by its holder.
pub(super) fn renewed(mut there: Lease, now: Timestamp) -> Lease {
    there.metadata.managed_fields = None;
    there.spec.get_or_insert_default().renew_time = Some(micro(now));
    there
}

/// The Lease given back: without a holder and a time of renewal, so that the next one need not wait.
pub(super) fn released(mut there: Lease) -> Lease {
    there.metadata.managed_fields = None;
    let spec = there.spec.get_or_insert_default();
    spec.holder_identity = None;
    spec.renew_time = None;
    there
}

fn extend(there: &mut Option<BTreeMap<String, String>>, ours: &BTreeMap<String, String>) {
    if !ours.is_empty() {
        there.get_or_insert_default().extend(ours.clone());
    }
}

/// MicroTime has six digits: more would differ after a round trip.
fn micro(t: Timestamp) -> MicroTime {
    MicroTime(Timestamp::from_microsecond(t.as_microsecond()).unwrap_or(t))
}
