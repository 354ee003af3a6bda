//! GETs with a token, and the envelope of their answers.
use crate::backends::label::shown;
use crate::backends::{Meter, Target, http};
use crate::k8s::crd::{Finding, FindingReason as Reason};
use hyper::ext::ReasonPhrase;
use reqwest::header::{AUTHORIZATION, HeaderValue};
use reqwest::{Client, Response, Url};
use secrecy::{ExposeSecret, SecretString};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use std::time::{Duration, Instant};

/// The path of the API, which an endpoint may leave out.
const ROOT: &str = "/api2/json";
/// The largest answer that is read: a list of ten thousand storages is below it.
const LARGEST: usize = 8 << 20;
/// The time a request may take in all; tests have less of it.
const PATIENCE: Duration = Duration::from_secs(if cfg!(test) { 4 } else { 20 });

/// The API of a cluster. There is no session: each request carries the token.
pub(super) struct Api {
    client: Client,
    root: Url,
    authorization: HeaderValue,
    token: SecretString,
    meter: Meter,
}

/// Why a request had no result.
#[derive(Debug, PartialEq)]
pub(super) enum GetError {
    /// The token may not read this; the host's words.
    Denied(String),
    /// There was no answer, or none of Proxmox.
    Failed(Finding),
}

#[derive(Deserialize)]
struct Envelope<T> {
    data: T,
}

impl Api {
    /// For a target; nothing is sent yet.
    pub(super) fn new(target: &Target, meter: &Meter) -> Result<Self, Finding> {
        let username = target.credentials.text("username")?;
        let token = target.credentials.text("tokenValue")?;
        let malformed = |key: &str, what: &str| {
            Finding::new(Reason::SecretKeyMalformed, format!("the key {key} of the Secret {what}"))
        };
        // Everything before the `!` is a user; a user alone logs in with a password, which is not what is done here.
        let whole =
            username.expose_secret().split_once('!').is_some_and(|(user, id)| user.contains('@') && !id.is_empty());
        if !whole {
            return Err(malformed("username", "names no token; it looks like user@realm!tokenid"));
        }
        let header = SecretString::from(format!("PVEAPIToken={}={}", username.expose_secret(), token.expose_secret()));
        let mut authorization = HeaderValue::from_str(header.expose_secret())
            .map_err(|_| malformed("tokenValue", "has something in it that no token has"))?;
        authorization.set_sensitive(true);
        let mut root = http::endpoint(&target.endpoint, ROOT)?;
        if !root.path().trim_end_matches('/').ends_with(ROOT) {
            let path = format!("{}{ROOT}", root.path().trim_end_matches('/'));
            root.set_path(&path);
        }
        Ok(Self { client: http::client(target)?, root, authorization, token, meter: meter.clone() })
    }

    /// What is at a path below the root, such as `nodes`.
    pub(super) async fn get<T: DeserializeOwned>(&self, path: &str, query: &[(&str, &str)]) -> Result<T, GetError> {
        let began = Instant::now();
        let result = self.send(path, query).await;
        self.meter.request(path, began.elapsed());
        result
    }

    async fn send<T: DeserializeOwned>(&self, path: &str, query: &[(&str, &str)]) -> Result<T, GetError> {
        let mut url = self.root.clone();
        let whole = format!("{}/{path}", url.path().trim_end_matches('/'));
        url.set_path(&whole);
        if !query.is_empty() {
            url.query_pairs_mut().extend_pairs(query);
        }
        let request = self.client.get(url).timeout(PATIENCE).header(AUTHORIZATION, self.authorization.clone());
        let answer = request.send().await.map_err(|error| http::failure(&error))?;
        let words = self.words(&answer);
        match answer.status().as_u16() {
            401 => Err(Finding::new(Reason::CredentialsRefused, format!("the token is refused{words}")).into()),
            403 => Err(GetError::Denied(format!("the token may not read it{words}"))),
            _ => match http::status(&answer, &[200]) {
                Some(Finding { reason, message }) => Err(Finding::new(reason, message + &words).into()),
                None => {
                    let body = http::body(answer, LARGEST).await?;
                    let no_answer = |_| Finding::new(Reason::UnexpectedAnswer, "the answer is no JSON of Proxmox VE");
                    Ok(serde_json::from_slice::<Envelope<T>>(&body).map_err(no_answer)?.data)
                }
            },
        }
    }

    /// The cause of a refusal, which Proxmox puts into the status line and nowhere else; never with the token in it.
    fn words(&self, answer: &Response) -> String {
        let phrase = answer.extensions().get::<ReasonPhrase>().map(|phrase| String::from_utf8_lossy(phrase.as_bytes()));
        match phrase.map(|phrase| shown(&phrase)) {
            Some(phrase) if !phrase.is_empty() && !phrase.contains(self.token.expose_secret()) => format!(": {phrase}"),
            _ => String::new(),
        }
    }
}

impl From<Finding> for GetError {
    fn from(finding: Finding) -> Self {
        GetError::Failed(finding)
    }
}
