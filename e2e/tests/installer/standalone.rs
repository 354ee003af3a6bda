//! The static installation: the platform from `deploy/`, a provider by the installer, and no operator.
use crate::files;
use crate::grants;
use crate::stage::{SOON, Stage, failure, provider, running, text};
use anyhow::{Result, ensure};
use banlieue::k8s::crd::Provider;
use banlieue::k8s::manifests::labels::COMPONENT;
use banlieue::k8s::manifests::names;
use banlieue_e2e::audit::Log;
use banlieue_e2e::watch;
use k8s_openapi::api::core::v1::Secret;
use kube::ResourceExt;
use kube::api::Api;
use std::time::Duration;

/// Every Provider of its backend there, none elsewhere, none of another backend; no workload, finalizer or stamp.
pub(crate) async fn one_process_serves_a_namespace(stage: &Stage) -> Result<()> {
    files::crds(&stage.cluster)?;
    files::controller(&stage.cluster)?;
    for namespace in ["infra", "elsewhere"] {
        stage.cluster.kubectl(["create", "namespace", namespace])?;
        stage.done(&["bootstrap", "provider", "vsphere", "--namespace", namespace, "--no-wait"])?;
        stage.cluster.kubectl([
            "-n",
            namespace,
            "create",
            "secret",
            "generic",
            "creds",
            "--from-literal=username=u",
            "--from-literal=password=p",
        ])?;
    }
    let late = ["bootstrap", "provider", "vsphere", "--namespace", "infra", "--timeout", "1s"];
    let said = failure(&stage.banlieue(&late)?)?;
    ensure!(said.contains("Deployment infra/banlieue-provider-vsphere: it is not available after 1 s"), "{said}");
    let second = stage.done(&["bootstrap", "provider", "vsphere", "--namespace", "infra", "--no-wait"])?;
    ensure!(second.contains("0 created, 0 changed"), "{second}");
    let account = "infra/banlieue-provider-vsphere";
    let secrets: Api<Secret> = Api::namespaced(stage.cluster.client_as(account).await?, "elsewhere");
    ensure!(secrets.get("creds").await.is_err(), "it reads a Secret of another namespace");

    for (namespace, name, class) in
        [("infra", "one", "vsphere"), ("infra", "two", "vsphere"), ("elsewhere", "far", "vsphere")]
    {
        stage.cluster.apply(&provider(namespace, name, class))?;
    }
    let proxmox = provider("infra", "other", "proxmox").replace("vcenter.invalid/sdk", "pve.invalid:8006");
    stage.cluster.apply(&proxmox)?;
    let args = ["provider", "vsphere", "--namespace", "infra", "--health-port", "0"];
    let running = stage.role(account, &args).await?;
    let here: Api<Provider> = Api::namespaced(stage.client.clone(), "infra");
    let served = |p: &Provider| p.status.as_ref().is_some_and(|s| s.observed_generation.is_some());
    for name in ["one", "two"] {
        let seen = watch::see(&here, name, "it is served", SOON, served).await?;
        ensure!(seen.finalizers().is_empty(), "it has a finalizer");
        ensure!(seen.status.is_none_or(|s| s.workload.is_none()), "it has a workload");
    }
    let elsewhere: Api<Provider> = Api::namespaced(stage.client.clone(), "elsewhere");
    watch::never(&elsewhere, "far", "it is served", Duration::from_secs(2), served).await?;
    ensure!(!served(&here.get("other").await?), "one of another backend is served");
    // who comes later is served too, and who is gone leaves nothing behind that fails
    stage.cluster.apply(&provider("infra", "three", "vsphere"))?;
    watch::see(&here, "three", "it is served", SOON, served).await?;
    told(stage, "infra").await?;
    drop(running);

    // one that was never installed takes nothing along
    let nothing = stage.done(&["uninstall", "--provider", "libvirt", "--namespace", "infra", "--yes"])?;
    ensure!(nothing.contains("nothing to remove") && !nothing.contains("operator"), "{nothing}");
    stage.cluster.kubectl(["get", "clusterrole", &names::shared(banlieue::k8s::crd::Backend::Libvirt)])?;
    // who looks in the wrong place is told the right ones
    let nothing = stage.done(&["uninstall", "--provider", "vsphere", "--yes"])?;
    ensure!(nothing.contains("nothing to remove") && nothing.contains("infra"), "{nothing}");
    // the shared ClusterRole stays as long as a binding names it, and what nobody keeps true any more goes
    stage.done(&["uninstall", "--provider", "vsphere", "--namespace", "infra", "--yes"])?;
    for name in ["one", "two", "three"] {
        ensure!(!served(&here.get(name).await?), "{name} has a status, and nobody serves it");
    }
    let shared = names::shared(banlieue::k8s::crd::Backend::Vsphere);
    stage.cluster.kubectl(["get", "clusterrole", &shared])?;
    let refused = stage.banlieue(&["uninstall", "--all", "--yes"])?;
    ensure!(!refused.status.success() && text(&refused).contains("--provider"), "{}", text(&refused));
    stage.done(&["uninstall", "--provider", "vsphere", "--namespace", "elsewhere", "--yes"])?;
    ensure!(stage.cluster.kubectl(["get", "clusterrole", &shared]).is_err(), "the shared ClusterRole is left");
    for namespace in ["infra", "elsewhere"] {
        stage.cluster.kubectl(["delete", "namespace", namespace])?;
    }
    stage.done(&["uninstall", "--all", "--yes"])?;
    Ok(())
}

/// `check` takes the want of an operator for no failure, and names what is one: a process that is not up, a Secret that is not there.
async fn told(stage: &Stage, namespace: &str) -> Result<()> {
    let down = format!("{namespace}/banlieue-provider-vsphere (no pod is available)");
    let says = stage.told(&down).await?;
    for line in [
        "ok    parts                all are there that do without an operator",
        "ok    banlieue-operator    there is none",
        "ok    fence                there is no operator",
        "ok    finalizers           no Provider carries ours",
        "fail  static providers     not at work: ",
        "infra/other (nobody has looked at it: ",
    ] {
        ensure!(says.contains(line), "{line}: {says}");
    }
    ensure!(!says.contains("bootstrap operator"), "an operator is advised: {says}");
    stage.cluster.kubectl(["-n", namespace, "delete", "secret", "creds"])?;
    stage.told(&format!("{namespace}/one (SecretNotFound: ")).await?;
    for at in ["infra", "elsewhere"] {
        stage.pods(at, &format!("{COMPONENT}=static-provider"), running()).await?;
    }
    stage.told("ok    static providers     ").await?;
    stage.cluster.kubectl([
        "-n",
        names::DEFAULT_NAMESPACE,
        "scale",
        "deployment",
        names::CONTROLLER,
        "--replicas=0",
    ])?;
    let says = stage.told("it is scaled to 0").await?;
    ensure!(says.contains("kubectl apply -R -f deploy/controller/") && !says.contains("bootstrap operator"), "{says}");
    Ok(())
}

/// By the operator and the provider of a namespace, in all the other tests. (Some of them run neither.)
pub(crate) async fn nothing_but_what_is_granted_was_used(stage: &Stage) -> Result<()> {
    grants::nothing_else_was_used(&Log::whole(stage.cluster.audit_log_path()).entries()?).map(drop)
}

/// Refused, unless it is forced; then `check` says so.
pub(crate) async fn not_beside_an_operator(stage: &Stage) -> Result<()> {
    stage.done(&["bootstrap", "operator", "--no-wait"])?;
    let provider = ["bootstrap", "provider", "vsphere", "--no-wait"];
    let refused = stage.banlieue(&provider)?;
    ensure!(refused.status.code() == Some(1) && text(&refused).contains("--force"), "{}", text(&refused));
    stage.done(&[&provider[..], &["--force"]].concat())?;
    stage.told("both serve the same Providers").await?;
    stage.done(&["uninstall", "--provider", "vsphere", "--yes"])?;
    let nothing = stage.done(&["uninstall", "--provider", "vsphere", "--yes"])?;
    ensure!(nothing.contains("nothing to remove") && nothing.contains("the operator in banlieue-system"), "{nothing}");
    // nothing names it yet, but the operator will
    let shared = names::shared(banlieue::k8s::crd::Backend::Vsphere);
    stage.cluster.kubectl(["get", "clusterrole", &shared])?;
    stage.done(&["uninstall", "--all", "--yes"])?;
    ensure!(stage.cluster.kubectl(["get", "clusterrole", &shared]).is_err(), "the shared ClusterRole is left");
    Ok(())
}
