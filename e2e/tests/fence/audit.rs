//! `banlieue audit` on the log that the shipped audit policy makes of real grants.
use crate::scene::{SOON, Scene};
use crate::stage::Stage;
use crate::until::until;
use anyhow::{Context, Result, ensure};
use banlieue::fsm::Part;
use banlieue::k8s::manifests::names;
use k8s_openapi::api::admissionregistration::v1::ValidatingAdmissionPolicyBinding;
use k8s_openapi::api::rbac::v1::ClusterRoleBinding;
use kube::api::{Api, DeleteParams, PostParams};
use serde_json::{Value, json};

/// What it says of an object: alarm and verdict of each entry.
fn judged(stage: &Stage, object: &str) -> Result<Vec<(bool, String)>> {
    let output = stage.audit(&["--output", "json"])?;
    let found: Vec<Value> = serde_json::from_slice(&output.stdout)?;
    let of = found.iter().filter(|f| f["object"] == object);
    Ok(of.map(|f| (f["alarm"] == true, f["verdict"].as_str().unwrap_or_default().to_owned())).collect())
}

/// Waits until it says this of an object.
async fn says(stage: &Stage, object: &str, alarm: bool, verdict: &str) -> Result<()> {
    until(&format!("{object}: {verdict}"), SOON, async || {
        let all = judged(stage, object)?;
        let told = all.iter().any(|found| *found == (alarm, verdict.to_owned()));
        Ok(if told { Ok(()) } else { Err(format!("{all:?}")) })
    })
    .await
}

fn grant(name: &str, role: &str) -> Result<ClusterRoleBinding> {
    let rbac = "rbac.authorization.k8s.io";
    Ok(serde_json::from_value(json!({
        "apiVersion": format!("{rbac}/v1"), "kind": "ClusterRoleBinding", "metadata": { "name": name },
        "roleRef": { "apiGroup": rbac, "kind": "ClusterRole", "name": role },
        "subjects": [{ "kind": "ServiceAccount", "namespace": "default", "name": "default" }],
    }))?)
}

/// The operator's own binding is its work, and the log has the role that it grants, though it is sent as a patch.
pub(crate) async fn a_grant_of_its_work_is_no_alarm(stage: &Stage) -> Result<()> {
    let scene = Scene::of(stage).await?;
    let name = scene.name(Part::ClusterRoleBinding);
    let object = format!("clusterrolebindings {name}");
    says(stage, &object, false, "the workload of a Provider").await?;
    let all = judged(stage, &object)?;
    ensure!(all.iter().all(|(alarm, _)| !alarm), "its own work alarms: {all:?}");
    let log = std::fs::read_to_string(stage.cluster.audit_log_path())?;
    let entries = log.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    // the attacks of other tests are dry runs
    let real = entries.filter(|e| !e["requestURI"].as_str().unwrap_or_default().contains("dryRun="));
    let made = real.filter(|e| e["objectRef"]["name"] == name.as_str() && e["verb"] == "patch");
    let roles: Vec<_> = made.map(|e| e["requestObject"]["roleRef"]["name"].clone()).collect();
    ensure!(!roles.is_empty() && roles.iter().all(|r| r == "banlieue-provider-vsphere"), "recorded are {roles:?}");
    Ok(())
}

/// Refused as long as it is fenced in. With every limit gone, by a careless administrator, the grant passes and its role alarms;
/// so does who acts under the operator's name.
pub(crate) async fn another_grant_is_one(stage: &Stage) -> Result<()> {
    Scene::of(stage).await?;
    let evil: Api<ClusterRoleBinding> = Api::all(stage.taken_over.clone());
    let name = "banlieue-provider-evil";
    let refused = evil.create(&PostParams::default(), &grant(name, "cluster-admin")?).await;
    ensure!(matches!(&refused, Err(kube::Error::Api(s)) if s.code == 403), "{refused:?}");
    says(stage, &format!("clusterrolebindings {name}"), true, "it was refused").await?;

    let policies: Api<ValidatingAdmissionPolicyBinding> = Api::all(stage.client.clone());
    let admin: Api<ClusterRoleBinding> = Api::all(stage.client.clone());
    let mut careless = grant("careless", "cluster-admin")?;
    careless.subjects = serde_json::from_value(json!([
        { "kind": "ServiceAccount", "namespace": names::DEFAULT_NAMESPACE, "name": names::OPERATOR },
    ]))?;
    admin.create(&PostParams::default(), &careless).await?;
    policies.delete(&names::fence("clusterrolebindings"), &DeleteParams::default()).await?;
    let granted = until("the grant passes", SOON, async || {
        let answer = evil.create(&PostParams::default(), &grant(name, "cluster-admin")?).await;
        Ok(answer.map(drop).map_err(|error| error.to_string()))
    })
    .await;
    admin.delete("careless", &DeleteParams::default()).await?;
    granted?;
    admin.delete(name, &DeleteParams::default()).await?;
    says(stage, &format!("clusterrolebindings {name}"), true, "it binds a role that is not banlieue-provider-*")
        .await?;

    let operator = format!("system:serviceaccount:{}:{}", names::DEFAULT_NAMESPACE, names::OPERATOR);
    feigned(stage, &operator).await?;
    let doomed = names::fence("roles");
    let opens = stage.cluster.kubectl(["--as", &operator, "delete", "validatingadmissionpolicybinding", &doomed]);
    ensure!(opens.is_err(), "the operator may open its own fence");
    let object = format!("validatingadmissionpolicybindings {doomed}");
    says(stage, &object, true, "somebody else did it under its name").await?;
    stage.bootstrap()?;
    stage.operator.lock().await.as_ref().context("no operator runs")?.ready().await
}

/// A grant as the operator makes them, which passes where it is not fenced in: that it was somebody else, the log alone tells.
async fn feigned(stage: &Stage, operator: &str) -> Result<()> {
    let name = "banlieue-provider-feigned";
    let bind = ["--clusterrole=banlieue-provider-vsphere", "--serviceaccount=default:default"];
    stage.cluster.kubectl([&["--as", operator, "create", "clusterrolebinding", name][..], &bind].concat())?;
    stage.cluster.kubectl(["delete", "clusterrolebinding", name])?;
    says(stage, &format!("clusterrolebindings {name}"), true, "somebody else did it under its name").await
}
