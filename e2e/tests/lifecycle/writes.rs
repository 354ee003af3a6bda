//! [`Writes`]: what the operator wrote for some Providers, by the API server's own record.
use crate::place::Place;
use crate::stage::OPERATOR;
use anyhow::{Result, ensure};
use banlieue::k8s::crd::Backend;
use banlieue::k8s::manifests::names;
use banlieue_e2e::audit::{Entry, Log};
use std::collections::{BTreeMap, BTreeSet};

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

    /// How many of them there are of each kind: `verb resource/subresource`.
    pub(crate) fn counts(&self) -> Result<BTreeMap<String, usize>> {
        let mut counts = BTreeMap::new();
        for entry in self.entries()? {
            *counts.entry(what(&entry)).or_insert(0) += 1;
        }
        Ok(counts)
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
