//! [`Policy`]: one ValidatingAdmissionPolicy with its binding.
use super::super::{Install, Object, Stage};
use crate::k8s::manifests::labels;
use k8s_openapi::api::admissionregistration::v1::{
    MatchCondition, MatchResources, NamedRuleWithOperations, ValidatingAdmissionPolicy,
    ValidatingAdmissionPolicyBinding, ValidatingAdmissionPolicyBindingSpec, ValidatingAdmissionPolicySpec, Validation,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

/// A policy, in the words that differ between them. Expressions are CEL.
pub(super) struct Policy {
    /// Its name, and that of its binding.
    pub(super) name: String,
    /// What it is for, in one line.
    pub(super) comment: &'static str,
    /// The part of the installation it goes with.
    pub(super) component: &'static str,
    /// Group, version and plural of what is written; a subresource of it after a slash.
    pub(super) kind: (&'static str, &'static str, &'static str),
    /// Which writes: `CREATE`, `UPDATE`, `DELETE`.
    pub(super) operations: &'static [&'static str],
    /// When it applies at all: a name and an expression each.
    pub(super) conditions: Vec<(&'static str, String)>,
    /// What must hold, and what to say where it does not.
    pub(super) rules: Vec<(String, String)>,
}

impl Policy {
    /// Policy, then binding.
    pub(super) fn objects(self, install: &Install) -> Result<[Object; 2], serde_json::Error> {
        let metadata = ObjectMeta {
            name: Some(self.name.clone()),
            labels: Some(labels::installed(self.component, &install.version)),
            ..Default::default()
        };
        let binding = ValidatingAdmissionPolicyBinding {
            metadata: metadata.clone(),
            spec: ValidatingAdmissionPolicyBindingSpec {
                policy_name: self.name.clone(),
                validation_actions: vec!["Deny".into(), "Audit".into()],
                ..Default::default()
            },
        };
        let comment = format!("Puts the policy {} in force.", self.name);
        let policy = Object::new(Stage::Policies, self.comment, self.policy(metadata))?;
        Ok([policy, Object::new(Stage::Policies, comment, binding)?])
    }

    fn policy(self, metadata: ObjectMeta) -> ValidatingAdmissionPolicy {
        let (group, version, resource) = self.kind;
        let one = |text: &str| Some(vec![text.to_owned()]);
        // the types of a subresource are not checked; those of the kind itself are
        let (plural, subresource) = resource.split_once('/').map_or((resource, None), |(p, s)| (p, Some(s)));
        let mut resources = vec![plural.to_owned()];
        let mut conditions = self.conditions;
        if let Some(subresource) = subresource {
            resources.push(resource.to_owned());
            conditions.insert(0, ("the-subresource", format!("request.?subResource.orValue('') == '{subresource}'")));
        }
        let rule = NamedRuleWithOperations {
            api_groups: one(group),
            api_versions: one(version),
            resources: Some(resources),
            operations: Some(self.operations.iter().map(|&o| o.to_owned()).collect()),
            ..Default::default()
        };
        let condition = |(name, expression): (&str, String)| MatchCondition { name: name.into(), expression };
        let validation = |(expression, message)| Validation {
            expression,
            message: Some(message),
            reason: Some("Forbidden".into()),
            ..Default::default()
        };
        ValidatingAdmissionPolicy {
            metadata,
            spec: Some(ValidatingAdmissionPolicySpec {
                failure_policy: Some("Fail".into()),
                match_constraints: Some(MatchResources {
                    match_policy: Some("Equivalent".into()),
                    resource_rules: Some(vec![rule]),
                    ..Default::default()
                }),
                match_conditions: some(conditions.into_iter().map(condition).collect()),
                validations: some(self.rules.into_iter().map(validation).collect()),
                ..Default::default()
            }),
            ..Default::default()
        }
    }
}

/// An empty list in an apply is a real write each time: leave it out.
fn some<T>(list: Vec<T>) -> Option<Vec<T>> {
    (!list.is_empty()).then_some(list)
}

/// CEL for "the operator asks".
pub(super) fn operator(install: &Install) -> String {
    format!("request.userInfo.username == '{}'", install.operator())
}
