//! What holds for every field: a description, a bound, no `nullable`; and which defaults there are.
use crate::k8s::crd::{Condition, ConditionStatus, Provider, crds};
use chrono::DateTime;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::{
    JSONSchemaProps, JSONSchemaPropsOrArray, JSONSchemaPropsOrBool,
};

/// Pod types as Kubernetes has them: their schema is not ours.
const IMPORTED: [&str; 2] = [".spec.tolerations[]", ".spec.affinity"];

fn walk(path: &str, schema: &JSONSchemaProps, visit: &mut dyn FnMut(&str, &JSONSchemaProps)) {
    visit(path, schema);
    for (name, property) in schema.properties.iter().flatten() {
        walk(&format!("{path}.{name}"), property, visit);
    }
    if let Some(JSONSchemaPropsOrArray::Schema(item)) = &schema.items {
        walk(&format!("{path}[]"), item, visit);
    }
    if let Some(JSONSchemaPropsOrBool::Schema(value)) = &schema.additional_properties {
        walk(&format!("{path}{{}}"), value, visit);
    }
}

fn every_field(mut visit: impl FnMut(&str, &JSONSchemaProps)) {
    for crd in crds() {
        let root = crd.spec.versions[0].schema.clone().unwrap().open_api_v3_schema.unwrap();
        for part in ["spec", "status"] {
            let schema = &root.properties.as_ref().unwrap()[part];
            let path = format!(".{part}");
            walk(&path, schema, &mut |path, schema| visit(&format!("{} {path}", crd.spec.names.kind), schema));
        }
    }
}

fn imported(path: &str) -> bool {
    let field = path.split(' ').nth(1).unwrap();
    IMPORTED.iter().any(|i| field.starts_with(i) && field != *i)
}

#[test]
fn every_field_is_described_and_bounded() {
    let mut wrong = Vec::new();
    every_field(|path, s| {
        if imported(path) {
            return;
        }
        let is = |t: &str| s.type_.as_deref() == Some(t);
        let bounded = s.max_length.is_some() || s.enum_.is_some() || s.format.as_deref() == Some("date-time");
        if is("string") && !bounded {
            wrong.push(format!("{path}: no maxLength"));
        }
        if is("array") && s.max_items.is_none() {
            wrong.push(format!("{path}: no maxItems"));
        }
        if s.additional_properties.is_some() && s.max_properties.is_none() {
            wrong.push(format!("{path}: no maxProperties"));
        }
        let text = s.description.as_deref().unwrap_or_default();
        if !path.ends_with(['}', ']']) && !text.ends_with('.') {
            wrong.push(format!("{path}: no description that is a sentence: {text:?}"));
        }
        if text.contains('\n') {
            wrong.push(format!("{path}: a line break of the source: {text:?}"));
        }
    });
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn nothing_is_nullable() {
    assert!(!serde_json::to_string(&crds()).unwrap().contains("nullable"));
    every_field(|path, s| {
        assert!(!s.enum_.iter().flatten().any(|v| v.0.is_null()), "{path}: null among its values");
    });
}

#[test]
fn the_only_defaults_are_those_of_the_status() {
    // A default under `spec` would belong to whoever created the object, and every other apply would conflict with it.
    let mut with = Vec::new();
    every_field(|path, s| {
        if s.default.is_some() && !imported(path) {
            with.push(path.to_owned());
        }
    });
    let want = [
        "Provider .status",
        "Provider .status.conditions",
        "ProviderClass .status",
        "ProviderClass .status.conditions",
    ];
    assert_eq!(with, want);
}

#[test]
fn the_default_condition_is_one_of_ours() {
    every_field(|path, s| {
        if path.ends_with(".status.conditions") {
            let of: Vec<Condition> = serde_json::from_value(s.default.clone().unwrap().0).unwrap();
            assert_eq!((of[0].type_.as_str(), of[0].status), ("Ready", ConditionStatus::Unknown));
            assert_eq!(s.x_kubernetes_list_map_keys, Some(vec!["type".to_owned()]));
        }
    });
}

#[test]
fn a_condition_keeps_its_time_until_its_status_changes() {
    let at = |s| DateTime::from_timestamp(s, 500_000_000).unwrap();
    let first = Condition::new("Ready", ConditionStatus::True, "Reached", "", at(10));
    assert_eq!(serde_json::to_value(&first).unwrap()["lastTransitionTime"], "1970-01-01T00:00:10Z");
    let same = Condition::new("Ready", ConditionStatus::True, "Other", "", at(20)).since(Some(&first));
    assert_eq!(same.last_transition_time, first.last_transition_time);
    let other = Condition::new("Ready", ConditionStatus::False, "Other", "", at(20)).since(Some(&first));
    assert_eq!(other.last_transition_time.timestamp(), 20);
}

#[test]
fn a_provider_says_no_more_than_it_was_given() {
    let given = serde_json::json!({
        "apiVersion": "banlieue.io/v1alpha1", "kind": "Provider", "metadata": {"name": "a"},
        "spec": {"providerClassRef": {"name": "c"}, "connection": {"endpoint": "https://h/", "credentialsRef": {"name": "s"}}},
    });
    let read: Provider = serde_json::from_value(given.clone()).unwrap();
    assert_eq!(serde_json::to_value(read).unwrap(), given);
}
