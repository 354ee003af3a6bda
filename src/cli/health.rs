//! The health port, which every role has.
use crate::k8s::health::Server;
use crate::k8s::manifests::pod;
use anyhow::Context;

/// Its flag.
#[derive(clap::Args, Debug)]
#[group(id = "health")]
pub struct Args {
    /// The port of /livez, /readyz and /metrics
    #[arg(long, value_name = "PORT", default_value_t = pod::HEALTH_PORT.unsigned_abs() as u16)]
    pub health_port: u16,
}

impl Args {
    /// The health server, on its port.
    ///
    /// # Errors
    /// When the port is taken.
    pub async fn server(&self) -> anyhow::Result<Server> {
        let port = self.health_port;
        Server::bind(port).await.with_context(|| format!("cannot listen on port {port}; see --health-port"))
    }
}
