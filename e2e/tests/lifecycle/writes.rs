//! [`Writes`]: what the operator wrote for some Providers, by the API server's own record.
use crate::five::SOON;
use crate::place::Place;
use crate::stage::OPERATOR;
use crate::until::until;
use anyhow::{Result, ensure};
use banlieue::k8s::crd::Backend;
use banlieue::k8s::manifests::names;
use banlieue_e2e::audit::{Entry, Log};
use std::collections::{BTreeMap, BTreeSet};

/// How many writes there are of each kind: `verb resource/subresource`.
pub(crate) type Counts = BTreeMap<String, usize>;

/// `number` writes of each of these kinds, and no others.
pub(crate) fn each(kinds: &[&str], number: usize) -> Counts {
    kinds.iter().map(|kind| ((*kind).to_owned(), number)).collect()
}

/// The writes of the status, and all others.
pub(crate) fn statuses(counts: &Counts) -> (usize, Counts) {
    let mut others = counts.clone();
    (others.remove("patch providers/status").unwrap_or(0), others)
}

/// The operator's requests about some Providers of one namespace since some moment.
pub(crate) struct Writes {
    log: Log,
    namespace: String,
    /// The names of cluster-wide objects, and of those in a `workloadNamespace`, which are spelled alike.
    hashed: BTreeSet<String>,
}

impl Writes {
    /// From now on.
    pub(crate) fn from_now(place: &Place<'_>, providers: &[&str]) -> Result<Self> {
        let names = |p: &&str| Backend::ALL.map(|backend| names::hashed(backend, &place.name, p));
        Ok(Self {
            log: Log::from_now(place.stage.cluster.audit_log_path())?,
            namespace: place.name.clone(),
            hashed: providers.iter().flat_map(names).collect(),
        })
    }

    /// Every request of the operator that could change something; Leases are not counted.
    pub(crate) fn entries(&self) -> Result<Vec<Entry>> {
        let ours = |e: &Entry| {
            let at = e.object_ref.clone().unwrap_or_default();
            at.namespace == self.namespace || self.hashed.contains(&at.name)
        };
        let entries = self.log.entries()?.into_iter();
        Ok(entries
            .filter(|e| e.user.username == OPERATOR && e.writes() && e.resource() != "leases" && ours(e))
            .collect())
    }

    /// How many of them there are of each kind, as of now: those of a moment ago may be missing.
    pub(crate) fn counts(&self) -> Result<Counts> {
        let mut counts = Counts::new();
        for entry in self.entries()? {
            *counts.entry(what(&entry)).or_insert(0) += 1;
        }
        Ok(counts)
    }

    /// Waits until the counts are so: what a write does is seen before it is on record. One too many is never waited away.
    pub(crate) async fn come_to(&self, what: &str, good: impl Fn(&Counts) -> bool) -> Result<Counts> {
        until(&format!("the record of the writes of {what}"), SOON, async || {
            let counts = self.counts()?;
            Ok(if good(&counts) { Ok(counts) } else { Err(format!("{counts:?}")) })
        })
        .await
    }

    /// That nothing was written.
    pub(crate) fn none(&self) -> Result<()> {
        let lines: Vec<_> = self.entries()?.iter().map(Entry::line).collect();
        ensure!(lines.is_empty(), "the operator wrote:\n{}", lines.join("\n"));
        Ok(())
    }

    /// That none of the five was written.
    pub(crate) fn no_work(&self) -> Result<()> {
        let work = |e: &&Entry| !matches!(e.resource(), "providers" | "events");
        let lines: Vec<_> = self.entries()?.iter().filter(work).map(Entry::line).collect();
        ensure!(lines.is_empty(), "the operator wrote:\n{}", lines.join("\n"));
        Ok(())
    }

    /// That none of the five was created: an apply that found nothing is answered 201.
    pub(crate) fn nothing_created(&self) -> Result<()> {
        let created = |e: &&Entry| e.code() == 201 && e.resource() != "events";
        let lines: Vec<_> = self.entries()?.iter().filter(created).map(Entry::line).collect();
        ensure!(lines.is_empty(), "the operator created:\n{}", lines.join("\n"));
        Ok(())
    }
}

/// What an entry is about, in short.
pub(crate) fn what(entry: &Entry) -> String {
    let subresource = entry.object_ref.as_ref().map_or("", |o| &o.subresource);
    let slash = if subresource.is_empty() { "" } else { "/" };
    format!("{} {}{slash}{subresource}", entry.verb, entry.resource())
}
