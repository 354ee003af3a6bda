//! What a vCenter says of itself before any login, and whether it was tested.
use super::soap::{CallError, Soap};
use super::xml::Element;
use crate::k8s::crd::{BackendInfo, Finding, FindingReason as Reason};

/// The versions of the API that count as tested: from the simulator's, 6.5, to 8.0.
const TESTED: std::ops::RangeInclusive<(u32, u32)> = (6, 5)..=(8, 0);

/// What it says of itself, and the ids of the objects it is used through.
#[derive(Clone, Debug)]
pub(super) struct Service {
    pub(super) about: BackendInfo,
    pub(super) root: String,
    pub(super) collector: String,
    pub(super) views: String,
    pub(super) sessions: String,
}

/// Asks for it.
pub(super) async fn content(soap: &mut Soap) -> Result<Service, Finding> {
    match soap.call("RetrieveServiceContent", ("ServiceInstance", "ServiceInstance"), "").await {
        Ok(response) => read(&response),
        Err(CallError::Failed(finding)) => Err(finding),
        Err(CallError::Fault(fault)) => Err(Finding::new(Reason::UnexpectedAnswer, fault.to_string())),
    }
}

fn read(response: &Element) -> Result<Service, Finding> {
    let missing = || Finding::new(Reason::UnexpectedAnswer, "the service content lacks what every vCenter has");
    let content = response.child("returnval").ok_or_else(missing)?;
    let about = content.child("about").ok_or_else(missing)?;
    if about.text_of("apiType") == "HostAgent" {
        return Err(Finding::new(Reason::EndpointInvalid, "the endpoint is a single ESXi host, not a vCenter"));
    }
    let need = |name: &str| match content.text_of(name) {
        "" => Err(missing()),
        text => Ok(text.to_owned()),
    };
    let tell = |name: &str| Some(about.text_of(name).chars().take(253).collect::<String>()).filter(|t| !t.is_empty());
    Ok(Service {
        root: need("rootFolder")?,
        collector: need("propertyCollector")?,
        views: need("viewManager")?,
        sessions: need("sessionManager")?,
        about: BackendInfo {
            product: tell("name"),
            version: tell("version"),
            build: tell("build"),
            api_version: tell("apiVersion"),
            instance_uuid: tell("instanceUuid"),
        },
    })
}

impl Service {
    /// Why the version should be looked at, if it should.
    pub(super) fn untested(&self) -> Option<String> {
        let version = self.about.api_version.as_deref().unwrap_or_default();
        let mut numbers = version.split('.').map(|n| n.parse().unwrap_or(0));
        let this = (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0));
        let ((a, b), (c, d)) = (TESTED.start(), TESTED.end());
        (!TESTED.contains(&this)).then(|| format!("its API has version {version:?}; tested are {a}.{b} to {c}.{d}"))
    }
}
