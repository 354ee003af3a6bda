//! The API refuses: its own words in the status, few requests, one Event, and recovery once the cause is gone.
use crate::five::{Five, SOON};
use crate::place::{Place, message, namespace, workload};
use crate::stage::Stage;
use crate::writes::Counts;
use anyhow::{Context, Result, ensure};
use banlieue::fsm::{Phase, Reason};
use banlieue::k8s::crd::{Backend, Provider};
use banlieue::k8s::manifests::names;
use k8s_openapi::api::core::v1::{ConfigMap, Namespace, ResourceQuota};
use k8s_openapi::api::rbac::v1::ClusterRole;
use kube::api::{Api, DeleteParams, Patch, PatchParams, PostParams};
use serde_json::json;
use std::time::Duration;

/// How long requests are counted.
const A_WHILE: Duration = Duration::from_secs(10);

/// The namespace's own event wakes the Provider.
pub(crate) async fn a_namespace_that_comes_later(stage: &Stage) -> Result<()> {
    let place = Place::new(stage, "refused-place").await?;
    place.edit_class(&place.name, json!({ "workloadNamespace": "refused-place-pods" })).await?;
    place.register("p").await?;
    let seen = place.reason("p", Reason::NamespaceNotFound).await?;
    ensure!(message(&seen).contains("refused-place-pods"), "it says {:?}", message(&seen));
    let counts = meanwhile(&place, Reason::NamespaceNotFound, A_WHILE).await?;
    ensure!(counts.is_empty(), "it does not wait for the namespace: {counts:?}");
    namespace(stage, "refused-place-pods").await?;
    let ready = place.ready("p").await?;
    once(&ready, Reason::NamespaceNotFound)?;
    place.five_in("refused-place-pods", "p").stamped(&ready).await
}

/// What is being deleted takes nothing new; once it is gone and made again, the Provider goes on by itself.
pub(crate) async fn a_namespace_that_is_going(stage: &Stage) -> Result<()> {
    const PODS: &str = "refused-going-pods";
    let place = Place::new(stage, "refused-going").await?;
    namespace(stage, PODS).await?;
    let maps: Api<ConfigMap> = Api::namespaced(stage.client.clone(), PODS);
    let holds = json!({ "metadata": { "name": "holds", "finalizers": ["example.com/hold"] } });
    maps.create(&PostParams::default(), &serde_json::from_value(holds)?).await?;
    let namespaces: Api<Namespace> = Api::all(stage.client.clone());
    namespaces.delete(PODS, &DeleteParams::default()).await?;
    place.edit_class(&place.name, json!({ "workloadNamespace": PODS })).await?;
    place.register("p").await?;
    let seen = place.reason("p", Reason::NamespaceTerminating).await?;
    ensure!(message(&seen).contains(PODS), "it says {:?}", message(&seen));
    let free = Patch::Merge(json!({ "metadata": { "finalizers": null } }));
    maps.patch("holds", &PatchParams::default(), &free).await?;
    place.reason("p", Reason::NamespaceNotFound).await?;
    namespace(stage, PODS).await?;
    let ready = place.ready("p").await?;
    place.five_in(PODS, "p").stamped(&ready).await
}

/// Its pods' namespace goes and comes back; a Provider can be deleted while it is away.
pub(crate) async fn a_namespace_that_goes_under_a_running_provider(stage: &Stage) -> Result<()> {
    const PODS: &str = "refused-gone-pods";
    let place = Place::new(stage, "refused-gone").await?;
    namespace(stage, PODS).await?;
    place.edit_class(&place.name, json!({ "workloadNamespace": PODS })).await?;
    for name in ["stays", "goes"] {
        place.registered(name).await?;
    }
    let namespaces: Api<Namespace> = Api::all(stage.client.clone());
    namespaces.delete(PODS, &DeleteParams::default()).await?;
    banlieue_e2e::watch::gone(&namespaces, PODS, SOON).await?;
    place.reason("stays", Reason::NamespaceNotFound).await?;
    place.remove("goes").await?;
    place.five_in(PODS, "goes").gone().await?;
    namespace(stage, PODS).await?;
    let ready = place.ready("stays").await?;
    place.five_in(PODS, "stays").stamped(&ready).await
}

/// Only this test has Providers for libvirt, so only it misses that role.
pub(crate) async fn a_shared_role_that_is_missing(stage: &Stage) -> Result<()> {
    let place = Place::bare(stage, "refused-role").await?;
    place.class(&place.name, Backend::Libvirt, json!({})).await?;
    let roles: Api<ClusterRole> = Api::all(stage.client.clone());
    let name = names::shared(Backend::Libvirt);
    let role = roles.get(&name).await?;
    roles.delete(&name, &DeleteParams::default()).await?;
    let mut draft = place.draft("p");
    draft.spec.connection.endpoint = "qemu+tls://host.invalid/system".into();
    place.create(&draft).await?;
    let seen = place.reason("p", Reason::Refused).await?;
    let words = message(&seen);
    ensure!(words.contains(&name) && words.contains("bootstrap operator"), "it says {words:?}");
    let counts = meanwhile(&place, Reason::Refused, A_WHILE).await?;
    let tried = counts.get("patch clusterrolebindings").copied().unwrap_or(0);
    ensure!(tried <= 6 && counts.values().sum::<usize>() == tried, "more than a few tries: {counts:?}");
    let metadata = kube::api::ObjectMeta { name: Some(name), labels: role.metadata.labels, ..Default::default() };
    roles.create(&PostParams::default(), &ClusterRole { metadata, ..role }).await?;
    let ready = place.ready("p").await?;
    once(&ready, Reason::Refused)?;
    Five::new(&stage.client, Backend::Libvirt, &place.name, "p", None).stamped(&ready).await
}

/// The pods are refused, not the Deployment.
pub(crate) async fn a_quota_that_allows_no_pod(stage: &Stage) -> Result<()> {
    let place = Place::new(stage, "refused-quota").await?;
    let quotas: Api<ResourceQuota> = Api::namespaced(stage.client.clone(), &place.name);
    let quota = json!({ "metadata": { "name": "none" }, "spec": { "hard": { "pods": "0" } } });
    quotas.create(&PostParams::default(), &serde_json::from_value(quota)?).await?;
    let counted = |q: &ResourceQuota| q.status.as_ref().is_some_and(|s| s.hard.is_some());
    banlieue_e2e::watch::see(&quotas, "none", "is in force", SOON, counted).await?;
    place.register("p").await?;
    let seen = place.reason("p", Reason::PodsRefused).await?;
    ensure!(message(&seen).contains("exceeded quota: none"), "it says {:?}", message(&seen));
    ensure!(workload(&seen).is_some_and(|w| w.phase == Phase::Provisioning));
    let counts = meanwhile(&place, Reason::PodsRefused, A_WHILE).await?;
    ensure!(counts.is_empty(), "the pods are not its to try: {counts:?}");
    quotas.delete("none", &DeleteParams::default()).await?;
    once(&place.ready("p").await?, Reason::PodsRefused)
}

/// Pod Security `restricted` takes the pods as they are.
pub(crate) async fn nothing_where_pods_must_be_restricted(stage: &Stage) -> Result<()> {
    let place = Place::new(stage, "refused-security").await?;
    let namespaces: Api<Namespace> = Api::all(stage.client.clone());
    let labels = json!({ "pod-security.kubernetes.io/enforce": "restricted" });
    let patch = Patch::Merge(json!({ "metadata": { "labels": labels } }));
    namespaces.patch(&place.name, &PatchParams::default(), &patch).await?;
    let ready = place.registered("p").await?;
    let edges = workload(&ready).map(|w| w.transitions.iter().map(|t| t.reason).collect::<Vec<_>>());
    ensure!(edges.iter().flatten().all(|r| *r != Reason::PodsRefused), "the edges are {edges:?}");
    Ok(())
}

const POLICY: &str = r#"
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: NAME}
spec:
  failurePolicy: Fail
  matchConstraints:
    namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: NAME}}
    resourceRules:
    - {apiGroups: [apps], apiVersions: [v1], operations: [CREATE, UPDATE], resources: [deployments]}
  validations:
  - {expression: "false", message: the house rules say no}
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: NAME}
spec: {policyName: NAME, validationActions: [Deny]}
"#;

/// Requests are counted for a while: most of them come early.
pub(crate) async fn an_admission_policy_denies(stage: &Stage) -> Result<()> {
    denied(stage, "refused-policy", Duration::from_secs(30), 6).await
}

/// Fewer than 20 in two minutes.
pub(crate) async fn an_admission_policy_denies_for_two_minutes(stage: &Stage) -> Result<()> {
    denied(stage, "refused-policy-long", Duration::from_secs(120), 19).await
}

async fn denied(stage: &Stage, name: &str, span: Duration, most: usize) -> Result<()> {
    let place = Place::new(stage, name).await?;
    stage.cluster.apply(&POLICY.replace("NAME", name))?;
    denies(&place).await?;
    place.register("p").await?;
    let seen = place.reason("p", Reason::Refused).await?;
    let words = message(&seen);
    ensure!(words.contains("the house rules say no") && words.contains("Deployment"), "it says {words:?}");
    let counts = meanwhile(&place, Reason::Refused, span).await?;
    let tried = counts.get("patch deployments").copied().unwrap_or(0);
    ensure!((1..=most).contains(&tried), "{tried} tries: {counts:?}");
    ensure!(counts.len() == 1, "more than tries: {counts:?}");

    stage.cluster.kubectl(["delete", "validatingadmissionpolicybinding,validatingadmissionpolicy", name])?;
    let ready = place.ready("p").await?;
    once(&ready, Reason::Refused)
}

/// What the operator writes while a Provider is refused for this reason, which it is for all that time.
async fn meanwhile(place: &Place<'_>, reason: Reason, span: Duration) -> Result<Counts> {
    place.announced(&[place.providers.get("p").await?]).await?;
    let writes = place.writes(&["p"])?;
    let left = |p: &Provider| workload(p).is_none_or(|w| w.reason != Some(reason));
    let what = format!("it no longer says {reason}");
    banlieue_e2e::watch::never(&place.providers, "p", &what, span, left).await?;
    let counts = writes.counts()?;
    println!("figure: {reason} in {} for {} s: {counts:?}", place.name, span.as_secs());
    Ok(counts)
}

/// That there was one edge into this reason, and so one Event.
fn once(provider: &Provider, reason: Reason) -> Result<()> {
    let edges: Vec<_> = workload(provider).context("no status")?.transitions.iter().map(|t| t.reason).collect();
    let times = edges.iter().filter(|r| **r == reason).count();
    ensure!(times == 1, "one Event for {reason}, but the edges are {edges:?}");
    Ok(())
}

/// Waits until the policy is in force: it takes effect a moment after it was made.
async fn denies(place: &Place<'_>) -> Result<()> {
    use k8s_openapi::api::apps::v1::Deployment;
    let api: Api<Deployment> = Api::namespaced(place.stage.client.clone(), &place.name);
    let labels = json!({ "a": "b" });
    let probe = json!({
        "metadata": { "name": "probe" },
        "spec": {
            "selector": { "matchLabels": labels },
            "template": { "metadata": { "labels": labels }, "spec": { "containers": [{ "name": "c", "image": "i" }] } },
        },
    });
    let probe: Deployment = serde_json::from_value(probe)?;
    crate::until::until("the policy is in force", SOON, async || {
        match api.create(&PostParams { dry_run: true, ..Default::default() }, &probe).await {
            Err(kube::Error::Api(status)) if status.message.contains("house rules") => Ok(Ok(())),
            Err(error) => Err(error.into()),
            Ok(_) => Ok(Err("a Deployment is taken".into())),
        }
    })
    .await
}
