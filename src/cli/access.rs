//! Which API server a command talks to: kubectl's own flags.
use crate::k8s::client::{Client, NoConnection, Purpose, Source, connect, connect_under};
use crate::k8s::vigil::Vigil;
use std::path::PathBuf;

/// Flags that choose the API server. Without them: `KUBECONFIG`, else the pod's own identity, else `~/.kube/config`.
#[derive(clap::Args, Clone, Debug, Default)]
pub struct Access {
    /// The kubeconfig to use; without it KUBECONFIG, the pod's own identity, or ~/.kube/config
    #[arg(long, help_heading = "Which cluster", value_name = "FILE")]
    pub kubeconfig: Option<PathBuf>,
    /// The context of the kubeconfig to use; without it the current one
    #[arg(long, help_heading = "Which cluster", value_name = "NAME")]
    pub context: Option<String>,
}

impl Access {
    /// A client that has had one answer from the API server.
    ///
    /// # Errors
    /// One line that says what is wrong and what to do.
    pub async fn connect(&self, purpose: Purpose) -> Result<Client, NoConnection> {
        connect(&self.source(None), purpose).await
    }

    /// A client that acts as somebody else, where the person may.
    ///
    /// # Errors
    /// One line that says what is wrong and what to do.
    pub async fn connect_as(&self, purpose: Purpose, user: &str) -> Result<Client, NoConnection> {
        connect(&self.source(Some(user)), purpose).await
    }

    /// The client of a role, whose watches are kept under `vigil`.
    ///
    /// # Errors
    /// One line that says what is wrong and what to do.
    pub async fn connect_under(&self, vigil: &Vigil) -> Result<Client, NoConnection> {
        connect_under(vigil, &self.source(None)).await
    }

    fn source(&self, user: Option<&str>) -> Source {
        let impersonate = user.map(str::to_owned);
        Source { kubeconfig: self.kubeconfig.clone(), context: self.context.clone(), impersonate }
    }
}
