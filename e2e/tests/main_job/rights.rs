//! Rights, asked of the API server for the identity that a role really has.
use crate::audit::Log;
use crate::grants;
use crate::place::Place;
use crate::stage::Stage;
use anyhow::{Result, bail, ensure};
use banlieue::k8s::crd::{Provider, ProviderClass};
use banlieue_e2e::rights::allowed;
use k8s_openapi::api::core::v1::{Pod, Secret};
use kube::Api;
use kube::api::{ListParams, Patch, PatchParams};
use serde_json::json;

fn refused<T>(what: &str, answer: Result<T, kube::Error>) -> Result<()> {
    match answer {
        Err(kube::Error::Api(status)) if status.code == 403 => Ok(()),
        Err(error) => bail!("{what}: 403 wanted, got {error}"),
        Ok(_) => bail!("{what}: it was allowed"),
    }
}

/// With the pod's own token: its Secret yes, another no; its status yes, another no, its spec no.
pub(crate) async fn a_pod_reads_one_secret_and_writes_one_status(stage: &Stage) -> Result<()> {
    let place = Place::new(stage, "rights").await?;
    place.register("one").await?;
    place.register("two").await?;
    place.ready("one").await?;
    place.ready("two").await?;

    let pod = stage.cluster.client_as(&format!("rights/{}", place.workload("one").pods)).await?;
    let secrets: Api<Secret> = Api::namespaced(pod.clone(), "rights");
    secrets.get("one").await?;
    refused("read another Secret", secrets.get("two").await)?;
    refused("list Secrets", secrets.list(&ListParams::default()).await)?;
    let abroad: Api<Secret> = Api::namespaced(pod.clone(), "banlieue-system");
    refused("read a Secret of another namespace", abroad.get("one").await)?;

    let providers: Api<Provider> = Api::namespaced(pod.clone(), "rights");
    providers.get("one").await?;
    refused("read another Provider", providers.get("two").await)?;
    let nothing = Patch::Merge(json!({}));
    let dry = PatchParams { dry_run: true, ..Default::default() };
    providers.patch_status("one", &dry, &nothing).await?;
    refused("write another status", providers.patch_status("two", &dry, &nothing).await)?;
    refused("write its own spec", providers.patch("one", &dry, &nothing).await)?;
    refused("list pods", Api::<Pod>::namespaced(pod.clone(), "rights").list(&ListParams::default()).await)?;
    let classes: Api<ProviderClass> = Api::all(pod);
    classes.list(&ListParams::default()).await?;
    refused("write a class", classes.patch("vsphere", &dry, &nothing).await)?;

    for name in ["one", "two"] {
        place.remove(name, &place.workload(name)).await?;
    }
    place.clear().await
}

/// By operator, controller and pods, in all the other tests.
pub(crate) async fn nothing_but_what_is_granted_was_used(stage: &Stage) -> Result<()> {
    let roles = grants::nothing_else_was_used(&Log::whole(stage.cluster.audit_log_path()).entries()?)?;
    ensure!(roles >= 2, "the log shows no request of ours");
    Ok(())
}

/// The identity that grants has none of the rights that would let it take more.
pub(crate) async fn the_operator_cannot_escalate(stage: &Stage) -> Result<()> {
    const RBAC: &str = "rbac.authorization.k8s.io";
    const POLICY: &str = "admissionregistration.k8s.io";
    let forbidden = [
        ((RBAC, "clusterroles"), "escalate"),
        ((RBAC, "clusterroles"), "bind"),
        ((RBAC, "roles"), "escalate"),
        ((RBAC, "roles"), "bind"),
        ((RBAC, "clusterroles"), "create"),
        ((RBAC, "clusterroles"), "patch"),
        (("", "users"), "impersonate"),
        (("", "serviceaccounts"), "impersonate"),
        (("", "serviceaccounts/token"), "create"),
        (("", "pods"), "create"),
        (("", "pods/exec"), "create"),
        (("", "secrets"), "list"),
        (("", "secrets"), "watch"),
        (("", "secrets"), "patch"),
        (("apps", "deployments/scale"), "patch"),
        ((POLICY, "validatingadmissionpolicies"), "patch"),
        (("banlieue.io", "providerclasses"), "patch"),
        (("*", "*"), "*"),
    ];
    let user = "system:serviceaccount:banlieue-system:banlieue-operator";
    ensure!(
        allowed(&stage.client, user, ("apps", "deployments"), "patch", None).await?,
        "the question is asked wrongly: it may patch Deployments"
    );
    for (what, verb) in forbidden {
        ensure!(!allowed(&stage.client, user, what, verb, None).await?, "the operator may {verb} {what:?}");
    }
    for (what, verb) in [
        (("", "secrets"), "get"),
        ((RBAC, "clusterrolebindings"), "create"),
        (("banlieue.io", "providers/status"), "patch"),
    ] {
        let user = "system:serviceaccount:banlieue-system:banlieue-controller";
        ensure!(!allowed(&stage.client, user, what, verb, None).await?, "the controller may {verb} {what:?}");
    }
    Ok(())
}
