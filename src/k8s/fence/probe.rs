//! [`Probe`]: a write that RBAC allows the operator and one policy must deny, sent as a dry run; and what its answer means.
use crate::fsm::Part;
use crate::k8s::crd::Provider;
use crate::k8s::kinds;
use crate::k8s::manifests::{labels, names, pod};
use crate::k8s::refusal::PATIENCE;
use k8s_openapi::api::coordination::v1::Lease;
use kube::api::{Api, ApiResource, DynamicObject, Patch, PatchParams, PostParams};
use kube::{Client, ResourceExt};
use serde_json::{Value, json};

/// The name of what is asked for: none of those that the operator may write.
const NAME: &str = "banlieue-probe";

/// What is asked for. Each policy of the fence has one.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(super) enum Probe {
    /// A minted kind, under a name that is not ours.
    Minted(Part),
    /// A Lease of another.
    Lease,
    /// An annotation of a Provider.
    Provider,
    /// Another field of a Provider's status than `workload`.
    Status,
}

/// What an answer says of a policy.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) enum Verdict {
    /// It was not asked yet.
    Unasked,
    /// It denies.
    Denied,
    /// The write passed.
    Passed,
    /// Something else refused the write, in its own words.
    Hidden(String),
}

impl Verdict {
    /// What there is to say where it does not deny.
    pub(super) fn open(&self) -> Option<String> {
        match self {
            Verdict::Denied => None,
            Verdict::Unasked => Some("it was not asked yet".into()),
            Verdict::Passed => Some("it lets pass what it must deny".into()),
            Verdict::Hidden(words) => Some(format!("it was not what refused: {words}")),
        }
    }
}

impl Probe {
    /// All of them.
    pub(super) const ALL: [Probe; 8] = [
        Probe::Minted(Part::ServiceAccount),
        Probe::Minted(Part::Role),
        Probe::Minted(Part::ClusterRoleBinding),
        Probe::Minted(Part::RoleBinding),
        Probe::Minted(Part::Deployment),
        Probe::Lease,
        Probe::Provider,
        Probe::Status,
    ];

    /// Whether it asks for a change of a Provider, which has to be there.
    pub(super) fn needs_provider(self) -> bool {
        matches!(self, Probe::Provider | Probe::Status)
    }

    /// The policy that must deny it.
    pub(super) fn policy(self) -> String {
        match self {
            Probe::Minted(part) => names::fence(&kinds::resource(part).plural),
            Probe::Lease => names::fence("leases"),
            Probe::Provider => names::fence("providers"),
            Probe::Status => names::fence("providers/status"),
        }
    }

    /// Asks; nothing where no answer came, or where the Provider is gone.
    pub(super) async fn ask(self, client: &Client, namespace: &str, provider: Option<&Provider>) -> Option<Verdict> {
        let asked = async {
            Some(match self {
                Probe::Minted(part) => create(client, namespace, &kinds::resource(part), body(part)).await,
                Probe::Lease => create(client, namespace, &ApiResource::erase::<Lease>(&()), json!({})).await,
                Probe::Provider => change(client, provider?, false).await,
                Probe::Status => change(client, provider?, true).await,
            })
        };
        verdict(&self.policy(), tokio::time::timeout(PATIENCE, asked).await.ok()??)
    }
}

/// What an answer says of the policy.
pub(super) fn verdict(policy: &str, answer: Result<(), kube::Error>) -> Option<Verdict> {
    match answer {
        Ok(()) => Some(Verdict::Passed),
        Err(kube::Error::Api(status)) if status.message.contains(&format!("ValidatingAdmissionPolicy '{policy}'")) => {
            Some(Verdict::Denied)
        }
        // the Provider is gone, or the server is not itself
        Err(kube::Error::Api(status)) if matches!(status.code, 404 | 429 | 500..) => None,
        Err(kube::Error::Api(status)) => Some(Verdict::Hidden(status.message.clone())),
        Err(_) => None,
    }
}

async fn create(client: &Client, namespace: &str, kind: &ApiResource, data: Value) -> Result<(), kube::Error> {
    let mut object = DynamicObject::new(NAME, kind);
    object.data = data;
    object.metadata.labels = Some(labels::managed("operator", names::OPERATOR));
    let api = kinds::within(client, kind, Some(namespace).filter(|_| kind.plural != "clusterrolebindings"));
    let params = PostParams { dry_run: true, field_manager: Some(names::MANAGER_OPERATOR.into()) };
    api.create(&params, &object).await.map(drop)
}

/// What a minted kind needs to be valid. The bindings grant nothing to nobody.
fn body(part: Part) -> Value {
    let to = |kind: &str| json!({ "apiGroup": "rbac.authorization.k8s.io", "kind": kind, "name": names::OPERATOR });
    match part {
        Part::ServiceAccount | Part::Role => json!({}),
        Part::RoleBinding => json!({ "roleRef": to("Role") }),
        Part::ClusterRoleBinding => json!({ "roleRef": to("ClusterRole") }),
        Part::Deployment => {
            let labels = labels::selecting("probe");
            let pods = json!({
                "securityContext": pod::pod_security(),
                "containers": [pod::container("probe", "banlieue", vec![], vec![])],
            });
            json!({ "spec": {
                "selector": { "matchLabels": labels },
                "template": { "metadata": { "labels": labels }, "spec": pods },
            } })
        }
    }
}

async fn change(client: &Client, provider: &Provider, status: bool) -> Result<(), kube::Error> {
    let api: Api<Provider> = Api::namespaced(client.clone(), &provider.namespace().unwrap_or_default());
    let params =
        PatchParams { dry_run: true, field_manager: Some(names::MANAGER_OPERATOR.into()), ..Default::default() };
    let name = provider.name_any();
    if status {
        let seen = provider.status.as_ref().and_then(|s| s.observed_generation).unwrap_or(0);
        let patch = Patch::Merge(json!({ "status": { "observedGeneration": seen + 1 } }));
        api.patch_status(&name, &params, &patch).await.map(drop)
    } else {
        let patch = Patch::Merge(json!({ "metadata": { "annotations": { "banlieue.io/probe": names::OPERATOR } } }));
        api.patch(&name, &params, &patch).await.map(drop)
    }
}
