//! The static installation by itself: what its accounts may do, what it reads, and how it is upgraded.
use crate::files;
use crate::stage::{SOON, Stage, provider};
use anyhow::{Result, ensure};
use banlieue::k8s::crd::{Backend, Provider};
use banlieue::k8s::manifests::names;
use banlieue_e2e::rights::allowed;
use banlieue_e2e::watch;
use k8s_openapi::api::core::v1::{Secret, ServiceAccount};
use kube::ResourceExt;
use kube::api::{Api, ListParams};
use std::collections::BTreeMap;

/// Where it is installed.
const HOME: &str = "infra";
const RBAC: &str = "rbac.authorization.k8s.io";

/// The platform without the operator, and a provider in a namespace of its own.
async fn install(stage: &Stage) -> Result<()> {
    files::crds(&stage.cluster)?;
    files::controller(&stage.cluster)?;
    stage.cluster.kubectl(["create", "namespace", HOME])?;
    stage.done(&["bootstrap", "provider", "vsphere", "--namespace", HOME, "--no-wait"]).map(drop)
}

async fn remove(stage: &Stage) -> Result<()> {
    stage.done(&["uninstall", "--provider", "vsphere", "--namespace", HOME, "--yes"])?;
    stage.cluster.kubectl(["delete", "namespace", HOME])?;
    stage.done(&["uninstall", "--all", "--yes"]).map(drop)
}

/// No account of ours may make, change or grant anything that a workload is made of, anywhere.
pub(crate) async fn nobody_may_mint(stage: &Stage) -> Result<()> {
    install(stage).await?;
    let ours = ListParams::default().labels("app.kubernetes.io/part-of=banlieue");
    let accounts: Api<ServiceAccount> = Api::all(stage.client.clone());
    let name =
        |a: &ServiceAccount| format!("system:serviceaccount:{}:{}", a.namespace().unwrap_or_default(), a.name_any());
    let users: Vec<_> = accounts.list(&ours).await?.iter().map(name).collect();
    let served = format!("system:serviceaccount:{HOME}:{}", names::shared(Backend::Vsphere));
    let controller = format!("system:serviceaccount:{}:{}", names::DEFAULT_NAMESPACE, names::CONTROLLER);
    ensure!(users.len() == 2 && users.contains(&served) && users.contains(&controller), "{users:?}");

    let mut may = Vec::new();
    for user in &users {
        for what in [
            (RBAC, "clusterrolebindings"),
            (RBAC, "clusterroles"),
            (RBAC, "rolebindings"),
            (RBAC, "roles"),
            ("apps", "deployments"),
            ("", "pods"),
            ("", "serviceaccounts"),
            ("", "serviceaccounts/token"),
            ("", "secrets"),
            ("banlieue.io", "providers"),
        ] {
            for verb in ["create", "update", "patch", "delete", "bind", "escalate", "impersonate", "*"] {
                for namespace in [None, Some(HOME), Some(names::DEFAULT_NAMESPACE)] {
                    if allowed(&stage.client, user, what, verb, namespace).await? {
                        may.push(format!("{user} may {verb} {what:?} in {namespace:?}"));
                    }
                }
            }
        }
    }
    ensure!(may.is_empty(), "{}", may.join("\n"));
    // the questions are asked rightly: what it is for, it may, and there alone
    for (what, verb) in [
        (("", "secrets"), "get"),
        (("", "configmaps"), "get"),
        (("banlieue.io", "providers"), "watch"),
        (("banlieue.io", "providers/status"), "patch"),
        (("coordination.k8s.io", "leases"), "update"),
    ] {
        ensure!(allowed(&stage.client, &served, what, verb, Some(HOME)).await?, "it may not {verb} {what:?}");
        for elsewhere in [None, Some("default")] {
            let far = allowed(&stage.client, &served, what, verb, elsewhere).await?;
            ensure!(!far, "it may {verb} {what:?} in {elsewhere:?}");
        }
    }
    ensure!(!allowed(&stage.client, &served, ("", "secrets"), "list", Some(HOME)).await?, "it may list Secrets");
    remove(stage).await
}

/// Under its own token; and the process got as far as the name of the backend, which comes after the Secret.
pub(crate) async fn a_secret_is_read_here_and_nowhere_else(stage: &Stage) -> Result<()> {
    install(stage).await?;
    let account = format!("{HOME}/{}", names::shared(Backend::Vsphere));
    for namespace in [HOME, "default"] {
        let words = ["--from-literal=username=u", "--from-literal=password=p"];
        let create = [&["-n", namespace, "create", "secret", "generic", "creds"][..], &words].concat();
        stage.cluster.kubectl(create)?;
    }
    let client = stage.cluster.client_as(&account).await?;
    let read = Api::<Secret>::namespaced(client.clone(), HOME).get("creds").await?;
    ensure!(read.data.is_some_and(|data| data.contains_key("password")), "there is nothing in it");
    let far = Api::<Secret>::namespaced(client, "default").get("creds").await;
    ensure!(matches!(&far, Err(kube::Error::Api(status)) if status.code == 403), "{far:?}");

    stage.cluster.apply(&provider(HOME, "known", "vsphere"))?;
    stage.cluster.apply(&provider(HOME, "unknown", "vsphere").replace("name: creds", "name: missing"))?;
    let running = stage.process(&account, "alone", &["provider", "vsphere", "--namespace", HOME]).await?;
    running.ready().await?;
    let api: Api<Provider> = Api::namespaced(stage.client.clone(), HOME);
    watch::see(&api, "known", "its backend has no such name", SOON, |p| says(p, "NameNotResolved")).await?;
    watch::see(&api, "unknown", "its Secret is missing", SOON, |p| says(p, "SecretNotFound")).await?;
    running.stop().await?;
    stage.cluster.kubectl(["-n", "default", "delete", "secret", "creds"])?;
    stage.cluster.kubectl(["-n", HOME, "delete", "providers", "--all", "--timeout=20s"])?;
    remove(stage).await
}

fn says(provider: &Provider, reason: &str) -> bool {
    provider.status.iter().flat_map(|s| &s.conditions).any(|c| c.reason == reason)
}

/// With another `--version`: the Deployment has another image, and nothing else is another but for the label of the version.
pub(crate) async fn an_upgrade_is_the_same_command(stage: &Stage) -> Result<()> {
    install(stage).await?;
    let newer = ["bootstrap", "provider", "vsphere", "--namespace", HOME, "--version", "v9"];
    let plan = differences(&stage.done(&[&newer[..], &["--plan"]].concat())?);
    ensure!(plan.len() == 7, "{plan:?}");
    for (object, fields) in &plan {
        let label = "metadata.labels.app.kubernetes.io/version";
        let wanted = match object.split_once(' ') {
            Some(("Deployment", _)) => vec![label, "spec.template.spec.containers[provider].image"],
            _ => vec![label],
        };
        ensure!(*fields == wanted, "{object}: {fields:?}");
    }
    let deployment = ["-n", HOME, "get", "deployment", "banlieue-provider-vsphere", "-o"];
    let image = "jsonpath={.spec.template.spec.containers[*].image}";
    let uid = stage.cluster.kubectl([&deployment[..], &["jsonpath={.metadata.uid}"]].concat())?;
    let done = stage.done(&[&newer[..], &["--no-wait"]].concat())?;
    ensure!(done.contains("0 created, 7 changed"), "{done}");
    ensure!(stage.cluster.kubectl([&deployment[..], &[image]].concat())?.ends_with("/banlieue:v9"), "not that image");
    ensure!(stage.cluster.kubectl([&deployment[..], &["jsonpath={.metadata.uid}"]].concat())? == uid, "it is another");
    // a selector that the version were in could not be changed
    let again = stage.done(&[&newer[..], &["--no-wait"]].concat())?;
    ensure!(again.contains("0 created, 0 changed"), "{again}");
    remove(stage).await
}

/// The objects that a plan would change, each with its fields.
fn differences(plan: &str) -> BTreeMap<String, Vec<String>> {
    let mut found: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut last = None;
    for line in plan.lines() {
        if let Some(object) = line.strip_prefix("would change  ") {
            last = Some(object.to_owned());
            found.entry(object.into()).or_default();
        } else if let (Some(object), Some(field)) = (&last, line.strip_prefix("              ")) {
            found.entry(object.clone()).or_default().push(field.trim().to_owned());
        } else {
            last = None;
        }
    }
    found
}
