//! What `banlieue operator` and `banlieue controller` have in common: one leader, watches, a health port.
use super::access::Access;
use super::time::span;
use super::word::NAMESPACE;
use super::{election, health};
use crate::k8s::manifests::names;
use std::time::Duration;

/// The flags of both.
#[derive(clap::Args, Debug)]
#[group(skip)]
pub struct Args {
    /// Where banlieue is installed: its Lease is kept there
    #[arg(long, short, env = "POD_NAMESPACE", value_parser = NAMESPACE, default_value = names::DEFAULT_NAMESPACE)]
    pub namespace: String,
    /// The uid of this pod, which holds the Lease
    #[arg(long, env = "POD_UID", hide = true)]
    pub pod_uid: Option<String>,
    /// How it is elected.
    #[command(flatten)]
    pub election: election::Args,
    /// End once a watch has given no sign of life for this long
    #[arg(long, value_name = "TIME", value_parser = span, default_value = "6m")]
    pub watch_patience: Duration,
    /// Where it tells how it is.
    #[command(flatten)]
    pub health: health::Args,
    /// Which API server, where it is not the pod's own.
    #[command(flatten)]
    pub access: Access,
}

impl Args {
    /// Who stands for election: the pod, or outside of a cluster the process that is called `name`.
    pub fn holder(&self, name: &str) -> String {
        self.pod_uid.clone().unwrap_or_else(|| format!("{name}-{}", std::process::id()))
    }
}
