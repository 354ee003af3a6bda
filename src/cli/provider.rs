//! `banlieue provider`: the glue between a pod and its backend.
use super::access::Access;
use super::health;
use super::word::{NAMESPACE, PROVIDER, compiled, one_of};
use crate::backends::{Credentials, Keeper, Meter, Target};
use crate::k8s::client::Purpose;
use crate::k8s::crd::Backend;
use crate::k8s::health::Health;
use crate::k8s::pod::{self, Options, Pod, Probe, Seen, herd};
use prometheus_client::registry::Registry;

/// Its flags.
#[derive(clap::Args, Debug)]
pub struct Args {
    /// The kind of the backend
    #[arg(value_parser = one_of(Backend::ALL, Backend::as_str))]
    pub backend: Backend,
    /// The name of the Provider it serves; without it, every Provider of the backend in the namespace
    #[arg(long, env = "BANLIEUE_PROVIDER_NAME", value_name = "NAME", value_parser = PROVIDER)]
    pub provider_name: Option<String>,
    /// The namespace of the Provider, or of the Providers
    #[arg(long, short, env = "BANLIEUE_PROVIDER_NAMESPACE", value_parser = NAMESPACE)]
    pub namespace: String,
    /// The uid of the Provider: for another one of that name it neither logs in nor writes
    #[arg(long, env = "BANLIEUE_PROVIDER_UID", value_name = "UID", requires = "provider_name")]
    pub provider_uid: Option<String>,
    /// The name of this pod, for Events
    #[arg(long, env = "POD_NAME", default_value = "banlieue-provider", hide = true)]
    pub pod_name: String,
    /// The uid of this pod, which holds the Lease
    #[arg(long, env = "POD_UID", hide = true)]
    pub pod_uid: Option<String>,
    /// Where it tells how it is.
    #[command(flatten)]
    pub health: health::Args,
    /// Which API server, where it is not the pod's own.
    #[command(flatten)]
    pub access: Access,
}

/// Runs until SIGTERM or SIGINT; then the login and the Lease are given back.
///
/// # Errors
/// When this build lacks the backend, the API server does not answer at the start, or the health port is taken.
pub async fn run(args: Args) -> anyhow::Result<()> {
    compiled(args.backend)?;
    let server = args.health.server().await?;
    let client = args.access.connect(Purpose::Role).await?;
    let pod_uid = args.pod_uid.unwrap_or_else(|| format!("{}-{}", args.pod_name, std::process::id()));
    let options = Options {
        backend: args.backend,
        namespace: args.namespace,
        provider: args.provider_name.clone().unwrap_or_default(),
        provider_uid: args.provider_uid,
        pod_name: args.pod_name,
        pod_uid,
    };
    let serves_all = args.provider_name.is_none();
    let check = if serves_all { herd::WATCHES } else { pod::READY };
    let (health, meter) = (Health::waiting_for(&[check]), Meter::default());
    let mut metrics = Registry::default();
    meter.register(&mut metrics);
    let backend = options.backend;
    let keeper = move || Keeper::new(backend, meter.clone());
    if serves_all {
        let server = tokio::spawn(server.serve(health.clone(), metrics, super::signal::terminated()));
        let served = herd::serve(client, options, keeper, health, super::signal::terminated()).await;
        server.abort();
        return served;
    }
    let pod = Pod::new(client, options, keeper(), health.clone(), &mut metrics);
    let server = tokio::spawn(server.serve(health, metrics, super::signal::terminated()));
    pod.serve(super::signal::terminated()).await;
    server.abort();
    Ok(())
}

impl Probe for Keeper {
    async fn probe(&mut self, target: &pod::Target, inventory: bool) -> Seen {
        let target = Target {
            endpoint: target.connection.endpoint.clone(),
            insecure_skip_tls_verify: target.connection.insecure_skip_tls_verify,
            ca_bundle: target.ca_bundle.clone(),
            credentials: Credentials::new(target.secret.clone()),
        };
        let found = Keeper::probe(self, &target, inventory).await;
        Seen { findings: found.findings, info: found.info, domains: found.domains, reached: found.reached }
    }

    async fn logout(&mut self) {
        Keeper::logout(self).await;
    }
}
