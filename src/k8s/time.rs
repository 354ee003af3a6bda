//! The one edge between the API's clock type and the domain's.
use chrono::{DateTime, Utc};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use k8s_openapi::jiff::Timestamp;

/// The API's time in the domain. Out of chrono's range, which no server sends, it is the epoch.
pub fn from_api(time: &Time) -> DateTime<Utc> {
    DateTime::from_timestamp(time.0.as_second(), 0).unwrap_or_default()
}

/// The domain's time for the API, in microseconds: finer digits would differ after a round trip.
pub fn to_api(time: DateTime<Utc>) -> Timestamp {
    Timestamp::from_microsecond(time.timestamp_micros()).unwrap_or_default()
}
