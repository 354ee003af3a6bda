//! The objects of an installation: which are there, and of which version.
use super::{Line, Verdict, line, list};
use crate::k8s::client::Client;
use crate::k8s::kinds;
use crate::k8s::manifests::install::{Object, Stage};
use crate::k8s::manifests::names;
use kube::ResourceExt;
use std::collections::BTreeSet;

/// What is there of an installation. Classes do not count: they may be anybody's.
pub(super) struct Parts<'a> {
    there: Vec<&'a Object>,
    missing: Vec<&'a Object>,
    versions: BTreeSet<String>,
}

impl<'a> Parts<'a> {
    /// Looks at each.
    pub(super) async fn of(client: &Client, objects: &'a [Object]) -> kube::Result<Self> {
        let mut parts = Parts { there: Vec::new(), missing: Vec::new(), versions: BTreeSet::new() };
        for object in objects.iter().filter(|o| o.stage != Stage::Classes) {
            let api = kinds::within(client, &object.resource, object.namespace.as_deref());
            match api.get_metadata_opt(&object.name).await? {
                None => parts.missing.push(object),
                Some(live) => {
                    parts.there.push(object);
                    parts.versions.extend(live.labels().get("app.kubernetes.io/version").cloned());
                }
            }
        }
        Ok(parts)
    }

    /// Nothing is installed: a removal leaves the kinds, and the namespace may be anybody's.
    pub(super) fn are_none(&self) -> bool {
        self.there.iter().all(|o| matches!(o.stage, Stage::Namespace | Stage::Crds))
    }

    /// No part of an operator is there.
    pub(super) fn are_without_operator(&self) -> bool {
        !self.there.iter().any(|o| o.is_operator())
    }

    /// What is said where nothing is installed.
    pub(super) fn none(&self) -> Line {
        let there: Vec<_> = self.there.iter().map(ToString::to_string).collect();
        let only = if there.is_empty() { String::new() } else { format!(", only {}", list(there)) };
        line("installation", Verdict::Fail, format!("there is none{only}; run `banlieue bootstrap operator`"))
    }

    /// Whether all are there that should be, and of which version; `todo` installs what is not.
    pub(super) fn lines(&self, operator: bool, todo: &str) -> [Line; 2] {
        // a static provider brings the role of its backend along
        let shared = |o: &Object| o.resource.kind == "ClusterRole" && o.name.starts_with(names::PREFIX);
        let due = self.missing.iter().filter(|o| operator || !(o.is_operator() || shared(o)));
        let missing: Vec<_> = due.map(ToString::to_string).collect();
        let whole = if !missing.is_empty() {
            line("parts", Verdict::Fail, format!("missing: {}; run {todo}", list(missing)))
        } else if operator {
            line("parts", Verdict::Ok, "all are there")
        } else {
            line("parts", Verdict::Ok, "all are there that do without an operator")
        };
        let verdict = if self.versions.len() > 1 { Verdict::Warn } else { Verdict::Ok };
        let versions: Vec<_> = self.versions.iter().map(String::as_str).collect();
        [whole, line("versions", verdict, versions.join(", "))]
    }
}
