//! A Proxmox VE cluster, over its REST API: four GETs with a token.
//!
//! It was written after the documented shapes, and tested against a server that has them. No real Proxmox was tested.
mod api;
mod inventory;
#[cfg(test)]
mod tests;

use super::label::shown;
use super::meter::LoginResult;
use super::{Inventory, Meter, Probe, Session, Target};
use crate::k8s::crd::{BackendInfo, Finding, FindingReason as Reason};
use api::{Api, GetError};
use futures::future::BoxFuture;
use serde::Deserialize;
use serde::de::DeserializeOwned;

/// The major versions whose documented shapes are the ones expected here.
const DOCUMENTED: std::ops::RangeInclusive<u32> = 7..=9;

/// A Proxmox VE cluster.
pub struct Proxmox {
    api: Api,
    meter: Meter,
    /// Whether the token was good at the last request.
    let_in: bool,
}

/// The answer to `/version`.
#[derive(Deserialize)]
struct Version {
    version: String,
    #[serde(default)]
    repoid: String,
}

impl Proxmox {
    /// Prepares a session; nothing is sent yet.
    ///
    /// # Errors
    /// When the Secret lacks `username` (`user@realm!tokenid`) or `tokenValue`, or endpoint or CA bundle cannot be used.
    pub fn connect(target: &Target, meter: &Meter) -> Result<Self, Finding> {
        Ok(Self { api: Api::new(target, meter)?, meter: meter.clone(), let_in: false })
    }

    async fn look(&mut self) -> Result<Probe, Finding> {
        let version: Result<Version, Finding> = self.api.get("version", &[]).await.map_err(|error| match error {
            GetError::Failed(finding) => finding,
            GetError::Denied(words) => Finding::new(Reason::LoginNotPermitted, format!("/version: {words}")),
        });
        match version.as_ref().map_err(|finding| finding.reason) {
            Ok(_) if self.let_in => {}
            Ok(_) => self.meter.login(LoginResult::Ok),
            Err(Reason::CredentialsRefused | Reason::LoginNotPermitted) => self.meter.login(LoginResult::Refused),
            Err(_) if self.let_in => {}
            Err(_) => self.meter.login(LoginResult::Failed),
        }
        self.let_in = version.is_ok();
        let Version { version, repoid } = version?;
        let told = |text: &str| Some(shown(text)).filter(|t| !t.is_empty());
        let major = version.split('.').next().and_then(|n| n.parse().ok()).unwrap_or(0);
        let (first, last) = (DOCUMENTED.start(), DOCUMENTED.end());
        Ok(Probe {
            untested: (!DOCUMENTED.contains(&major)).then(|| {
                format!("it has version {:?}; the shapes known here are of {first} to {last}", shown(&version))
            }),
            info: BackendInfo {
                product: Some("Proxmox VE".into()),
                version: told(&version),
                build: told(&repoid),
                ..Default::default()
            },
            about: None,
        })
    }

    async fn read(&mut self) -> Result<Inventory, Finding> {
        let mut problems = Vec::new();
        let nodes = self.list("nodes", &[], &mut problems).await?;
        let parts = self.list("cluster/status", &[], &mut problems).await?;
        let storages = self.list("cluster/resources", &[("type", "storage")], &mut problems).await?;
        Ok(inventory::domains(&nodes, &parts, &storages, problems))
    }

    /// A list, or an empty one and a problem where the token may not read it.
    async fn list<T: DeserializeOwned>(
        &self,
        path: &str,
        query: &[(&str, &str)],
        problems: &mut Vec<String>,
    ) -> Result<Vec<T>, Finding> {
        match self.api.get(path, query).await {
            Ok(list) => Ok(list),
            Err(GetError::Failed(finding)) => Err(finding),
            Err(GetError::Denied(words)) => {
                problems.push(format!("/{path}: {words}"));
                Ok(vec![])
            }
        }
    }
}

impl Session for Proxmox {
    fn probe(&mut self) -> BoxFuture<'_, Result<Probe, Finding>> {
        Box::pin(self.look())
    }

    fn inventory(&mut self) -> BoxFuture<'_, Result<Inventory, Finding>> {
        Box::pin(self.read())
    }

    /// There is nothing to give back: a token is no session.
    fn logout(&mut self) -> BoxFuture<'_, ()> {
        Box::pin(std::future::ready(()))
    }
}
