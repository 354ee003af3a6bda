//! A libvirt host, over the remote protocol: one connection, kept, read-only; the client certificate is the login.
mod address;
mod dial;
mod procedure;
#[cfg(test)]
mod tests;
mod wire;
mod xdr;

use super::label::{name, shown};
use super::meter::LoginResult;
use super::{Inventory, Meter, Probe, Session, Target};
use crate::k8s::crd::{BackendInfo, FailureDomain, Finding, FindingReason as Reason};
use dial::Dial;
use futures::future::BoxFuture;
use procedure::Procedure;
use std::collections::BTreeSet;
use wire::{CallError, Wire, unexpected};

/// How many pools and networks of a domain the API takes.
const MOST_NAMES: usize = 64;
/// libvirt's code for what a driver does not have.
const NO_SUPPORT: u32 = 3;
/// Its code for a driver that the host does not have.
const NO_CONNECT: u32 = 5;
/// Its codes for what this client may not do.
const DENIED: [u32; 4] = [29, 45, 79, 88];

/// A libvirt host.
pub struct Libvirt {
    dial: Dial,
    meter: Meter,
    /// The connection, and what the host said when it was made.
    open: Option<(Wire, BackendInfo)>,
}

impl Libvirt {
    /// Prepares a session; nothing is sent yet.
    ///
    /// # Errors
    /// When the Secret lacks `tls.crt` or `tls.key` (not needed in the clear), or endpoint or CA bundle cannot be used.
    pub fn connect(target: &Target, meter: &Meter) -> Result<Self, Finding> {
        Ok(Self { dial: Dial::new(address::parse(&target.endpoint)?, target)?, meter: meter.clone(), open: None })
    }

    /// Connects anew and opens the driver.
    async fn open(&mut self) -> Result<BackendInfo, Finding> {
        self.open = None;
        let opened = async {
            let mut wire = self.dial.connect(&self.meter).await?;
            let info = enter(&mut wire, self.dial.uri()).await?;
            Ok((wire, info))
        };
        let opened: Result<(Wire, BackendInfo), Finding> = opened.await;
        self.meter.login(match opened.as_ref().map_err(|finding| finding.reason) {
            Ok(_) => LoginResult::Ok,
            Err(Reason::ClientCertificateRefused | Reason::LoginNotPermitted) => LoginResult::Refused,
            Err(_) => LoginResult::Failed,
        });
        let (wire, info) = opened?;
        self.open = Some((wire, info.clone()));
        Ok(info)
    }

    async fn look(&mut self) -> Result<Probe, Finding> {
        let kept = self.open.is_some();
        if !kept {
            self.open().await?;
        }
        match self.ask().await {
            // It was restarted since the last look: once more on a new connection.
            Err(Finding { reason: Reason::ConnectionFailed, .. }) if kept => {
                self.open().await?;
                self.ask().await
            }
            result => result,
        }
    }

    async fn ask(&mut self) -> Result<Probe, Finding> {
        let info = self.open.as_ref().map(|(_, info)| info.clone()).unwrap_or_default();
        let node = self.read(Procedure::NodeGetInfo, &[], procedure::node).await?;
        Ok(Probe { info, untested: None, about: Some(node.to_string()) })
    }

    /// A call on the open connection, which is given up when it fails.
    async fn read<T>(
        &mut self,
        procedure: Procedure,
        arguments: &[u8],
        parse: fn(&[u8]) -> Result<T, &'static str>,
    ) -> Result<T, Finding> {
        let Some((wire, _)) = &mut self.open else {
            return Err(Finding::new(Reason::ConnectionFailed, "there is no connection"));
        };
        read(wire, procedure, arguments, parse).await.map_err(|error| match error {
            CallError::Refused(code, words) => refused(code, &words),
            CallError::Failed(finding) => {
                self.open = None;
                finding
            }
        })
    }

    async fn domain(&mut self) -> Result<Inventory, Finding> {
        let hostname = self.read(Procedure::ConnectGetHostname, &[], procedure::text).await?;
        let hostname = match shown(&hostname) {
            nameless if nameless.is_empty() => self.dial.host().to_owned(),
            hostname => hostname,
        };
        let mut problems = Vec::new();
        let datastores = self.names(Procedure::ConnectListAllStoragePools, "storage pools", &mut problems).await?;
        let networks = self.names(Procedure::ConnectListAllNetworks, "networks", &mut problems).await?;
        let domain = FailureDomain {
            name: name(&[&hostname], None),
            host: Some(hostname),
            datastores,
            networks,
            ..Default::default()
        };
        Ok(Inventory { domains: vec![domain], problems })
    }

    /// The names of a list, or a problem that says why they could not be read.
    async fn names(
        &mut self,
        procedure: Procedure,
        what: &str,
        problems: &mut Vec<String>,
    ) -> Result<Vec<String>, Finding> {
        let Some((wire, _)) = &mut self.open else { return Ok(vec![]) };
        match read(wire, procedure, &procedure::all(), procedure::names).await {
            Ok(names) => {
                let names = names.iter().map(|n| shown(n)).filter(|n| !n.is_empty());
                Ok(names.collect::<BTreeSet<_>>().into_iter().take(MOST_NAMES).collect())
            }
            Err(CallError::Refused(NO_SUPPORT, _)) => Ok(vec![]),
            Err(CallError::Refused(code, words)) => {
                problems.push(format!("the {what} could not be read: {words} (code {code})"));
                Ok(vec![])
            }
            Err(CallError::Failed(finding)) => {
                self.open = None;
                Err(finding)
            }
        }
    }
}

impl Session for Libvirt {
    fn probe(&mut self) -> BoxFuture<'_, Result<Probe, Finding>> {
        Box::pin(self.look())
    }

    fn inventory(&mut self) -> BoxFuture<'_, Result<Inventory, Finding>> {
        Box::pin(self.domain())
    }

    fn logout(&mut self) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            if let Some((mut wire, _)) = self.open.take() {
                let _ = wire.call(Procedure::ConnectClose, &[]).await;
            }
        })
    }
}

async fn read<T>(
    wire: &mut Wire,
    procedure: Procedure,
    arguments: &[u8],
    parse: fn(&[u8]) -> Result<T, &'static str>,
) -> Result<T, CallError> {
    let body = wire.call(procedure, arguments).await?;
    parse(&body).map_err(unexpected)
}

/// Opens the driver, and asks what it is.
async fn enter(wire: &mut Wire, uri: &str) -> Result<BackendInfo, Finding> {
    let asked = async {
        if !read(wire, Procedure::AuthList, &[], procedure::open_to_us).await? {
            let message = "the host wants SASL or polkit; set its auth_tls to \"none\", the certificate is the login";
            return Err(Finding::new(Reason::LoginMethodUnsupported, message).into());
        }
        wire.call(Procedure::ConnectOpen, &procedure::open(uri)).await?;
        let version = |text: String| Some(text).filter(|t| !t.is_empty());
        Ok(BackendInfo {
            product: version(shown(&read(wire, Procedure::ConnectGetType, &[], procedure::text).await?)),
            version: version(read(wire, Procedure::ConnectGetVersion, &[], procedure::version).await?),
            build: None,
            api_version: version(read(wire, Procedure::ConnectGetLibVersion, &[], procedure::version).await?),
            instance_uuid: None,
        })
    };
    asked.await.map_err(|error: CallError| match error {
        CallError::Failed(finding) => finding,
        CallError::Refused(NO_CONNECT, words) => {
            Finding::new(Reason::EndpointInvalid, format!("the host has no driver for {uri}: {words}"))
        }
        CallError::Refused(code, words) if !DENIED.contains(&code) => {
            Finding::new(Reason::LoginFailed, format!("{uri} could not be opened: {words} (code {code})"))
        }
        CallError::Refused(code, words) => refused(code, &words),
    })
}

/// What a refusal means on a connection that stands.
fn refused(code: u32, words: &str) -> Finding {
    let reason = if DENIED.contains(&code) { Reason::LoginNotPermitted } else { Reason::BackendUnavailable };
    Finding::new(reason, format!("the host refuses: {words} (code {code})"))
}
