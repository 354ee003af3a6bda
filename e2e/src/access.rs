//! Talking to a cluster: clients as the administrator or as a ServiceAccount, and kubectl.

use std::process::{Command, Output};

use anyhow::{Context, Result, bail};
use k8s_openapi::api::authentication::v1::{TokenRequest, TokenRequestSpec};
use k8s_openapi::api::core::v1::ServiceAccount;
use kube::api::PostParams;
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Api, Client, Config};

use crate::cluster::Cluster;

/// How long a token lasts, in seconds: a day, since the longest suites take more than an hour.
const TOKEN: i64 = 86_400;

/// Installs the cryptography of all clients, once.
pub fn install_crypto() {
    // An error says that one is installed already, which is as good.
    let _ = rustls::crypto::ring::default_provider().install_default();
}

impl Cluster {
    /// The administrator's client configuration, to build clients with settings of a test's own.
    pub async fn config(&self) -> Result<Config> {
        install_crypto();
        let kubeconfig = Kubeconfig::read_from(self.kubeconfig_path())?;
        let mut config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await?;
        config.proxy_url = None;
        Ok(config)
    }

    /// The administrator's client (`system:masters`: it proves nothing about RBAC).
    pub async fn client(&self) -> Result<Client> {
        Ok(Client::try_from(self.config().await?)?)
    }

    /// A client with the rights of the ServiceAccount `namespace/name`, by a token of its own.
    pub async fn client_as(&self, service_account: &str) -> Result<Client> {
        let mut config = self.config().await?;
        let token = self.token(service_account).await?;
        config.auth_info = kube::config::AuthInfo { token: Some(token.into()), ..Default::default() };
        Ok(Client::try_from(config)?)
    }

    /// A token of the ServiceAccount `namespace/name`, good for an hour.
    pub async fn token(&self, service_account: &str) -> Result<String> {
        let (namespace, name) = service_account.split_once('/').context("name a ServiceAccount as namespace/name")?;
        let api: Api<ServiceAccount> = Api::namespaced(self.client().await?, namespace);
        let spec = TokenRequestSpec { expiration_seconds: Some(TOKEN), ..Default::default() };
        let request = TokenRequest { spec: Some(spec), ..Default::default() };
        let answer = api.create_token_request(name, &PostParams::default(), &request).await?;
        answer.status.and_then(|s| s.token).context("the API server gave no token")
    }

    /// A kubeconfig with the rights of the ServiceAccount `namespace/name`, as text: for programs that act as a role.
    pub async fn kubeconfig_as(&self, service_account: &str) -> Result<String> {
        let token = self.token(service_account).await?;
        let mut kubeconfig = Kubeconfig::read_from(self.kubeconfig_path())?;
        for user in &mut kubeconfig.auth_infos {
            let auth = kube::config::AuthInfo { token: Some(token.clone().into()), ..Default::default() };
            user.auth_info = Some(auth);
        }
        let mut value = serde_json::to_value(&kubeconfig)?;
        // The token is a secret, which the type leaves out of its text.
        for user in value["users"].as_array_mut().into_iter().flatten() {
            user["user"]["token"] = token.clone().into();
        }
        Ok(serde_json::to_string_pretty(&value)?)
    }

    /// A kubectl that is set up for this cluster.
    pub fn kubectl_command(&self) -> Command {
        let mut command = Command::new(self.kubectl_program());
        command.env("KUBECONFIG", self.kubeconfig_path()).env("NO_PROXY", "*").env("no_proxy", "*");
        command
    }

    /// Runs kubectl and returns what it printed; an error holds what it complained about.
    pub fn kubectl<S: AsRef<std::ffi::OsStr>>(&self, args: impl IntoIterator<Item = S>) -> Result<String> {
        let mut command = self.kubectl_command();
        command.args(args);
        printed(&command.output().context("cannot run kubectl")?)
    }

    /// Runs `kubectl apply -f -` with the text given.
    pub fn apply(&self, yaml: &str) -> Result<String> {
        use std::io::Write;
        let mut command = self.kubectl_command();
        command.args(["apply", "-f", "-"]);
        let pipe = std::process::Stdio::piped;
        let mut child = command.stdin(pipe()).stdout(pipe()).stderr(pipe()).spawn().context("cannot run kubectl")?;
        child.stdin.take().context("kubectl has no input")?.write_all(yaml.as_bytes())?;
        printed(&child.wait_with_output()?)
    }
}

fn printed(output: &Output) -> Result<String> {
    if !output.status.success() {
        bail!("kubectl: {}", String::from_utf8_lossy(&output.stderr).trim());
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}
