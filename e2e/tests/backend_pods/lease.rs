//! The Lease of a Provider: which of its pods reports.
use crate::site::Site;
use crate::watch;
use anyhow::{Context, Result};
use banlieue::k8s::manifests::names;
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::jiff::Timestamp;
use std::time::Duration;

/// The holder of a Lease; nothing where nobody holds it.
fn holder(lease: &Lease) -> Option<&str> {
    lease.spec.as_ref()?.holder_identity.as_deref().filter(|h| !h.is_empty())
}

/// Waits until somebody else than `but` holds it; how it is called: a pod's uid.
pub(crate) async fn taken(site: &Site, provider: &str, but: &str, limit: Duration) -> Result<String> {
    let name = names::lease(&site.namespace, provider);
    let other = |l: &Lease| holder(l).is_some_and(|h| h != but);
    let lease = watch::see(&site.api(), &name, &format!("a holder other than {but:?}"), limit, other).await?;
    holder(&lease).map(Into::into).context("no holder")
}

/// Waits until somebody holds it.
pub(crate) async fn held(site: &Site, provider: &str) -> Result<String> {
    taken(site, provider, "", Duration::from_secs(15)).await
}

/// Waits until this holder has renewed it after some moment.
pub(crate) async fn renewed(site: &Site, provider: &str, by: &str, after: Timestamp, limit: Duration) -> Result<()> {
    let name = names::lease(&site.namespace, provider);
    let at = |l: &Lease| l.spec.as_ref().and_then(|s| s.renew_time.as_ref()).map(|at| at.0);
    let good = |l: &Lease| holder(l) == Some(by) && at(l) > Some(after);
    watch::see(&site.api(), &name, &format!("renewed by {by} after {after}"), limit, good).await?;
    Ok(())
}
