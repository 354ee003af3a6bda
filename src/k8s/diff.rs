//! Desired against observed, restricted to what we send. Pure.
//!
//! A hash alone does not see a hand edit, and a comparison of the whole fights with defaults, injected containers and
//! other people's labels. So every field we send is looked up, and nothing else is.
use super::quantity;
use serde_json::Value;

/// The paths of the fields in which `observed` lacks what `desired` has, such as
/// `spec.template.spec.containers[provider].image`. Version and kind are left out: the items of a list carry neither.
pub fn diff(desired: &Value, observed: &Value) -> Vec<String> {
    let mut found = Vec::new();
    for (field, want) in desired.as_object().into_iter().flatten().filter(|(f, _)| *f != "apiVersion" && *f != "kind") {
        compare(&mut field.clone(), want, observed.get(field).unwrap_or(&Value::Null), &mut found);
    }
    found
}

/// Whether the API refuses any change of this field: the object has to be made anew.
pub fn unchangeable(path: &str) -> bool {
    ["roleRef", "spec.selector"].iter().any(|field| path.starts_with(field))
}

fn compare(path: &mut String, desired: &Value, observed: &Value, found: &mut Vec<String>) {
    match (desired, observed) {
        (Value::Object(want), Value::Object(have)) => {
            for (key, value) in want {
                let whole = path.len();
                path.extend([".", key]);
                compare(path, value, have.get(key).unwrap_or(&Value::Null), found);
                path.truncate(whole);
            }
        }
        (Value::Array(want), Value::Array(have)) => match merge_key(path) {
            Some(key) => keyed(path, key, want, have, found),
            None if want.len() == have.len() => {
                for (index, (want, have)) in want.iter().zip(have).enumerate() {
                    within(path, &index.to_string(), |path| compare(path, want, have, found));
                }
            }
            None => found.push(path.clone()),
        },
        (want, have) if want == have || same_quantity(path, want, have) => {}
        _ => found.push(path.clone()),
    }
}

/// A list whose entries are merged by a key: entries that others added stay.
fn keyed(path: &mut String, key: &str, want: &[Value], have: &[Value], found: &mut Vec<String>) {
    for entry in want {
        let other = have.iter().find(|other| other.get(key) == entry.get(key)).unwrap_or(&Value::Null);
        let name = entry.get(key).map_or_else(String::new, |v| v.as_str().map_or_else(|| v.to_string(), str::to_owned));
        within(path, &name, |path| compare(path, entry, other, found));
    }
}

fn within(path: &mut String, index: &str, go: impl FnOnce(&mut String)) {
    let whole = path.len();
    path.extend(["[", index, "]"]);
    go(path);
    path.truncate(whole);
}

/// The key by which server-side apply merges the list at `path`; `None` where the list is atomic.
fn merge_key(path: &str) -> Option<&'static str> {
    match path.rsplit('.').next()? {
        "containers" | "volumes" | "env" | "imagePullSecrets" => Some("name"),
        "ownerReferences" => Some("uid"),
        "ports" => Some("containerPort"),
        "volumeMounts" => Some("mountPath"),
        _ => None,
    }
}

/// Whether two values under `resources` are the same quantity in two spellings.
fn same_quantity(path: &str, want: &Value, have: &Value) -> bool {
    (path.contains(".resources.limits.") || path.contains(".resources.requests."))
        && quantity::parse(want).is_some_and(|want| Some(want) == quantity::parse(have))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_others_added_is_no_difference() {
        let want = json!({ "kind": "X", "metadata": { "labels": { "a": "1" } }, "spec": { "containers": [{ "name": "c", "env": [{ "name": "E", "value": "1" }] }] } });
        let have = json!({
            "metadata": { "labels": { "a": "1", "theirs": "2" } },
            "spec": { "replicas": 3, "containers": [{ "name": "sidecar" }, { "name": "c", "image": "i", "env": [{ "name": "F" }, { "name": "E", "value": "1" }] }] },
        });
        assert_eq!(diff(&want, &have), [""; 0]);
    }

    #[test]
    fn a_field_that_is_gone_or_another_is_named() {
        let want = json!({ "spec": { "a": 1, "containers": [{ "name": "c", "image": "i" }], "args": ["x", "y"] } });
        let have = json!({ "spec": { "containers": [{ "name": "c", "image": "j" }], "args": ["x"] } });
        assert_eq!(diff(&want, &have), ["spec.a", "spec.args", "spec.containers[c].image"]);
    }

    #[test]
    fn an_atomic_list_takes_no_additions() {
        let want = json!({ "rules": [{ "verbs": ["get"] }] });
        let have = json!({ "rules": [{ "verbs": ["get"] }, { "verbs": ["list"] }] });
        assert_eq!(diff(&want, &have), ["rules"]);
        let have = json!({ "rules": [{ "verbs": ["get", "list"] }] });
        assert_eq!(diff(&want, &have), ["rules[0].verbs"]);
    }

    #[test]
    fn quantities_are_compared_by_value() {
        let of = |cpu: &str| json!({ "spec": { "containers": [{ "name": "c", "resources": { "limits": { "cpu": cpu } } }] } });
        assert_eq!(diff(&of("0.5"), &of("500m")), [""; 0]);
        assert_eq!(diff(&of("0.5"), &of("600m")).len(), 1);
        let other = |v: &str| json!({ "spec": { "value": v } });
        assert_eq!(diff(&other("0.5"), &other("500m")), ["spec.value"], "only under resources");
    }
}
