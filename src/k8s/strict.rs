//! Whether an object is what its kind says, before any API server is asked. Pure. Fields, types, words of a choice and
//! what is required are checked here; ranges, patterns and rules are left to the API server.
use super::crd::crds;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::{
    JSONSchemaProps, JSONSchemaPropsOrArray, JSONSchemaPropsOrBool,
};
use serde_json::{Map, Value};

/// What is wrong with an object, one sentence each, such as `spec.pausd is no field of a Provider`. Of other kinds than ours only
/// version, kind and name are looked at.
pub fn faults(object: &Value) -> Vec<String> {
    let Some(fields) = object.as_object() else { return vec!["it is no object".into()] };
    let word = |value: &Value| value.as_str().filter(|text| !text.is_empty()).map(str::to_owned);
    let heads = [
        ("apiVersion", &object["apiVersion"]),
        ("kind", &object["kind"]),
        ("metadata.name", &object["metadata"]["name"]),
    ];
    let missing = heads.iter().filter(|(_, value)| word(value).is_none());
    let mut faults: Vec<String> = missing.map(|(head, _)| format!("{head} is missing")).collect();
    if !faults.is_empty() {
        return faults;
    }
    let kind = word(&object["kind"]).unwrap_or_default();
    let Some(crd) = crds().into_iter().find(|crd| crd.spec.names.kind == kind) else { return faults };
    let Some(version) = crd.spec.versions.into_iter().next() else { return faults };
    let wanted = format!("{}/{}", crd.spec.group, version.name);
    if object["apiVersion"] != *wanted {
        faults.push(format!("apiVersion is to be {wanted}, not {}", object["apiVersion"]));
    }
    if let Some(schema) = version.schema.and_then(|s| s.open_api_v3_schema) {
        let own = |field: &str| !matches!(field, "apiVersion" | "kind" | "metadata");
        let rest: Map<String, Value> =
            fields.iter().filter(|(f, _)| own(f)).map(|(f, v)| (f.clone(), v.clone())).collect();
        faults.extend(misfits(&format!("a {kind}"), &schema, &Value::Object(rest)));
    }
    faults
}

/// Where a value is not what a schema says, one sentence each; an unknown field is none of `whose`.
pub fn misfits(whose: &str, schema: &JSONSchemaProps, value: &Value) -> Vec<String> {
    let mut faults = Vec::new();
    compare(whose, "", schema, value, &mut faults);
    faults
}

fn compare(whose: &str, path: &str, schema: &JSONSchemaProps, value: &Value, faults: &mut Vec<String>) {
    let either = schema.x_kubernetes_int_or_string == Some(true) && (value.is_string() || value.is_number());
    let kind = schema.type_.as_deref().filter(|_| !either);
    if let Some(wanted) = kind.filter(|wanted| !is(wanted, value)) {
        faults.push(format!("{path} is to be {}, not {}", article(wanted), article(word(value))));
        return;
    }
    if let Some(words) = schema.enum_.as_ref()
        && !words.iter().any(|word| word.0 == *value)
    {
        let words: Vec<String> = words.iter().filter_map(|w| w.0.as_str().map(str::to_owned)).collect();
        faults.push(format!("{path} is to be one of {}, not {value}", words.join(", ")));
    }
    let at = |field: &str| if path.is_empty() { field.to_owned() } else { format!("{path}.{field}") };
    match value {
        Value::Object(fields) => {
            let missing = schema.required.iter().flatten().filter(|field| !fields.contains_key(*field));
            faults.extend(missing.map(|field| format!("{} is missing", at(field))));
            for (field, value) in fields {
                let known = schema.properties.as_ref().and_then(|properties| properties.get(field));
                let known = known.or(match &schema.additional_properties {
                    Some(JSONSchemaPropsOrBool::Schema(any)) => Some(any),
                    _ => None,
                });
                // a schema without properties says nothing of them
                let open = schema.x_kubernetes_preserve_unknown_fields == Some(true) || schema.properties.is_none();
                match known {
                    Some(schema) => compare(whose, &at(field), schema, value, faults),
                    None if open => {}
                    None => faults.push(format!("{} is no field of {whose}", at(field))),
                }
            }
        }
        Value::Array(items) => {
            if let Some(JSONSchemaPropsOrArray::Schema(schema)) = &schema.items {
                let each = items.iter().enumerate();
                each.for_each(|(index, item)| compare(whose, &format!("{path}[{index}]"), schema, item, faults));
            }
        }
        _ => {}
    }
}

/// The schema's word for what a value is.
const fn word(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

fn is(wanted: &str, value: &Value) -> bool {
    wanted == word(value) || (wanted == "integer" && (value.is_i64() || value.is_u64()))
}

fn article(word: &str) -> String {
    match word {
        "null" => "null".into(),
        word if word.starts_with(['a', 'i', 'o']) => format!("an {word}"),
        word => format!("a {word}"),
    }
}

#[cfg(test)]
mod tests {
    use super::faults;
    use serde_json::{Value, json};

    fn class(spec: Value) -> Value {
        json!({ "apiVersion": "banlieue.io/v1alpha1", "kind": "ProviderClass", "metadata": { "name": "c" }, "spec": spec })
    }

    #[test]
    fn every_fault_is_one_sentence() {
        let image = json!({ "repository": "r", "tag": "t" });
        for (spec, says) in [
            (
                json!({ "backend": "vsphere", "image": image, "replica": 2 }),
                "spec.replica is no field of a ProviderClass",
            ),
            (
                json!({ "backend": "vsphere", "image": image, "replicas": "2" }),
                "spec.replicas is to be an integer, not a string",
            ),
            (
                json!({ "backend": "vsphere", "image": image, "replicas": 1.5 }),
                "spec.replicas is to be an integer, not a number",
            ),
            (
                json!({ "backend": "vsphere", "image": image, "paused": null }),
                "spec.paused is to be a boolean, not null",
            ),
            (
                json!({ "backend": "vmware", "image": image }),
                "spec.backend is to be one of vsphere, libvirt, proxmox, not \"vmware\"",
            ),
            (json!({ "backend": "vsphere" }), "spec.image is missing"),
            (
                json!({ "backend": "vsphere", "image": image, "nodeSelector": { "a": 1 } }),
                "spec.nodeSelector.a is to be a string, not a number",
            ),
            (
                json!({ "backend": "vsphere", "image": image, "tolerations": [{ "kee": "a" }] }),
                "spec.tolerations[0].kee is no field of a ProviderClass",
            ),
            (json!([]), "spec is to be an object, not an array"),
        ] {
            assert_eq!(faults(&class(spec)), [says]);
        }
    }

    #[test]
    fn what_is_no_object_of_a_kind() {
        assert_eq!(faults(&json!("text")), ["it is no object"]);
        assert_eq!(faults(&json!({ "metadata": { "name": "x" } })), ["apiVersion is missing", "kind is missing"]);
        assert_eq!(faults(&json!({ "apiVersion": "v1", "kind": "Pod" })), ["metadata.name is missing"]);
        let mut later = class(json!({ "backend": "vsphere", "image": { "repository": "r", "tag": "t" } }));
        later["apiVersion"] = "banlieue.io/v1".into();
        assert_eq!(faults(&later), ["apiVersion is to be banlieue.io/v1alpha1, not \"banlieue.io/v1\""]);
        later["apiVersion"] = "banlieue.io/v1alpha1".into();
        later["sepc"] = json!({});
        assert_eq!(faults(&later), ["sepc is no field of a ProviderClass"]);
    }

    #[test]
    fn what_fits_has_none() {
        let spec = json!({
            "backend": "libvirt", "image": { "repository": "r", "tag": "t", "pullSecrets": [{ "name": "s" }] },
            "resources": { "limits": { "cpu": 1, "memory": "64Mi" } }, "nodeSelector": { "a": "b" }, "podLabels": { "a": "b" },
            "affinity": { "nodeAffinity": { "requiredDuringSchedulingIgnoredDuringExecution": { "nodeSelectorTerms": [] } } },
        });
        assert_eq!(faults(&class(spec)), [""; 0]);
        assert_eq!(
            faults(&json!({ "apiVersion": "v1", "kind": "Secret", "metadata": { "name": "s" }, "data": 5 })),
            [""; 0]
        );
    }
}
