//! What is secret is in no log, status, Event, object, metric, answer or output, whatever goes wrong with it.
use crate::operator::Operator;
use crate::stage::{SOON, Stage, installed};
use anyhow::{Context, Result, bail, ensure};
use banlieue::k8s::crd::{Backend, Provider};
use banlieue::k8s::manifests::names;
use banlieue_e2e::watch;
use banlieue_suite::objects::namespace;
use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::Secret;
use kube::Api;
use kube::api::{DeleteParams, PostParams};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::Path;

/// Where it all is.
const HOME: &str = "marked";

/// Kinds whose objects are searched: those that a role writes or reads, and where the API server tells of them.
const KINDS: &str = "events,events.events.k8s.io,providers,providerclasses,deployments,replicasets,pods,serviceaccounts,configmaps,\
                     roles,rolebindings,clusterroles,clusterrolebindings,leases,validatingadmissionpolicies";

/// A Provider whose Secret cannot be used, or can; and what its pod says of it.
struct Case {
    name: &'static str,
    backend: Backend,
    endpoint: String,
    secret: Vec<(&'static str, String)>,
    says: &'static str,
}

fn pem(kind: &str, inner: &str) -> String {
    format!("-----BEGIN {kind}-----\n{inner}\n-----END {kind}-----\n")
}

fn cases(stage: &Stage) -> Result<Vec<Case>> {
    let sim = stage.cluster.vcsim()?;
    let address = sim.host_endpoint.trim_start_matches("https://").trim_end_matches("/sdk").to_owned();
    let login = |user: &str, password: &str| vec![("username", user.to_owned()), ("password", password.to_owned())];
    let vsphere = |name, secret, says| Case {
        name,
        backend: Backend::Vsphere,
        endpoint: sim.host_endpoint.clone(),
        secret,
        says,
    };
    Ok(vec![
        vsphere("let-in", login(&sim.username, &sim.password), "LoggedIn"),
        vsphere("refused", login("planted-user-quagga", "planted-password-okapi"), "CredentialsRefused"),
        vsphere("malformed", login("planted-user-dodo", "planted-password-moa\n"), "SecretKeyMalformed"),
        vsphere(
            "authority",
            [login(&sim.username, &sim.password), vec![("ca.crt", pem("CERTIFICATE", "planted-authority-auk"))]]
                .concat(),
            "CABundleInvalid",
        ),
        Case {
            name: "token",
            backend: Backend::Proxmox,
            endpoint: format!("https://{address}"),
            secret: vec![
                ("username", "root@pam!planted-token-name".into()),
                ("tokenValue", "planted-token-value-tarpan".into()),
            ],
            says: "UnexpectedAnswer",
        },
        Case {
            name: "key",
            backend: Backend::Libvirt,
            endpoint: format!("qemu+tls://{address}/system"),
            secret: vec![
                ("tls.crt", pem("CERTIFICATE", "planted-certificate-aurochs")),
                ("tls.key", pem("PRIVATE KEY", "planted-key-thylacine")),
            ],
            says: "SecretKeyMalformed",
        },
    ])
}

impl Case {
    async fn plant(&self, stage: &Stage, ca: &str) -> Result<Provider> {
        let data = self.secret.iter().map(|(key, value)| ((*key).to_owned(), ByteString(value.clone().into_bytes())));
        let mut secret = Secret { data: Some(data.collect::<BTreeMap<_, _>>()), ..Default::default() };
        secret.metadata.name = Some(self.name.into());
        let secrets: Api<Secret> = Api::namespaced(stage.client.clone(), HOME);
        secrets.create(&PostParams::default(), &secret).await?;
        let authority = if self.secret.iter().any(|(key, _)| *key == "ca.crt") {
            json!({ "secretRef": { "name": self.name } })
        } else {
            json!({ "inline": ca })
        };
        let connection =
            json!({ "endpoint": self.endpoint, "credentialsRef": { "name": self.name }, "caBundle": authority });
        let provider = json!({
            "apiVersion": "banlieue.io/v1alpha1", "kind": "Provider", "metadata": { "name": self.name },
            "spec": { "providerClassRef": { "name": self.backend }, "connection": connection },
        });
        let api: Api<Provider> = Api::namespaced(stage.client.clone(), HOME);
        Ok(api.create(&PostParams::default(), &serde_json::from_value(provider)?).await?)
    }

    /// Its pod, once the account is there.
    async fn pod(&self, stage: &Stage) -> Result<Operator> {
        let account = names::own(self.backend, HOME, self.name);
        let bindings: Api<k8s_openapi::api::rbac::v1::RoleBinding> = Api::namespaced(stage.client.clone(), HOME);
        watch::see(&bindings, &account, "it is minted", SOON, |_| true).await?;
        let args =
            ["provider", self.backend.as_str(), "--namespace", HOME, "--provider-name", self.name, "--log-level=trace"];
        stage.role(&format!("{HOME}/{account}"), &args).await
    }

    async fn told(&self, stage: &Stage) -> Result<()> {
        let api: Api<Provider> = Api::namespaced(stage.client.clone(), HOME);
        let says = |p: &Provider| {
            p.status.as_ref().is_some_and(|s| s.conditions.iter().any(|condition| condition.reason == self.says))
        };
        watch::see(&api, self.name, self.says, SOON, says).await.map(drop)
    }
}

/// What must be nowhere: each value as it is, and as an object would hold it.
struct Markers(Vec<(String, String)>);

impl Markers {
    /// The lines of what was planted, and the tokens that roles have.
    fn new(stage: &Stage, cases: &[Case]) -> Result<Self> {
        let mut all = Vec::new();
        let frame = |line: &&str| !line.starts_with("-----");
        for (key, value) in cases.iter().flat_map(|case| &case.secret) {
            all.extend(value.lines().filter(frame).map(|line| ((*key).to_owned(), line.to_owned())));
            let data = serde_json::to_value(ByteString(value.clone().into_bytes()))?;
            all.push((format!("{key} in base64"), data.as_str().context("no text")?.to_owned()));
        }
        for entry in std::fs::read_dir(stage.cluster.run_dir().path())? {
            let path = entry?.path();
            if path.extension().is_some_and(|e| e == "kubeconfig") && role(&path) {
                let text: Value = serde_json::from_str(&std::fs::read_to_string(&path)?)?;
                let token = text["users"][0]["user"]["token"].as_str().context("a role without a token")?;
                let signature = token.rsplit('.').next().context("no token")?;
                all.push((format!("the token of {}", path.display()), signature.to_owned()));
            }
        }
        Ok(Self(all))
    }

    /// Which of them are in a text.
    fn within(&self, text: &str) -> Vec<&str> {
        self.0.iter().filter(|(_, value)| text.contains(value)).map(|(what, _)| what.as_str()).collect()
    }
}

/// Whether this file is of a role, and not of a part of the cluster.
fn role(path: &Path) -> bool {
    let name = path.file_stem().unwrap_or_default().to_string_lossy();
    let number = ["operator-", "controller-", "provider-"].iter().find_map(|role| name.strip_prefix(role));
    number.is_some_and(|number| number.parse::<u32>().is_ok())
}

pub(crate) async fn nothing_secret_is_told(stage: &Stage) -> Result<()> {
    namespace(&stage.client, HOME).await?;
    let cases = cases(stage)?;
    let ca = stage.cluster.vcsim()?.ca_pem;
    stage.no_lease(names::DEFAULT_NAMESPACE, names::OPERATOR).await?;
    stage.no_lease(names::DEFAULT_NAMESPACE, names::CONTROLLER).await?;
    let mut roles = vec![
        stage.role(&installed(names::OPERATOR), &["operator", "--log-level=trace"]).await?,
        stage.role(&installed(names::CONTROLLER), &["controller", "--log-level=trace"]).await?,
    ];
    for case in &cases {
        case.plant(stage, &ca).await?;
    }
    for case in &cases {
        roles.push(case.pod(stage).await?);
        case.told(stage).await?;
    }

    let mut found: Vec<(String, String)> = Vec::new();
    for (at, role) in roles.iter().enumerate() {
        for path in ["metrics", "readyz?verbose"] {
            found.push((format!("{path} of role {at}"), role.get(path).await?.1));
        }
    }
    for args in [
        &["check", "--output", "json"][..],
        &["check", "--pre"],
        &["bootstrap", "operator", "--plan"],
        &["bootstrap", "operator", "--no-wait"],
        &["bootstrap", "operator", "--dry-run"],
        &["plan", "provider", &format!("{HOME}/refused"), "--output", "yaml"],
        &["plan", "provider", &format!("{HOME}/key")],
        &["audit", &stage.cluster.audit_log_path().display().to_string()],
        &["uninstall"],
    ] {
        let output = stage.banlieue(args)?;
        let text = [output.stdout, output.stderr].map(|text| String::from_utf8_lossy(&text).into_owned()).concat();
        ensure!(!text.is_empty(), "{args:?} says nothing");
        found.push((format!("{args:?}"), text));
    }
    found.push(("objects".into(), stage.cluster.kubectl(["get", KINDS, "--all-namespaces", "--output", "json"])?));
    let api: Api<Provider> = Api::namespaced(stage.client.clone(), HOME);
    for case in &cases {
        api.delete(case.name, &DeleteParams::default()).await?;
    }
    for case in &cases {
        watch::gone(&api, case.name, SOON).await?;
    }
    for role in roles {
        role.stop().await?;
    }
    found.push(("Events".into(), stage.cluster.kubectl(["get", "events", "--all-namespaces", "--output", "json"])?));
    for entry in std::fs::read_dir(stage.cluster.run_dir().logs())? {
        let path = entry?.path();
        // the simulator is no part of ours, and knows its password
        if path.file_name().is_some_and(|name| name != "vcsim.log") {
            let bytes = std::fs::read(&path)?;
            found.push((format!("{}", path.display()), String::from_utf8_lossy(&bytes).into_owned()));
        }
    }
    search(stage, &Markers::new(stage, &cases)?, &found)?;
    stage.cluster.kubectl(["delete", "namespace", HOME, "--wait=false"]).map(drop)
}

/// Nothing is in any of these; and that would be seen: the Secrets have it all, the logs are those of everything, and
/// objects and logs tell what went wrong.
fn search(stage: &Stage, markers: &Markers, found: &[(String, String)]) -> Result<()> {
    let secrets = stage.cluster.kubectl(["get", "secrets", "--namespace", HOME, "--output", "json"])?;
    let seen = markers.within(&secrets);
    let planted = markers.0.iter().filter(|(what, _)| what.ends_with("in base64"));
    ensure!(
        planted.clone().count() >= 10 && planted.clone().all(|(what, _)| seen.contains(&what.as_str())),
        "{seen:?}"
    );
    let all = |wanted: &str| found.iter().filter(|(_, text)| text.contains(wanted)).count();
    ensure!(all("\"level\":\"TRACE\"") >= 8, "{} logs tell all", all("\"level\":\"TRACE\""));
    for words in
        ["CredentialsRefused", "SecretKeyMalformed", "CABundleInvalid", "denied request", "rest_client_requests_total"]
    {
        ensure!(all(words) > 0, "nothing says {words}");
    }
    let bytes: usize = found.iter().map(|(_, text)| text.len()).sum();
    println!("figure: {} secret values in none of {} texts of {} kB", markers.0.len(), found.len(), bytes / 1024);
    let mut told = Vec::new();
    for (place, text) in found {
        told.extend(markers.within(text).into_iter().map(|what| format!("{what} is in {place}")));
    }
    if !told.is_empty() {
        bail!("{}", told.join("\n"));
    }
    Ok(())
}
