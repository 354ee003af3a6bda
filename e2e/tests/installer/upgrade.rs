//! From what an earlier version installed, in place.
use crate::stage::{SOON, Stage, provider};
use anyhow::{Context, Result, ensure};
use banlieue::k8s::crd::{Provider, ProviderClass};
use banlieue::k8s::manifests::names::{CONTROLLER, DEFAULT_NAMESPACE, MANAGER_BOOTSTRAP, OPERATOR};
use k8s_openapi::api::apps::v1::{Deployment, ReplicaSet};
use k8s_openapi::api::core::v1::ServiceAccount;
use kube::ResourceExt;
use kube::api::{Api, ListParams};

const KINDS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/installer/fixtures/previous-crds.yaml");
const REST: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/installer/fixtures/previous.yaml");

/// As that version did: by server-side apply under the installer's name. Waits until both Deployments have their pods' templates.
async fn install_the_earlier_one(stage: &Stage) -> Result<()> {
    let apply = ["apply", "--server-side", "--field-manager", MANAGER_BOOTSTRAP, "-f"];
    stage.cluster.kubectl([&apply[..], &[KINDS]].concat())?;
    stage.cluster.kubectl(["wait", "--for=condition=Established", "-f", KINDS])?;
    crate::until::until("it is installed", SOON, async || {
        // a kind that was made a moment ago may not be served yet
        Ok(stage.cluster.kubectl([&apply[..], &[REST]].concat()).map_err(|error| format!("{error:#}")))
    })
    .await?;
    for role in [OPERATOR, CONTROLLER] {
        templates(stage, role, 1).await?;
    }
    stage.cluster.kubectl(["create", "namespace", "kept"])?;
    stage.cluster.apply(&provider("kept", "vc", "vsphere")).map(drop)
}

/// The uids of a Deployment's ReplicaSets, once there are this many: one for each template that its pods have had.
async fn templates(stage: &Stage, deployment: &str, count: usize) -> Result<Vec<String>> {
    let sets: Api<ReplicaSet> = Api::namespaced(stage.client.clone(), DEFAULT_NAMESPACE);
    crate::until::until(&format!("{deployment} has {count} templates"), SOON, async || {
        let all = sets.list(&ListParams::default()).await?.items;
        let mut of: Vec<_> = all.iter().filter(|s| s.owner_references().iter().any(|o| o.name == deployment)).collect();
        of.sort_by_key(|set| set.metadata.creation_timestamp.clone());
        let uids: Vec<_> = of.into_iter().filter_map(ResourceExt::uid).collect();
        Ok(if uids.len() == count { Ok(uids) } else { Err(format!("{uids:?}")) })
    })
    .await
}

/// All that is installed, without what others write.
fn content(stage: &Stage) -> Result<String> {
    let kinds = "crd,ns,sa,roles,rolebindings,clusterroles,clusterrolebindings,deployments,provclass,providers,\
                 validatingadmissionpolicies,validatingadmissionpolicybindings";
    let text = stage.cluster.kubectl(["get", kinds, "--all-namespaces", "--output", "json"])?;
    let mut list: serde_json::Value = serde_json::from_str(&text)?;
    for object in list["items"].as_array_mut().context("no list")? {
        object["status"].take();
        if object["kind"] == "Deployment" {
            // its controller counts in an annotation, and with it in the version
            object["metadata"]["annotations"].take();
            object["metadata"]["resourceVersion"].take();
            object["metadata"]["managedFields"].take();
        }
    }
    Ok(list["items"].to_string())
}

/// The plan says what changes and changes nothing; then nothing that is as it should be restarts, and what is no longer sent is gone.
pub(crate) async fn in_place(stage: &Stage) -> Result<()> {
    install_the_earlier_one(stage).await?;
    let deployments: Api<Deployment> = Api::namespaced(stage.client.clone(), DEFAULT_NAMESPACE);
    let accounts: Api<ServiceAccount> = Api::namespaced(stage.client.clone(), DEFAULT_NAMESPACE);
    let providers: Api<Provider> = Api::namespaced(stage.client.clone(), "kept");
    let (operator, controller) = (deployments.get(OPERATOR).await?, deployments.get(CONTROLLER).await?);
    let (account, kept) = (accounts.get(OPERATOR).await?, providers.get("vc").await?);
    let pods_of_the_controller = templates(stage, CONTROLLER, 1).await?;

    let before = content(stage)?;
    let plan = stage.done(&["bootstrap", "operator", "--plan"])?;
    ensure!(content(stage)? == before, "the plan wrote something");
    for says in [
        "would create  ValidatingAdmissionPolicy banlieue-fence-roles",
        "would change  Deployment banlieue-system/banlieue-operator",
        "spec.template.spec.containers[operator].image",
        "spec.template.spec.containers[operator].env[BANLIEUE_OF_THEN]",
        "spec.minReadySeconds",
        "kept          ProviderClass vsphere",
        "spec.image.tag",
    ] {
        ensure!(plan.contains(says), "the plan does not say {says}:\n{plan}");
    }

    stage.done(&["bootstrap", "operator", "--no-wait"])?;
    let new = (deployments.get(OPERATOR).await?, deployments.get(CONTROLLER).await?);
    // not the generation: it counts annotations too
    ensure!(new.1.spec == controller.spec, "the controller was touched: {:?}", new.1.spec);
    ensure!(templates(stage, CONTROLLER, 1).await? == pods_of_the_controller, "the controller's pods are others");
    ensure!(new.0.spec != operator.spec, "the operator is the old one");
    templates(stage, OPERATOR, 2).await?;
    ensure!(new.0.uid() == operator.uid() && accounts.get(OPERATOR).await?.uid() == account.uid(), "made anew");
    ensure!(providers.get("vc").await?.metadata.uid == kept.metadata.uid, "the Provider was made anew");

    ensure!(!new.1.annotations().contains_key("banlieue.io/of-then"), "an annotation of then is left");
    let after = content(stage)?.to_lowercase().replace('_', "-");
    for gone in ["of-then", "minreadyseconds\":1", "\"region\""] {
        ensure!(!after.contains(gone), "{gone} is left");
    }
    let lists = banlieue_e2e::rights::allowed;
    let account = format!("system:serviceaccount:{DEFAULT_NAMESPACE}:{OPERATOR}");
    ensure!(!lists(&stage.client, &account, ("", "configmaps"), "list", None).await?, "a right of then is left");
    let class: Api<ProviderClass> = Api::all(stage.client.clone());
    ensure!(class.get("vsphere").await?.spec.image.tag.as_deref() == Some("0.0.9"), "a fleet was upgraded, too");
    let plan = stage.done(&["bootstrap", "operator", "--plan"])?;
    ensure!(plan.contains("0 created, 0 changed") && plan.contains("3 kept"), "{plan}");

    stage.done(&["uninstall", "--all", "--yes"])?;
    stage.cluster.kubectl(["delete", "namespace", "kept"]).map(drop)
}
