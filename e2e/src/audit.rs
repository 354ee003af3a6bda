//! The API server's own record of who did what, and when.
use anyhow::{Context, Result};
use chrono::{DateTime, Utc};
use kube::api::ObjectMeta;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::PathBuf;

/// One answered request.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Entry {
    /// What was asked.
    pub verb: String,
    /// The path and query.
    #[serde(rename = "requestURI")]
    pub uri: String,
    /// Who asked.
    pub user: User,
    /// What it was about, where it was about an object.
    pub object_ref: Option<ObjectRef>,
    /// What was answered.
    pub response_status: Option<Status>,
    /// The object that was answered, where the policy keeps it.
    pub response_object: Option<Answer>,
    /// When it came in.
    pub request_received_timestamp: DateTime<Utc>,
    /// When it was answered.
    pub stage_timestamp: DateTime<Utc>,
    stage: String,
    #[serde(default)]
    annotations: BTreeMap<String, String>,
}

/// An object, as far as it is told here.
#[derive(Clone, Debug, Deserialize)]
pub struct Answer {
    /// Its metadata.
    #[serde(default)]
    pub metadata: ObjectMeta,
}

/// Who.
#[derive(Clone, Debug, Deserialize)]
pub struct User {
    /// The name; empty where nobody was recognised.
    #[serde(default)]
    pub username: String,
}

/// What.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct ObjectRef {
    /// The group of its kind; empty for the core.
    pub api_group: String,
    /// The plural of its kind.
    pub resource: String,
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// The part of it.
    pub subresource: String,
}

/// How.
#[derive(Clone, Debug, Deserialize)]
pub struct Status {
    /// The HTTP status.
    #[serde(default)]
    pub code: u16,
}

impl Entry {
    /// Whether it could change something and was not a dry run.
    pub fn writes(&self) -> bool {
        matches!(self.verb.as_str(), "create" | "update" | "patch" | "delete" | "deletecollection")
            && !self.uri.contains("dryRun=")
    }

    /// The plural of the kind it was about.
    pub fn resource(&self) -> &str {
        self.object_ref.as_ref().map_or("", |o| &o.resource)
    }

    /// The status it was answered with.
    pub fn code(&self) -> u16 {
        self.response_status.as_ref().map_or(0, |s| s.code)
    }

    /// Whether the asker lacked the right. (Admission refuses with 403 too, for instance in a namespace that is ending.)
    pub fn forbidden(&self) -> bool {
        self.annotations.get("authorization.k8s.io/decision").is_some_and(|d| d == "forbid")
    }

    /// Whether a role of ours asked.
    pub fn ours(&self) -> bool {
        let account = self.user.username.strip_prefix("system:serviceaccount:").and_then(|a| a.split_once(':'));
        account.is_some_and(|(_, name)| name.starts_with("banlieue-"))
    }

    /// In one line.
    pub fn line(&self) -> String {
        format!("{} {} {} {} -> {}", self.stage_timestamp, self.user.username, self.verb, self.uri, self.code())
    }
}

/// The log, read from some point on.
pub struct Log {
    path: PathBuf,
    from: u64,
    since: DateTime<Utc>,
}

impl Log {
    /// All of it.
    pub fn whole(path: PathBuf) -> Self {
        Log { path, from: 0, since: DateTime::UNIX_EPOCH }
    }

    /// What is asked from now on. A request is logged after others could see what it did, so what is logged from now on
    /// may be of before.
    pub fn from_now(path: PathBuf) -> Result<Self> {
        let since = Utc::now();
        let from = std::fs::metadata(&path).with_context(|| format!("{}", path.display()))?.len();
        Ok(Log { path, from, since })
    }

    /// The answered requests since.
    pub fn entries(&self) -> Result<Vec<Entry>> {
        let mut file = File::open(&self.path)?;
        // From the byte before: the line that was half written when it began is of before.
        file.seek(SeekFrom::Start(self.from.saturating_sub(1)))?;
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes)?;
        let text = String::from_utf8_lossy(&bytes);
        let text = if self.from == 0 { &*text } else { text.split_once('\n').map_or("", |(_, rest)| rest) };
        // The last line may be half written.
        let whole = text.rfind('\n').map_or("", |end| &text[..end]);
        let entries = whole
            .lines()
            .filter(|l| !l.is_empty())
            .map(|l| serde_json::from_str::<Entry>(l).with_context(|| l.to_string()));
        let counts = |e: &Entry| e.stage == "ResponseComplete" && e.request_received_timestamp >= self.since;
        entries.filter(|e| e.as_ref().map_or(true, counts)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    /// What the API server writes for a token that is no longer good.
    const ANSWERED: &str = r#"{"stage":"ResponseComplete","requestURI":"/version","verb":"get","user":{},"responseStatus":{"code":401},"requestReceivedTimestamp":"2026-01-01T00:00:00.1Z","stageTimestamp":"2026-01-01T00:00:00.2Z"}"#;

    fn file(name: &str, text: &str) -> Result<PathBuf> {
        let path = std::env::temp_dir().join(format!("banlieue-audit-{name}-{}", std::process::id()));
        std::fs::write(&path, text)?;
        Ok(path)
    }

    #[test]
    fn a_request_of_nobody_is_read_and_a_line_without_an_end_is_not() -> Result<()> {
        let path = file("nobody", &format!("{ANSWERED}\n{}", &ANSWERED[..40]))?;
        let entries = Log::whole(path.clone()).entries();
        std::fs::remove_file(path)?;
        let [entry] = &entries?[..] else { anyhow::bail!("one request was answered") };
        anyhow::ensure!(entry.code() == 401 && entry.user.username.is_empty() && !entry.ours() && !entry.writes());
        Ok(())
    }

    #[test]
    fn what_was_asked_before_and_logged_since_is_of_before() -> Result<()> {
        let path = file("before", "")?;
        let log = Log::from_now(path.clone())?;
        std::fs::write(&path, format!("{ANSWERED}\n{}\n", asked_later()))?;
        let entries = log.entries();
        std::fs::remove_file(path)?;
        anyhow::ensure!(entries?.len() == 1);
        Ok(())
    }

    /// [`ANSWERED`], asked a moment from now.
    fn asked_later() -> String {
        let later = Utc::now() + chrono::TimeDelta::hours(1);
        ANSWERED.replace("2026-01-01T00:00:00.1Z", &later.to_rfc3339())
    }

    #[test]
    fn it_begins_behind_the_line_that_was_being_written() -> Result<()> {
        for half in [0, 1, 40, ANSWERED.len()] {
            let path = file(&format!("half-{half}"), &format!("{ANSWERED}\n{}", &ANSWERED[..half]))?;
            let log = Log::from_now(path.clone())?;
            let mut more = std::fs::OpenOptions::new().append(true).open(&path)?;
            let rest = if half == 0 { String::new() } else { format!("{}\n", &ANSWERED[half..]) };
            writeln!(more, "{rest}{}", asked_later())?;
            let entries = log.entries();
            std::fs::remove_file(path)?;
            anyhow::ensure!(entries?.len() == 1, "{half} bytes were written");
        }
        Ok(())
    }
}
