//! The rules, evaluated as the API server would, without one.
use crate::k8s::crd::crds;
use kube::core::cel::Validator;
use rstest::rstest;
use serde_json::{Value, json};

/// The messages of the rules that `object` breaks.
fn broken(kind: &str, object: &Value, old: Option<&Value>) -> Vec<String> {
    let crd = crds().into_iter().find(|c| c.spec.names.kind == kind).unwrap();
    let schema = crd.spec.versions[0].schema.as_ref().unwrap().open_api_v3_schema.as_ref().unwrap();
    let schema = serde_json::to_value(schema).unwrap();
    match Validator::new().validate(&schema, object, old) {
        Ok(()) => Vec::new(),
        Err(errors) => errors.iter().map(|e| format!("{}: {}", e.field_path, e.message)).collect(),
    }
}

fn provider(connection: Value) -> Value {
    json!({"spec": {"providerClassRef": {"name": "vsphere"}, "connection": connection}})
}

fn endpoint(url: &str) -> Vec<String> {
    broken("Provider", &provider(json!({"endpoint": url, "credentialsRef": {"name": "c"}})), None)
}

#[rstest]
#[case("https://vcenter.example.com/sdk")]
#[case("https://vcenter.invalid/sdk")]
#[case("https://10.0.0.1:8989/sdk")]
#[case("https://[2001:db8::1]:8006")]
#[case("https://pve.example.com:65535/api2/a@b")]
#[case("HTTPS://vcenter.example.com")]
#[case("qemu+tls://host.example.com/system")]
#[case("test+tcp://127.0.0.1:16509/default")]
fn endpoint_is_good(#[case] url: &str) {
    assert_eq!(endpoint(url), Vec::<String>::new(), "{url}");
}

// What the API server calls a URL with a fault, the evaluator of these tests does not call a URL at all.
const NO_HOST: &str = "names no host|not a URL";
const PORT: &str = "the port|not a URL";

#[rstest]
#[case("vcenter.example.com", "not a URL")]
#[case("/abs/path", "scheme")]
#[case("http://host/sdk", "must be one of https, qemu+tls")]
#[case("ftp://host/", "must be one of https, qemu+tls")]
#[case("esx://host/", "scheme")]
#[case("https://:443/sdk", NO_HOST)]
#[case("https://root:s3cret-marker@host/sdk", "user or a password")]
#[case("https://s3cret-marker@host/sdk", "user or a password")]
#[case("https://root:s3cret-marker@host:99999/sdk", "user or a password")]
#[case("https://host/sdk#top", "fragment")]
#[case("https://host/sdk?password=s3cret-marker", "query")]
#[case("https://host/a b", "white space")]
#[case(" https://host/sdk", "white space")]
#[case("https://host/sdk\n", "white space")]
#[case("https://host:0/sdk", "port")]
#[case("https://host:99999/sdk", PORT)]
#[case("https://host:123456789012345678901/sdk", PORT)]
fn endpoint_is_bad(#[case] url: &str, #[case] says: &str) {
    let broken = endpoint(url);
    assert!(
        broken.iter().any(|m| m.starts_with("spec.connection.endpoint") && says.split('|').any(|s| m.contains(s))),
        "{url}: {broken:?}"
    );
    assert!(!broken.iter().any(|m| m.contains("s3cret-marker")), "the value is echoed: {broken:?}");
}

const PEM: &str = "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n";

#[rstest]
#[case(json!({"inline": PEM}), None)]
#[case(json!({"configMapRef": {"name": "ca"}}), None)]
#[case(json!({"secretRef": {"name": "ca", "key": "root.pem"}}), None)]
#[case(json!({}), Some("exactly one"))]
#[case(json!({"inline": PEM, "secretRef": {"name": "ca"}}), Some("exactly one"))]
#[case(json!({"configMapRef": {"name": "a"}, "secretRef": {"name": "b"}}), Some("exactly one"))]
#[case(json!({"inline": "MIIB"}), Some("in PEM"))]
#[case(json!({"inline": format!("{PEM}-----BEGIN PRIVATE KEY-----\nx\n")}), Some("private key"))]
fn ca_bundle(#[case] bundle: Value, #[case] says: Option<&str>) {
    let connection = json!({"endpoint": "https://h/", "credentialsRef": {"name": "c"}, "caBundle": bundle});
    expect(broken("Provider", &provider(connection), None), says);
}

fn class(patch: Value) -> Value {
    let mut spec = json!({"backend": "vsphere", "image": {"repository": "localhost/banlieue", "tag": "0.1.0"}});
    for (key, value) in patch.as_object().unwrap() {
        spec[key] = value.clone();
    }
    json!({"spec": spec})
}

#[track_caller]
fn expect(broken: Vec<String>, says: Option<&str>) {
    match says {
        None => assert_eq!(broken, Vec::<String>::new()),
        Some(says) => assert!(broken.iter().any(|m| m.contains(says)), "{broken:?}"),
    }
}

const DIGEST: &str = "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";

#[rstest]
#[case(json!({"repository": "localhost/banlieue", "tag": "v0.2.0"}), None)]
#[case(json!({"repository": "Registry.Example.com:5000/a/b_c/banlieue", "digest": DIGEST}), None)]
#[case(json!({"repository": "[::1]:5000/banlieue", "tag": "_x"}), None)]
#[case(json!({"repository": "banlieue", "tag": "v1", "digest": DIGEST}), None)]
#[case(json!({"repository": "localhost/banlieue"}), Some("tag or digest"))]
#[case(json!({"repository": "localhost/banlieue:v1", "tag": "v1"}), Some("no tag"))]
#[case(json!({"repository": "https://localhost/banlieue", "tag": "v1"}), Some("no scheme"))]
#[case(json!({"repository": "localhost/banlieue/", "tag": "v1"}), Some("repository"))]
#[case(json!({"repository": "localhost/Banlieue", "tag": "v1"}), Some("lower case"))]
#[case(json!({"repository": "localhost/banlieue", "tag": "-v1"}), Some("tag"))]
#[case(json!({"repository": "localhost/banlieue", "tag": "v 1"}), Some("tag"))]
#[case(json!({"repository": "localhost/banlieue", "digest": "sha256:abc"}), Some("digest"))]
#[case(json!({"repository": "localhost/banlieue", "digest": DIGEST.to_uppercase()}), Some("digest"))]
fn image_reference(#[case] image: Value, #[case] says: Option<&str>) {
    expect(broken("ProviderClass", &class(json!({ "image": image })), None), says);
}

#[rstest]
#[case(json!({"workloadNamespace": "workloads"}), None)]
#[case(json!({"workloadNamespace": "kube-system"}), Some("kube-*"))]
#[case(json!({"podLabels": {"team": "a"}, "podAnnotations": {"example.com/x": "y"}}), None)]
#[case(json!({"podLabels": {"banlieue.io/provider-uid": "x"}}), Some("set by banlieue itself"))]
#[case(json!({"podAnnotations": {"app.kubernetes.io/name": "x"}}), Some("set by banlieue itself"))]
#[case(json!({"resources": {"requests": {"cpu": "10m", "memory": "32Mi"}, "limits": {"cpu": 1}}}), None)]
#[case(json!({"resources": {"requests": {"cpu": "abc"}}}), Some("quantity"))]
#[case(json!({"resources": {"limits": {"memory": "64 Mi"}}}), Some("quantity"))]
#[case(json!({"resources": {"requests": {"cpu": "1000m", "memory": "1Gi"}, "limits": {"cpu": 1, "memory": "1024Mi"}}}), None)]
#[case(json!({"resources": {"requests": {"cpu": 2}, "limits": {"cpu": "1500m"}}}), Some("at most its limit"))]
#[case(json!({"resources": {"requests": {"memory": "65Mi"}, "limits": {"memory": "64Mi", "cpu": 1}}}), Some("at most its limit"))]
#[case(json!({"resources": {"requests": {"cpu": "abc"}, "limits": {"cpu": 1}}}), Some("quantity"))]
fn pod_shape(#[case] patch: Value, #[case] says: Option<&str>) {
    expect(broken("ProviderClass", &class(patch), None), says);
}

#[test]
fn the_backend_cannot_be_changed() {
    let old = class(json!({}));
    assert!(broken("ProviderClass", &class(json!({"paused": true})), Some(&old)).is_empty());
    let broken = broken("ProviderClass", &class(json!({"backend": "proxmox"})), Some(&old));
    assert_eq!(broken.len(), 1);
    assert!(broken[0].contains("repoint its Providers"), "{broken:?}");
}

#[test]
fn a_new_rule_needs_its_cases_here() {
    let text = serde_json::to_string(&crds()).unwrap();
    assert_eq!(text.matches("\"rule\":").count(), 22);
}
