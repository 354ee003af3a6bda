//! An installation in a namespace of another name than the default.
use crate::stage::{SOON, Stage, provider, text};
use crate::until::until;
use anyhow::{Context, Result, ensure};
use banlieue::k8s::crd::{Backend, Provider};
use banlieue::k8s::manifests::names;
use banlieue_e2e::watch;
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::rbac::v1::ClusterRoleBinding;
use kube::ResourceExt;
use kube::api::{Api, ObjectMeta, PostParams};

/// The operator leads there, is fenced in there, and makes workloads there and in other namespaces; a second installation is refused.
pub(crate) async fn an_operator_leads_where_it_is_installed(stage: &Stage) -> Result<()> {
    let before = stage.objects().await?;
    stage.done(&["bootstrap", "operator", "--namespace", "foo", "--no-wait"])?;
    let operator = stage.operator_in("foo").await?;
    let leases: Api<Lease> = Api::namespaced(stage.client.clone(), "foo");
    let holder = |l: Lease| l.spec.and_then(|s| s.holder_identity);
    let leads = holder(leases.get(names::OPERATOR).await?);
    ensure!(leads.as_deref() == Some("operator"), "the Lease is held by {leads:?}");

    stage.cluster.kubectl(["create", "namespace", "bar"])?;
    for namespace in ["foo", "bar"] {
        stage.cluster.apply(&provider(namespace, "vc", "vsphere"))?;
        let api: Api<Provider> = Api::namespaced(stage.client.clone(), namespace);
        let said = |p: &Provider| p.status.as_ref().is_some_and(|s| s.workload.is_some());
        watch::see(&api, "vc", "it has a phase", SOON, said).await?;
        // no node: there is a Deployment, and no pod of it runs
        let deployments: Api<Deployment> = Api::namespaced(stage.client.clone(), namespace);
        let name = names::own(Backend::Vsphere, namespace, "vc");
        watch::see(&deployments, &name, "it is minted", SOON, |_| true).await?;
    }
    // in the installation's own namespace the name is the plain one
    let bindings: Api<ClusterRoleBinding> = Api::all(stage.client.clone());
    for (name, namespace) in
        [(names::own(Backend::Vsphere, "foo", "vc"), "foo"), (names::hashed(Backend::Vsphere, "bar", "vc"), "bar")]
    {
        let subject = bindings.get(&name).await?.subjects.unwrap_or_default().pop().context("nobody is bound")?;
        ensure!(subject.namespace.as_deref() == Some(namespace), "{name} binds {subject:?}");
    }

    fenced(stage, &operator).await?;
    let again = stage.done(&["bootstrap", "operator", "--namespace", "foo", "--no-wait"])?;
    ensure!(again.contains("0 created, 0 changed"), "{again}");
    second(stage).await?;

    for namespace in ["foo", "bar"] {
        stage.cluster.kubectl(["-n", namespace, "delete", "provider", "vc", "--timeout=60s"])?;
    }
    operator.stop().await?;
    stage.cluster.kubectl(["delete", "namespace", "bar"])?;
    stage.done(&["uninstall", "--all", "--yes", "--namespace", "foo"])?;
    stage.is_as_it_was(&before).await
}

/// The policies speak of this operator: it is denied what it must, `check` finds it so, and an open one is told.
async fn fenced(stage: &Stage, operator: &crate::operator::Operator) -> Result<()> {
    let account = format!("foo/{}", names::OPERATOR);
    let api: Api<ClusterRoleBinding> = Api::all(stage.cluster.client_as(&account).await?);
    let mut innocent = api.get(&names::own(Backend::Vsphere, "foo", "vc")).await?;
    innocent.metadata = ObjectMeta { name: Some("innocent".into()), ..Default::default() };
    let dry = PostParams { dry_run: true, ..Default::default() };
    let denied = api.create(&dry, &innocent).await.err().context("it passed")?.to_string();
    ensure!(denied.contains(&names::fence("clusterrolebindings")), "{denied}");
    let whole = ["every policy denies what it must", "all are there"];
    until("check finds it whole", SOON, async || {
        let check = text(&stage.banlieue(&["check", "--namespace", "foo"])?);
        Ok(if whole.iter().all(|found| check.contains(found)) { Ok(()) } else { Err(check) })
    })
    .await?;
    stage.cluster.kubectl(["delete", "validatingadmissionpolicybinding", &names::fence("roles")])?;
    until("the operator tells of an open fence", SOON, async || {
        let said = operator.readyz().await;
        Ok(if said.contains(&names::fence("roles")) { Ok(()) } else { Err(said) })
    })
    .await?;
    stage.done(&["bootstrap", "operator", "--namespace", "foo", "--no-wait"])?;
    operator.ready().await
}

/// It would take over the bindings of the first: refused by name, and not one object is written.
async fn second(stage: &Stage) -> Result<()> {
    let before = stage.objects().await?;
    for namespace in [names::DEFAULT_NAMESPACE, "bar"] {
        let refused = stage.banlieue(&["bootstrap", "operator", "--namespace", namespace, "--no-wait"])?;
        let said = text(&refused);
        ensure!(refused.status.code() == Some(1) && said.contains("installed in the namespace foo"), "{said}");
        ensure!(said.contains("--namespace foo"), "nobody is told what to do: {said}");
        let pre = text(&stage.banlieue(&["check", "--pre", "--namespace", namespace])?);
        ensure!(pre.lines().any(|l| l.starts_with("fail  other installation")), "{pre}");
    }
    // who looks or removes in the wrong place is told where it is
    let check = text(&stage.banlieue(&["check"])?);
    let one = check.lines().count() == 1 && check.starts_with("fail  installation");
    ensure!(one && check.contains("--namespace foo"), "{check}");
    let removal = stage.banlieue(&["uninstall", "--yes"])?;
    ensure!(removal.status.code() == Some(1) && text(&removal).contains("--namespace foo"), "{}", text(&removal));
    let after = stage.objects().await?;
    let more: Vec<_> = after.symmetric_difference(&before).collect();
    ensure!(more.is_empty(), "what was refused wrote or removed {more:?}");
    let bindings: Api<ClusterRoleBinding> = Api::all(stage.client.clone());
    for name in [names::OPERATOR, names::CONTROLLER] {
        let binding = bindings.get(name).await?;
        let bound: Vec<_> = binding.subjects.iter().flatten().filter_map(|s| s.namespace.as_deref()).collect();
        ensure!(bound == ["foo"], "{} binds {bound:?}", binding.name_any());
    }
    Ok(())
}
