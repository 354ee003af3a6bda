//! What guards those who ask the operator, and what they rely on.
use crate::scene::{HOME, Scene, class, draft};
use crate::stage::Stage;
use anyhow::{Result, bail, ensure};
use banlieue::k8s::crd::{Provider, ProviderClass};
use banlieue::k8s::manifests::names;
use kube::api::{Api, Patch, PatchParams, PostParams};
use serde_json::{Value, json};

/// Two people who may write Providers; one of them may read the Secret, and the ConfigMap, that one of them names.
const PEOPLE: &str = r#"
apiVersion: v1
kind: ServiceAccount
metadata: {name: keyless, namespace: fenced}
---
apiVersion: v1
kind: ServiceAccount
metadata: {name: keeper, namespace: fenced}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: writer, namespace: fenced}
rules:
- {apiGroups: [banlieue.io], resources: [providers, providers/status], verbs: [get, create, patch]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: reader, namespace: fenced}
rules:
- {apiGroups: [""], resources: [secrets, configmaps], verbs: [get], resourceNames: [creds, ca]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: writer, namespace: fenced}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: writer}
subjects:
- {kind: ServiceAccount, name: keyless, namespace: fenced}
- {kind: ServiceAccount, name: keeper, namespace: fenced}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: reader, namespace: fenced}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: reader}
subjects:
- {kind: ServiceAccount, name: keeper, namespace: fenced}
"#;

/// That a policy denies, in these words.
fn denied<T: std::fmt::Debug>(what: &str, answer: kube::Result<T>, policy: &str, words: &str) -> Result<()> {
    match answer {
        Err(kube::Error::Api(status)) => {
            let says = |words: &str| status.message.contains(words);
            let by = says(&format!("ValidatingAdmissionPolicy '{policy}'")) && says(words) && status.code == 403;
            ensure!(by, "{what}: {} {}", status.code, status.message);
            Ok(())
        }
        other => bail!("{what}: {other:?}"),
    }
}

const DRY: PostParams = PostParams { dry_run: true, field_manager: None };

fn dry() -> PatchParams {
    PatchParams { dry_run: true, ..Default::default() }
}

pub(crate) async fn nobody_has_a_secret_read_that_he_may_not_read(stage: &Stage) -> Result<()> {
    Scene::of(stage).await?;
    stage.cluster.apply(PEOPLE)?;
    let as_ = async |name: &str| stage.cluster.client_as(&format!("{HOME}/{name}")).await;
    let keyless: Api<Provider> = Api::namespaced(as_("keyless").await?, HOME);
    let keeper: Api<Provider> = Api::namespaced(as_("keeper").await?, HOME);
    let new = |connection: Value| serde_json::from_value::<Provider>(draft("new", json!({ "connection": connection })));
    let plain = json!({ "endpoint": "https://vcenter.invalid/sdk", "credentialsRef": { "name": "creds" } });
    let with = |field: &str, value: Value| {
        let mut connection = plain.clone();
        connection[field] = value;
        connection
    };
    let secret_ca = with("caBundle", json!({ "secretRef": { "name": "other" } }));
    let map_ca = with("caBundle", json!({ "configMapRef": { "name": "other" } }));

    denied("create", keyless.create(&DRY, &new(plain.clone())?).await, names::DEPUTY, "credentialsRef names")?;
    keeper.create(&DRY, &new(plain.clone())?).await?;
    keeper.create(&DRY, &new(with("caBundle", json!({ "secretRef": { "name": "creds" } })))?).await?;
    keeper.create(&DRY, &new(with("caBundle", json!({ "configMapRef": { "name": "ca" } })))?).await?;
    let other = with("credentialsRef", json!({ "name": "other" }));
    denied("create", keeper.create(&DRY, &new(other)?).await, names::DEPUTY, "credentialsRef names")?;
    denied("create", keeper.create(&DRY, &new(secret_ca)?).await, names::DEPUTY, "caBundle.secretRef names")?;
    denied("create", keeper.create(&DRY, &new(map_ca)?).await, names::DEPUTY, "caBundle.configMapRef names")?;

    let change = async |who: &Api<Provider>, spec: Value| {
        who.patch("minted", &dry(), &Patch::Merge(json!({ "spec": spec }))).await
    };
    let elsewhere = json!({ "connection": { "endpoint": "https://mallory.invalid/sdk" } });
    denied("another endpoint", change(&keyless, elsewhere.clone()).await, names::DEPUTY, "credentialsRef names")?;
    change(&keeper, elsewhere).await?;
    // a pause needs no Secret
    change(&keyless, json!({ "paused": true })).await?;
    let label = Patch::Merge(json!({ "metadata": { "labels": { "x": "y" } } }));
    keyless.patch("minted", &dry(), &label).await?;
    Ok(())
}

/// The administrator neither.
pub(crate) async fn nobody_else_writes_the_workload(stage: &Stage) -> Result<()> {
    let scene = Scene::of(stage).await?;
    let account = scene.name(banlieue::fsm::Part::ServiceAccount);
    let pod: Api<Provider> = Api::namespaced(stage.cluster.client_as(&format!("{HOME}/{account}")).await?, HOME);
    let admin: Api<Provider> = Api::namespaced(stage.client.clone(), HOME);
    let forged = Patch::Merge(json!({ "status": { "workload": { "phase": "Ready", "reason": "WorkloadAvailable" } } }));
    for who in [&pod, &admin] {
        let answer = who.patch_status("minted", &dry(), &forged).await;
        denied("forge the workload", answer, names::OWNER_OF_STATUS, "by the operator alone")?;
        let own = Patch::Merge(json!({ "status": { "observedGeneration": 7 } }));
        who.patch_status("minted", &dry(), &own).await?;
    }
    Ok(())
}

/// What is there may still be edited.
pub(crate) async fn a_class_keeps_out_of_the_cluster_itself(stage: &Stage) -> Result<()> {
    let api: Api<ProviderClass> = Api::all(stage.client.clone());
    class(&stage.client, "guarded", json!({ "workloadNamespace": "pods" })).await?;
    let change = async |spec: Value| api.patch("guarded", &dry(), &Patch::Merge(json!({ "spec": spec }))).await;
    let reserved = change(json!({ "workloadNamespace": "openshift-etcd" })).await;
    denied("a reserved namespace", reserved, names::GUARD_OF_CLASSES, "namespaces of the cluster itself")?;
    change(json!({ "workloadNamespace": "other" })).await?;
    change(json!({ "paused": true })).await?;
    Ok(())
}
