//! [`Right`]: what a rule grants, what a request used of it, and what the API server says of it.
use crate::audit::Entry;
use anyhow::Result;
use k8s_openapi::api::authorization::v1::{ResourceAttributes, SubjectAccessReview, SubjectAccessReviewSpec};
use k8s_openapi::api::rbac::v1::PolicyRule;
use kube::api::PostParams;
use kube::{Api, Client};
use std::collections::BTreeSet;
use std::fmt;

/// A verb on a kind, or on one object of it.
#[derive(Clone, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub struct Right {
    /// The API group; empty for the core.
    pub group: String,
    /// The plural of the kind, with its subresource after a slash.
    pub resource: String,
    /// The verb.
    pub verb: String,
    /// The one object, where it is not on all of the kind.
    pub name: Option<String>,
}

impl Right {
    /// On every object of a kind.
    pub fn new(verb: &str, group: &str, resource: &str) -> Self {
        Self { group: group.into(), resource: resource.into(), verb: verb.into(), name: None }
    }

    /// The same on every object.
    #[must_use]
    pub fn nameless(&self) -> Self {
        Self { name: None, ..self.clone() }
    }

    /// The same on one object.
    #[must_use]
    pub fn on(&self, name: &str) -> Self {
        Self { name: Some(name.into()), ..self.clone() }
    }

    /// All that rules grant. An empty list of names means every object, as it does in RBAC.
    pub fn of(rules: &[PolicyRule]) -> BTreeSet<Self> {
        let mut all = BTreeSet::new();
        for rule in rules {
            for (group, resource) in rule
                .api_groups
                .iter()
                .flatten()
                .flat_map(|group| rule.resources.iter().flatten().map(move |resource| (group, resource)))
            {
                for verb in &rule.verbs {
                    let right = Self::new(verb, group, resource);
                    match rule.resource_names.as_deref().unwrap_or_default() {
                        [] => _ = all.insert(right),
                        names => all.extend(names.iter().map(|name| right.on(name))),
                    }
                }
            }
        }
        all
    }

    /// What an answered request used: its verb, and the right to create where a patch or a PUT has made the object. Nothing
    /// where it was forbidden, or asked for no object.
    pub fn used(entry: &Entry) -> Vec<Self> {
        let Some(object) = entry.object_ref.as_ref().filter(|_| !entry.forbidden()) else { return vec![] };
        let parts = [object.resource.as_str(), object.subresource.as_str()];
        let resource = parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("/");
        let name = Some(object.name.clone()).filter(|name| !name.is_empty());
        let of = |verb: &str| Self { name: name.clone(), ..Self::new(verb, &object.api_group, &resource) };
        let made = entry.code() == 201 && matches!(entry.verb.as_str(), "patch" | "update");
        [of(&entry.verb)].into_iter().chain(made.then(|| of("create"))).collect()
    }

    /// Whether who holds this one may do the other.
    pub fn covers(&self, other: &Self) -> bool {
        self.nameless() == other.nameless() && (self.name.is_none() || self.name == other.name)
    }

    /// As a rule that grants it alone.
    pub fn rule(&self) -> PolicyRule {
        PolicyRule {
            api_groups: Some(vec![self.group.clone()]),
            resources: Some(vec![self.resource.clone()]),
            verbs: vec![self.verb.clone()],
            resource_names: self.name.clone().map(|name| vec![name]),
            ..Default::default()
        }
    }

    /// Whether `user` has it, in a namespace or in all of them.
    pub async fn held(&self, client: &Client, user: &str, namespace: Option<&str>) -> Result<bool> {
        let (resource, subresource) =
            self.resource.split_once('/').map_or((self.resource.as_str(), None), |(r, s)| (r, Some(s.to_owned())));
        let attributes = ResourceAttributes {
            group: Some(self.group.clone()),
            resource: Some(resource.into()),
            subresource,
            verb: Some(self.verb.clone()),
            name: self.name.clone(),
            namespace: namespace.map(Into::into),
            ..Default::default()
        };
        let mut groups = vec!["system:authenticated".to_string(), "system:serviceaccounts".into()];
        groups.extend(user.split(':').nth(2).map(|namespace| format!("system:serviceaccounts:{namespace}")));
        let spec = SubjectAccessReviewSpec {
            user: Some(user.into()),
            groups: Some(groups),
            resource_attributes: Some(attributes),
            ..Default::default()
        };
        let api: Api<SubjectAccessReview> = Api::all(client.clone());
        let review = SubjectAccessReview { spec, ..Default::default() };
        let answer = api.create(&PostParams::default(), &review).await?;
        Ok(answer.status.is_some_and(|s| s.allowed))
    }
}

/// As `patch banlieue.io/providers/status prod-vc`.
impl fmt::Display for Right {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let core = if self.group.is_empty() { "core" } else { &self.group };
        write!(f, "{} {core}/{}", self.verb, self.resource)?;
        self.name.iter().try_for_each(|name| write!(f, " {name}"))
    }
}

/// Whether `user` may `verb` a (group, resource); a resource may name its subresource after a slash.
pub async fn allowed(
    client: &Client,
    user: &str,
    what: (&str, &str),
    verb: &str,
    namespace: Option<&str>,
) -> Result<bool> {
    Right::new(verb, what.0, what.1).held(client, user, namespace).await
}

/// What was used against what was granted.
#[derive(Debug, Default, Eq, PartialEq)]
pub struct Balance {
    /// Used, and granted by nothing here.
    pub foreign: BTreeSet<Right>,
    /// Granted, and never used. A use counts for the grant by name where there is one.
    pub idle: BTreeSet<Right>,
}

impl Balance {
    /// Compares them.
    pub fn of(granted: &BTreeSet<Right>, used: &BTreeSet<Right>) -> Self {
        let by = |use_: &Right| {
            let mut covering: Vec<_> = granted.iter().filter(|grant| grant.covers(use_)).collect();
            covering.sort_by_key(|grant| grant.name.is_none());
            covering.first().copied()
        };
        let spent: BTreeSet<&Right> = used.iter().filter_map(by).collect();
        Self {
            foreign: used.iter().filter(|use_| by(use_).is_none()).cloned().collect(),
            idle: granted.iter().filter(|grant| !spent.contains(grant)).cloned().collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lease(verb: &str) -> Right {
        Right::new(verb, "coordination.k8s.io", "leases")
    }

    #[test]
    fn a_use_counts_for_the_grant_by_name() {
        let granted = BTreeSet::from([lease("get"), lease("get").on("mine"), lease("update").on("mine")]);
        let used = BTreeSet::from([lease("get").on("mine"), lease("update").on("other")]);
        let balance = Balance::of(&granted, &used);
        assert_eq!(balance.foreign, [lease("update").on("other")].into());
        assert_eq!(balance.idle, [lease("get"), lease("update").on("mine")].into());
        assert_eq!(Balance::of(&granted, &[lease("get").on("other")].into()).foreign, [].into());
    }

    #[test]
    fn an_empty_list_of_names_is_every_object() {
        let rule = PolicyRule { resource_names: Some(vec![]), ..lease("get").rule() };
        assert_eq!(Right::of(&[rule]), [lease("get")].into());
        let both = [lease("get").on("a"), lease("update")];
        assert_eq!(Right::of(&both.clone().map(|r| r.rule())), both.into());
    }

    #[test]
    fn what_makes_the_object_used_the_right_to_create() -> Result<()> {
        let entry = |verb: &str, code: u16, decision: &str| {
            serde_json::from_value::<Entry>(serde_json::json!({
                "stage": "ResponseComplete", "requestURI": "/x", "verb": verb, "user": {}, "responseStatus": { "code": code },
                "objectRef": { "apiGroup": "banlieue.io", "resource": "providers", "subresource": "status", "name": "p" },
                "requestReceivedTimestamp": "2026-01-01T00:00:00Z", "stageTimestamp": "2026-01-01T00:00:00Z",
                "annotations": { "authorization.k8s.io/decision": decision },
            }))
        };
        let right = |verb: &str| Right::new(verb, "banlieue.io", "providers/status").on("p");
        assert_eq!(Right::used(&entry("patch", 201, "allow")?), [right("patch"), right("create")]);
        assert_eq!(Right::used(&entry("patch", 404, "allow")?), [right("patch")]);
        assert_eq!(Right::used(&entry("patch", 403, "forbid")?), []);
        assert_eq!(right("patch").to_string(), "patch banlieue.io/providers/status p");
        Ok(())
    }
}
