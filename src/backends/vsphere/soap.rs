//! SOAP calls: envelope, cookie, limits, faults. Own code: the one published client takes minutes to build and megabytes
//! of binary, for the handful of methods needed here.
use super::xml::{self, Element};
use crate::backends::label::shown;
use crate::backends::{Meter, Target, http};
use crate::k8s::crd::{Finding, FindingReason as Reason};
use quick_xml::escape::escape;
use reqwest::header::{CONTENT_TYPE, COOKIE, HeaderMap, HeaderValue, SET_COOKIE};
use std::time::{Duration, Instant};

/// The largest answer that is read: a page of the inventory is well below one MiB.
const LARGEST: usize = 16 << 20;
/// The time a call may take in all; tests have less of it.
const PATIENCE: Duration = Duration::from_secs(if cfg!(test) { 4 } else { 20 });
/// The name of the cookie that is the session.
const SESSION: &str = "vmware_soap_session";

/// A SOAP end point, and the session it has with us.
pub(super) struct Soap {
    client: reqwest::Client,
    url: reqwest::Url,
    cookie: Option<HeaderValue>,
    meter: Meter,
}

/// Why a call had no result.
#[derive(Debug, PartialEq)]
pub(super) enum CallError {
    /// The server understood, and refused.
    Fault(Fault),
    /// There was no answer, or none of a vCenter.
    Failed(Finding),
}

/// A SOAP fault.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Fault {
    /// Its type, such as InvalidLogin.
    pub(super) kind: String,
    /// What the server says to people; it may be empty.
    pub(super) text: String,
    /// The privilege that is missing, for NoPermission.
    pub(super) privilege: String,
}

impl Soap {
    /// For a target; nothing is sent yet.
    pub(super) fn new(target: &Target, meter: &Meter) -> Result<Self, Finding> {
        let url = http::endpoint(&target.endpoint, "/sdk")?;
        Ok(Self { client: http::client(target)?, url, cookie: None, meter: meter.clone() })
    }

    /// Forgets the session. A login over a live one is refused as if the password were wrong.
    pub(super) fn forget(&mut self) {
        self.cookie = None;
    }

    /// Calls a method of a managed object; `arguments` is XML. The result is the method's response element.
    pub(super) async fn call(&mut self, method: &str, on: (&str, &str), arguments: &str) -> Result<Element, CallError> {
        let began = Instant::now();
        let result = self.send(method, on, arguments).await;
        self.meter.request(method, began.elapsed());
        result
    }

    async fn send(&mut self, method: &str, (kind, id): (&str, &str), arguments: &str) -> Result<Element, CallError> {
        let envelope = format!(
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\
             <Envelope xmlns=\"http://schemas.xmlsoap.org/soap/envelope/\" \
             xmlns:xsi=\"http://www.w3.org/2001/XMLSchema-instance\"><Body>\
             <{method} xmlns=\"urn:vim25\"><_this type=\"{kind}\">{}</_this>{arguments}</{method}></Body></Envelope>",
            escape(id)
        );
        let mut request = self
            .client
            .post(self.url.clone())
            .timeout(PATIENCE)
            .header(CONTENT_TYPE, "text/xml; charset=utf-8")
            .header("SOAPAction", "urn:vim25/6.5")
            .body(envelope);
        if let Some(cookie) = &self.cookie {
            request = request.header(COOKIE, cookie.clone());
        }
        let answer = request.send().await.map_err(|e| http::failure(&e))?;
        if let Some(finding) = http::status(&answer, &[200, 500]) {
            return Err(finding.into());
        }
        if let Some(cookie) = session_cookie(answer.headers()) {
            self.cookie = Some(cookie);
        }
        response(method, http::body(answer, LARGEST).await?)
    }
}

/// The cookie that carries the session: a vCenter sets it at the first answer or at the login, quoted or not.
fn session_cookie(headers: &HeaderMap) -> Option<HeaderValue> {
    let pair = headers.get_all(SET_COOKIE).iter().find_map(|value| {
        let pair = value.to_str().ok()?.split(';').next()?.trim();
        (pair.split('=').next() == Some(SESSION) && pair.len() < 4096).then_some(pair)
    })?;
    let mut cookie = HeaderValue::from_str(pair).ok()?;
    cookie.set_sensitive(true);
    Some(cookie)
}

/// The response element out of an envelope, or the fault.
fn response(method: &str, body: Vec<u8>) -> Result<Element, CallError> {
    let unexpected = |why: &str| CallError::Failed(Finding::new(Reason::UnexpectedAnswer, why));
    let text = String::from_utf8(body).map_err(|_| unexpected("the answer is not UTF-8"))?;
    let start: String = text.trim_start().chars().take(14).collect::<String>().to_ascii_lowercase();
    if start.starts_with("<html") || start.starts_with("<!doctype html") {
        return Err(unexpected("the endpoint answers with a web page; does its path end in /sdk?"));
    }
    let mut envelope = xml::parse(&text).map_err(unexpected)?;
    let body = (envelope.name == "Envelope").then(|| envelope.children.iter_mut().find(|c| c.name == "Body")).flatten();
    let content = body.and_then(|b| b.children.pop()).ok_or_else(|| unexpected("the answer is no SOAP envelope"))?;
    if content.name == "Fault" {
        return Err(CallError::Fault(fault(&content)));
    }
    if content.name.strip_suffix("Response") != Some(method) {
        return Err(unexpected("the answer belongs to another call"));
    }
    Ok(content)
}

fn fault(element: &Element) -> Fault {
    let detail = element.child("detail").and_then(|d| d.children.first());
    let kind = detail.map(|d| if d.kind.is_empty() { d.name.trim_end_matches("Fault") } else { &d.kind });
    Fault {
        kind: shown(kind.unwrap_or_default()),
        text: shown(element.text_of("faultstring")),
        privilege: shown(detail.map_or("", |d| d.text_of("privilegeId"))),
    }
}

impl From<Finding> for CallError {
    fn from(finding: Finding) -> Self {
        CallError::Failed(finding)
    }
}

impl std::fmt::Display for Fault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(if self.kind.is_empty() { "a fault without a type" } else { &self.kind })?;
        if !self.privilege.is_empty() {
            write!(f, " (privilege {})", self.privilege)?;
        }
        if self.text.is_empty() { Ok(()) } else { write!(f, ": {}", self.text) }
    }
}
