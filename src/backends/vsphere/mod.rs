//! VMware vCenter, over SOAP (`/sdk`): one session, kept; an expired one is renewed and never called a wrong password.
mod inventory;
mod properties;
mod service;
mod soap;
#[cfg(test)]
mod tests;
mod xml;

use super::meter::LoginResult;
use super::{Inventory, Meter, Probe, Session, Target};
use crate::k8s::crd::{Finding, FindingReason as Reason};
use futures::future::BoxFuture;
use quick_xml::escape::escape;
use secrecy::{ExposeSecret, SecretString};
use service::Service;
use soap::{CallError, Fault, Soap};

/// A vCenter.
pub struct Vsphere {
    soap: Soap,
    username: SecretString,
    password: SecretString,
    meter: Meter,
    /// What it says of itself, while we are logged in.
    service: Option<Service>,
}

impl Vsphere {
    /// Prepares a session; nothing is sent yet.
    ///
    /// # Errors
    /// When the Secret lacks `username` or `password`, or endpoint or CA bundle cannot be used.
    pub fn connect(target: &Target, meter: &Meter) -> Result<Self, Finding> {
        Ok(Self {
            username: target.credentials.text("username")?,
            password: target.credentials.text("password")?,
            soap: Soap::new(target, meter)?,
            meter: meter.clone(),
            service: None,
        })
    }

    /// Logs in on a new session: what is left of an old one would make it fail.
    async fn login(&mut self) -> Result<Service, Finding> {
        self.service = None;
        self.soap.forget();
        let service = service::content(&mut self.soap).await?;
        let arguments = SecretString::from(format!(
            "<userName>{}</userName><password>{}</password>",
            escape(self.username.expose_secret()),
            escape(self.password.expose_secret())
        ));
        let on = ("SessionManager", service.sessions.as_str());
        let refused = match self.soap.call("Login", on, arguments.expose_secret()).await {
            Ok(_) => {
                self.meter.login(LoginResult::Ok);
                self.service = Some(service.clone());
                return Ok(service);
            }
            Err(CallError::Failed(finding)) => finding,
            Err(CallError::Fault(fault)) => refused_login(&fault),
        };
        self.meter.login(match refused.reason {
            Reason::CredentialsRefused => LoginResult::Refused,
            _ => LoginResult::Failed,
        });
        Err(refused)
    }

    async fn look(&mut self) -> Result<Probe, Finding> {
        let (mut service, fresh) = match &self.service {
            Some(service) => (service.clone(), false),
            None => (self.login().await?, true),
        };
        match self.ping().await {
            Ok(()) => {}
            Err(CallError::Fault(fault)) if session_gone(&fault) && !fresh => {
                service = self.login().await?;
                self.ping().await.map_err(refused_look)?;
            }
            Err(error) => return Err(refused_look(error)),
        }
        Ok(Probe { untested: service.untested(), info: service.about, about: None })
    }

    async fn ping(&mut self) -> Result<(), CallError> {
        self.soap.call("CurrentTime", ("ServiceInstance", "ServiceInstance"), "").await.map(drop)
    }

    async fn read(&mut self) -> Result<Inventory, Finding> {
        let service = match &self.service {
            Some(service) => service.clone(),
            None => self.login().await?,
        };
        let objects = match properties::retrieve(&mut self.soap, &service).await {
            // The session ended in between: once more on a new one.
            Err(CallError::Fault(fault)) if session_gone(&fault) => {
                let service = self.login().await?;
                properties::retrieve(&mut self.soap, &service).await
            }
            result => result,
        };
        objects.map(inventory::domains).map_err(|error| match error {
            CallError::Failed(finding) => finding,
            CallError::Fault(fault) => Finding::new(Reason::InventoryFailed, fault.to_string()),
        })
    }
}

impl Session for Vsphere {
    fn probe(&mut self) -> BoxFuture<'_, Result<Probe, Finding>> {
        Box::pin(self.look())
    }

    fn inventory(&mut self) -> BoxFuture<'_, Result<Inventory, Finding>> {
        Box::pin(self.read())
    }

    fn logout(&mut self) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            if let Some(service) = self.service.take() {
                let _ = self.soap.call("Logout", ("SessionManager", &service.sessions), "").await;
                self.soap.forget();
            }
        })
    }
}

/// Whether a fault on what is ours means that the session has ended: a view dies with it.
fn session_gone(fault: &Fault) -> bool {
    matches!(fault.kind.as_str(), "NotAuthenticated" | "ManagedObjectNotFound")
}

/// The fault's text is left out: some servers repeat what was sent.
fn refused_login(fault: &Fault) -> Finding {
    match fault.kind.as_str() {
        "InvalidLogin" => {
            Finding::new(Reason::CredentialsRefused, "the vCenter refuses the user or the password (InvalidLogin)")
        }
        "NoPermission" => Finding::new(Reason::LoginNotPermitted, "the user may not log in (NoPermission)"),
        kind => Finding::new(Reason::LoginFailed, format!("the login failed with {kind}")),
    }
}

/// What a refused ping means right after a login that let us in: the right to look is missing.
fn refused_look(error: CallError) -> Finding {
    match error {
        CallError::Failed(finding) => finding,
        CallError::Fault(fault) if matches!(fault.kind.as_str(), "NoPermission" | "NotAuthenticated") => {
            Finding::new(Reason::LoginNotPermitted, format!("logged in, but refused to look: {fault}"))
        }
        CallError::Fault(fault) => Finding::new(Reason::UnexpectedAnswer, fault.to_string()),
    }
}
