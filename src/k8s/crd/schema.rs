//! The last touch on a derived schema.
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::{
    CustomResourceDefinition, JSONSchemaProps, JSONSchemaPropsOrArray, JSONSchemaPropsOrBool,
};

/// Takes `nullable` off every field (where it stands, an explicit null is stored and the field's default is lost), and
/// the line breaks of the source out of descriptions.
pub(super) fn finish(mut crd: CustomResourceDefinition) -> CustomResourceDefinition {
    let schemas = crd.spec.versions.iter_mut().filter_map(|v| v.schema.as_mut()?.open_api_v3_schema.as_mut());
    schemas.for_each(touch);
    crd
}

fn touch(schema: &mut JSONSchemaProps) {
    schema.nullable = None;
    if let Some(text) = schema.description.as_mut() {
        *text = text.split("\n\n").map(|paragraph| paragraph.replace('\n', " ")).collect::<Vec<_>>().join("\n\n");
    }
    schema.properties.iter_mut().flat_map(|p| p.values_mut()).for_each(touch);
    if let Some(JSONSchemaPropsOrBool::Schema(values)) = schema.additional_properties.as_mut() {
        touch(values);
    }
    match schema.items.as_mut() {
        Some(JSONSchemaPropsOrArray::Schema(item)) => touch(item),
        Some(JSONSchemaPropsOrArray::Schemas(items)) => items.iter_mut().for_each(touch),
        None => {}
    }
    // An optional enum lists null among its values.
    if let Some(values) = schema.enum_.as_mut() {
        values.retain(|v| !v.0.is_null());
    }
}

/// The pattern of object names.
pub(super) const DNS_SUBDOMAIN: &str = r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$";
/// The pattern of a key of a Secret or ConfigMap.
pub(super) const DATA_KEY: &str = r"^[-._a-zA-Z0-9]+$";
/// The pattern of a condition's type, as Kubernetes has it.
pub(super) const CONDITION_TYPE: &str =
    r"^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])$";
/// The pattern of a condition's reason, as Kubernetes has it.
pub(super) const CONDITION_REASON: &str = r"^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$";
/// The pattern of namespaces.
pub(super) const DNS_LABEL: &str = r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$";

/// Labels: a bounded map with values of at most 63 characters.
pub(super) fn label_map(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
    string_map(63)
}

/// Annotations: a bounded map with values of at most 4096 characters.
pub(super) fn annotation_map(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
    string_map(4096)
}

fn string_map(max_length: u32) -> schemars::Schema {
    schemars::json_schema!({
        "type": "object",
        "maxProperties": 32,
        "additionalProperties": { "type": "string", "maxLength": max_length },
    })
}
