//! The attack table: what a taken-over operator would try, each denied and by what; what passes must.
mod accounts;
mod bindings;
mod deployments;
mod elsewhere;
mod providers;
mod roles;

use crate::scene::{HOME, Scene};
use crate::stage::Stage;
use anyhow::{Result, ensure};
use banlieue::fsm::Part;
use banlieue::k8s::manifests::names;
use kube::Client;
use serde_json::{Value, json};

/// What denies.
#[derive(Clone, Copy, Debug)]
enum By {
    /// The policy of the fence on this plural, by a rule whose message has these words.
    Fence(&'static str, &'static str),
    /// The operator lacks the right.
    Rbac,
    /// It would grant what it does not hold.
    Escalation,
    /// It may not delete what it would give an owner, where the API server asks for that.
    Ownership,
}

impl By {
    fn denied(self, answer: &kube::core::Status) -> bool {
        let says = |words: &str| answer.message.contains(words);
        answer.code == 403
            && match self {
                By::Fence(plural, words) => {
                    says(&format!("ValidatingAdmissionPolicy '{}'", names::fence(plural))) && says(words)
                }
                By::Rbac => says("cannot "),
                By::Escalation => says("attempting to grant"),
                By::Ownership => says("cannot set an ownerRef"),
            }
    }
}

/// One write.
struct Write {
    what: String,
    method: &'static str,
    path: String,
    body: Value,
}

impl Write {
    fn new(what: &str, method: &'static str, path: impl Into<String>, body: Value) -> Self {
        Self { what: what.into(), method, path: path.into(), body }
    }

    /// Sent as a dry run; reads are what they are.
    async fn send(&self, client: &Client) -> Result<Result<(), kube::core::Status>> {
        // a delete takes its options from its body alone where it has one
        let dry = if matches!(self.method, "GET" | "DELETE") { "" } else { "dryRun=All" };
        let kind = if self.method == "PATCH" { "application/merge-patch+json" } else { "application/json" };
        let join = if self.path.contains('?') { '&' } else { '?' };
        let request = http::Request::builder().method(self.method).uri(format!("{}{join}{dry}", self.path));
        let request = request.header("content-type", kind).body(serde_json::to_vec(&self.body)?)?;
        match client.request::<Value>(request).await {
            Ok(_) => Ok(Ok(())),
            Err(kube::Error::Api(status)) => Ok(Err(*status)),
            Err(error) => Err(error.into()),
        }
    }
}

type Attack = (Write, By);

/// Where objects of a minted kind are.
fn path(part: Part, namespace: &str) -> String {
    let rbac = "/apis/rbac.authorization.k8s.io/v1";
    match part {
        Part::ServiceAccount => format!("/api/v1/namespaces/{namespace}/serviceaccounts"),
        Part::Role => format!("{rbac}/namespaces/{namespace}/roles"),
        Part::RoleBinding => format!("{rbac}/namespaces/{namespace}/rolebindings"),
        Part::ClusterRoleBinding => format!("{rbac}/clusterrolebindings"),
        Part::Deployment => format!("/apis/apps/v1/namespaces/{namespace}/deployments"),
    }
}

/// A create of what the operator would create, but for one thing.
fn create_but(scene: &Scene, part: Part, what: &str, change: impl FnOnce(&mut Value)) -> Write {
    let mut body = scene.body(part);
    change(&mut body);
    let home = body["metadata"]["namespace"].as_str().unwrap_or(HOME).to_owned();
    Write::new(&format!("create a {}: {what}", part.kind()), "POST", path(part, &home), body)
}

/// A change of what was minted.
fn change(scene: &Scene, part: Part, what: &str, patch: Value) -> Write {
    let path = format!("{}/{}", path(part, HOME), scene.name(part));
    Write::new(&format!("change the {}: {what}", part.kind()), "PATCH", path, patch)
}

/// A delete, which says by its body that it is a dry run.
fn delete(what: &str, path: impl Into<String>) -> Write {
    Write::new(what, "DELETE", path, json!({ "dryRun": ["All"] }))
}

/// A change and a delete of what is not the operator's.
fn hands_off(part: Part, namespace: &str, name: &str, patch: Value, words: [&'static str; 2]) -> [Attack; 2] {
    let at = format!("{}/{name}", path(part, namespace));
    let what = |verb: &str| format!("{verb} the {} {namespace}/{name}", part.kind());
    let plural = banlieue::k8s::kinds::resource(part).plural;
    let plural = Part::ALL.map(plural_of).into_iter().find(|p| *p == plural).unwrap_or_default();
    [
        (Write::new(&what("change"), "PATCH", at.clone(), patch), By::Fence(plural, words[0])),
        (delete(&what("delete"), at), By::Fence(plural, words[1])),
    ]
}

const fn plural_of(part: Part) -> &'static str {
    match part {
        Part::ServiceAccount => "serviceaccounts",
        Part::Role => "roles",
        Part::RoleBinding => "rolebindings",
        Part::ClusterRoleBinding => "clusterrolebindings",
        Part::Deployment => "deployments",
    }
}

/// What holds for each of the five alike: names and stamps.
fn stamps(scene: &Scene, part: Part) -> Vec<Attack> {
    let uid = names::PROVIDER_UID;
    let by = |words| By::Fence(plural_of(part), words);
    let other = scene.paused.metadata.uid.clone();
    let foreign = json!({ "metadata": { "labels": { "x": "y" } } });
    let adopt = json!({ "metadata": { "labels": { uid: other }, "annotations": { uid: other, names::PROVIDER: format!("{HOME}/paused") } } });
    let stranger = |patch| {
        hands_off(
            part,
            HOME,
            "banlieue-provider-stranger",
            patch,
            ["carries a Provider's stamp", "carries a Provider's stamp"],
        )
    };
    let mut all = vec![
        (
            create_but(scene, part, "a name of its own", |o| o["metadata"]["name"] = "innocent".into()),
            by("named banlieue-provider-*"),
        ),
        (
            create_but(scene, part, "no stamp", |o| o["metadata"]["annotations"][uid] = "".into()),
            by("stamps what it writes"),
        ),
        (
            create_but(scene, part, "half a stamp", |o| o["metadata"]["labels"][uid] = "".into()),
            by("stamps what it writes"),
        ),
        (
            create_but(scene, part, "for nobody", |o| o["metadata"]["annotations"][names::PROVIDER] = "".into()),
            by("which Provider"),
        ),
        (
            change(
                scene,
                part,
                "another's stamp",
                json!({ "metadata": { "labels": { uid: other }, "annotations": { uid: other } } }),
            ),
            by("change an object's stamp"),
        ),
        (
            change(scene, part, "no stamp", json!({ "metadata": { "annotations": { uid: null } } })),
            by("stamps what it writes"),
        ),
    ];
    all.extend(stranger(adopt));
    all.extend(stranger(foreign).into_iter().take(1));
    all
}

fn attacks(scene: &Scene) -> Vec<Attack> {
    let mut all: Vec<_> = Part::ALL.into_iter().flat_map(|part| stamps(scene, part)).collect();
    all.extend(accounts::attacks(scene));
    all.extend(roles::attacks(scene));
    all.extend(bindings::attacks(scene));
    all.extend(deployments::attacks(scene));
    all.extend(providers::attacks(scene));
    all.extend(elsewhere::attacks());
    all
}

pub(crate) async fn every_attack_is_denied(stage: &Stage) -> Result<()> {
    let scene = Scene::of(stage).await?;
    let attacks = attacks(scene);
    let mut wrong = Vec::new();
    for (write, by) in &attacks {
        match write.send(&stage.taken_over).await? {
            Err(status) if by.denied(&status) => {}
            Err(status) => wrong.push(format!("{}: {by:?} wanted, got {} {}", write.what, status.code, status.message)),
            Ok(()) => wrong.push(format!("{}: it passed", write.what)),
        }
    }
    let count = |kind: fn(By) -> bool| attacks.iter().filter(|(_, by)| kind(*by)).count();
    println!(
        "figure: {} attacks: {} denied by the fence, {} by RBAC, {} as an escalation",
        attacks.len(),
        count(|by| matches!(by, By::Fence(..))),
        count(|by| matches!(by, By::Rbac | By::Ownership)),
        count(|by| matches!(by, By::Escalation)),
    );
    ensure!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), attacks.len(), wrong.join("\n"));
    Ok(())
}

async fn pass(stage: &Stage, writes: Vec<Write>) -> Result<()> {
    let mut wrong = Vec::new();
    for write in &writes {
        // that it exists is said by the store, which comes after admission
        if let Err(status) = write.send(&stage.taken_over).await?
            && status.reason != "AlreadyExists"
        {
            wrong.push(format!("{}: {} {}", write.what, status.code, status.message));
        }
    }
    ensure!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), writes.len(), wrong.join("\n"));
    Ok(())
}

/// What the operator does all day.
pub(crate) async fn legitimate_writes_pass(stage: &Stage) -> Result<()> {
    let scene = Scene::of(stage).await?;
    let mut writes: Vec<_> = Part::ALL.into_iter().map(|part| create_but(scene, part, "as it is", |_| {})).collect();
    let label = json!({ "metadata": { "labels": { "app.kubernetes.io/part-of": "banlieue" } } });
    writes.extend(Part::ALL.map(|part| change(scene, part, "a label of ours", label.clone())));
    writes.extend(Part::ALL.map(|part| {
        let at = format!("{}/{}", path(part, HOME), scene.name(part));
        delete(&format!("delete the {}", part.kind()), at)
    }));
    writes.extend(providers::legitimate());
    pass(stage, writes).await
}

/// With the audit policy that we ship: what cannot be denied is told of, and what is the operator's work is not alarming.
pub(crate) async fn a_read_of_a_secret_is_told_of(stage: &Stage) -> Result<()> {
    Scene::of(stage).await?;
    pass(stage, elsewhere::accepted()).await?;
    crate::until::until("the audit log tells", crate::scene::SOON, async || {
        let output = stage.audit(&["--output", "json"])?;
        let found: Vec<Value> = serde_json::from_slice(&output.stdout)?;
        let (alarms, work): (Vec<_>, Vec<_>) = found.iter().partition(|f| f["alarm"] == true);
        let reads = |f: &&&Value| f["object"].as_str().is_some_and(|object| object.starts_with("secrets "));
        // the attacks of others may be refused meanwhile
        let others: Vec<_> = alarms.iter().filter(|f| !reads(f) && f["verdict"] != "it was refused").collect();
        ensure!(others.is_empty(), "more alarms: {others:?}");
        let told = alarms.iter().any(|f| f["object"] == "secrets fenced/creds") && output.status.code() == Some(1);
        let worked = work.iter().any(|f| f["verdict"] == "the workload of a Provider");
        Ok(if told && worked { Ok(()) } else { Err(format!("{found:?}")) })
    })
    .await
}

/// What the fence cannot deny, or lets pass on purpose: each is in the threat model.
pub(crate) async fn what_is_accepted_is_known(stage: &Stage) -> Result<()> {
    let scene = Scene::of(stage).await?;
    let mut writes = elsewhere::accepted();
    writes.extend(roles::accepted(scene));
    writes.extend(deployments::accepted(scene));
    pass(stage, writes).await
}
