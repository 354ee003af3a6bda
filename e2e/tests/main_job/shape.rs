//! What the API server is given: names, owners, selectors, grants, and who wrote what.
use crate::place::{Place, workload};
use crate::stage::Stage;
use crate::workload::{Five, Workload};
use anyhow::{Context, Result, ensure};
use banlieue::k8s::crd::{ConditionStatus, Provider};
use banlieue::k8s::manifests::names;
use k8s_openapi::api::core::v1::Secret;
use k8s_openapi::api::rbac::v1::{RoleRef, Subject};
use kube::ResourceExt;
use kube::api::DeleteParams;

/// In the install namespace all five have the plain name.
pub(crate) async fn five_objects_in_the_install_namespace(stage: &Stage) -> Result<()> {
    let place = Place::install(stage)?;
    let provider = place.register("shape-vc").await?;
    let workload = place.workload("shape-vc");
    for name in [&workload.pods, &workload.grants, &workload.binding] {
        ensure!(name == "banlieue-provider-vsphere-shape-vc", "a name of the five is {name}");
    }
    five_are_right(&provider, &workload).await?;
    place.remove("shape-vc", &workload).await?;
    place.api::<Secret>().delete("shape-vc", &DeleteParams::default()).await?;
    Ok(())
}

/// Elsewhere the cluster-scoped one carries a hash, since namespaces meet there.
pub(crate) async fn five_objects_in_another_namespace(stage: &Stage) -> Result<()> {
    let place = Place::new(stage, "shape").await?;
    let provider = place.register("prod-vc").await?;
    let workload = place.workload("prod-vc");
    ensure!(
        workload.pods == "banlieue-provider-vsphere-prod-vc" && workload.grants == workload.pods,
        "{}",
        workload.pods
    );
    ensure!(workload.binding != workload.pods, "the ClusterRoleBinding of two namespaces would have one name");
    ensure!(
        workload.binding.starts_with("banlieue-provider-") && workload.binding.ends_with("-vsphere-prod-vc"),
        "{}",
        workload.binding
    );
    five_are_right(&provider, &workload).await?;
    place.remove("prod-vc", &workload).await?;
    place.clear().await
}

async fn five_are_right(provider: &Provider, workload: &Workload) -> Result<()> {
    let five = workload.there().await?;
    owners(provider, &five)?;
    selector(provider, &five)?;
    grants(provider, workload, &five)
}

fn owners(provider: &Provider, five: &Five) -> Result<()> {
    let owned = [
        five.deployment.owner_references(),
        five.account.owner_references(),
        five.role.owner_references(),
        five.role_binding.owner_references(),
    ];
    for references in owned {
        let [owner] = references else { anyhow::bail!("one owner wanted, got {references:?}") };
        ensure!(owner.kind == "Provider" && owner.api_version == "banlieue.io/v1alpha1", "owner {owner:?}");
        ensure!(
            Some(&owner.uid) == provider.metadata.uid.as_ref() && owner.name == provider.name_any(),
            "owner {owner:?}"
        );
    }
    let none = five.cluster_role_binding.owner_references();
    ensure!(none.is_empty(), "the ClusterRoleBinding is owned: {none:?}");
    Ok(())
}

fn selector(provider: &Provider, five: &Five) -> Result<()> {
    let spec = &five.deployment.spec;
    let wanted = spec.selector.match_labels.clone().unwrap_or_default();
    let given = spec.template.metadata.as_ref().and_then(|m| m.labels.clone()).unwrap_or_default();
    ensure!(!wanted.is_empty(), "the selector is empty");
    for (key, value) in &wanted {
        ensure!(given.get(key) == Some(value), "the selector wants {key}={value}, the template has {given:?}");
    }
    ensure!(
        wanted.get(names::PROVIDER_UID) == provider.metadata.uid.as_ref(),
        "the selector does not name the Provider: {wanted:?}"
    );
    let account = spec.template.spec.as_ref().and_then(|s| s.service_account_name.clone());
    ensure!(account == Some(five.account.name_any()), "the pods run as {account:?}");
    Ok(())
}

fn grants(provider: &Provider, workload: &Workload, five: &Five) -> Result<()> {
    let is_account = |subjects: &Option<Vec<Subject>>| match subjects.as_deref() {
        Some([one]) => {
            one.kind == "ServiceAccount" && one.name == workload.pods && one.namespace == five.account.namespace()
        }
        _ => false,
    };
    let role = RoleRef {
        api_group: Some("rbac.authorization.k8s.io".into()),
        kind: "Role".into(),
        name: workload.grants.clone(),
    };
    let shared = RoleRef { kind: "ClusterRole".into(), name: "banlieue-provider-vsphere".into(), ..role.clone() };
    ensure!(five.role_binding.role_ref == role && is_account(&five.role_binding.subjects), "{:?}", five.role_binding);
    ensure!(
        five.cluster_role_binding.role_ref == shared && is_account(&five.cluster_role_binding.subjects),
        "{:?}",
        five.cluster_role_binding
    );

    let rules = five.role.rules.clone().unwrap_or_default();
    ensure!(!rules.is_empty(), "the Role grants nothing");
    for rule in &rules {
        let events = rule.resources.as_deref() == Some(&["events".to_string()]);
        let named = rule.resource_names.as_ref().is_some_and(|n| !n.is_empty());
        ensure!(named != events, "only the rule on Events has no names: {rule:?}");
    }
    let secrets = rules
        .iter()
        .find(|r| r.resources.as_deref() == Some(&["secrets".to_string()]))
        .context("no rule on Secrets")?;
    let name = &provider.spec.connection.credentials_ref.name;
    ensure!(
        secrets.verbs == ["get"] && secrets.resource_names.as_deref() == Some(std::slice::from_ref(name)),
        "{secrets:?}"
    );
    Ok(())
}

/// `managedFields` say who wrote what: the operator its half of the status, the pod the other.
pub(crate) async fn two_writers_of_one_status_never_meet(stage: &Stage) -> Result<()> {
    let place = Place::new(stage, "writers").await?;
    place.register("vc").await?;
    place.condition("vc", "Ready", ConditionStatus::True).await?;
    let provider = place.ready("vc").await?;
    let writers = |field: &str| -> Vec<String> {
        let entries = provider.managed_fields().iter().filter(|e| {
            let fields = e.fields_v1.as_ref().map(|f| &f.0);
            fields.and_then(|f| f.get("f:status")?.get(field)).is_some()
        });
        entries
            .map(|e| format!("{} {}", e.manager.clone().unwrap_or_default(), e.subresource.clone().unwrap_or_default()))
            .collect()
    };
    let of_workload = writers("f:workload");
    let of_conditions = writers("f:conditions");
    ensure!(of_workload == ["banlieue.io/operator status"], "status.workload was written by {of_workload:?}");
    ensure!(of_conditions == ["banlieue.io/provider status"], "status.conditions was written by {of_conditions:?}");

    let status = workload(&provider).context("no status.workload")?;
    let class = status.provider_class.clone().unwrap_or_default();
    ensure!(class.name == "vsphere" && class.generation.is_some(), "class {class:?}");
    ensure!(status.observed_generation == provider.metadata.generation, "generation {:?}", status.observed_generation);
    ensure!(status.deployment_name.as_deref() == Some("banlieue-provider-vsphere-vc"), "{:?}", status.deployment_name);
    ensure!(status.namespace.as_deref() == Some("writers"), "{:?}", status.namespace);
    ensure!(status.image.as_deref().is_some_and(|i| i.starts_with("localhost/banlieue:")), "{:?}", status.image);
    place.remove("vc", &place.workload("vc")).await?;
    place.clear().await
}
