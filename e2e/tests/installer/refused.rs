//! What the installer does not touch: it says so in one line, writes nothing, and works once the cause is gone.
use crate::stage::{SOON, Stage, failure, text};
use anyhow::{Context, Result, ensure};
use banlieue_e2e::watch;
use k8s_openapi::api::core::v1::Namespace;
use kube::Api;

const INSTALL: [&str; 3] = ["bootstrap", "operator", "--no-wait"];
const NAMESPACE: &str = "banlieue-system";

/// A kind of another project under one of our names is not taken over, nor removed.
pub(crate) async fn a_kind_of_another_project(stage: &Stage) -> Result<()> {
    stage.cluster.apply(
        "apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: providers.banlieue.io}
spec:
  group: banlieue.io
  scope: Cluster
  names: {kind: Thing, plural: providers, singular: thing}
  versions:
  - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}
",
    )?;
    let theirs = ["get", "crd", "providers.banlieue.io", "--output", "jsonpath={.metadata.uid} {.metadata.generation}"];
    let kind = stage.cluster.kubectl(theirs)?;
    stage.cluster.kubectl(["wait", "--for=condition=Established", "crd/providers.banlieue.io"])?;
    let before = stage.objects().await?;
    for args in [&INSTALL[..], &["bootstrap", "operator", "--plan"]] {
        let said = failure(&stage.banlieue(args)?)?;
        for part in ["CustomResourceDefinition providers.banlieue.io", "Thing (Cluster)", "run the command again"] {
            ensure!(said.contains(part), "{said}");
        }
    }
    ensure!(text(&stage.banlieue(&["check", "--pre"])?).contains("of another project"), "check --pre does not say it");
    ensure!(stage.objects().await? == before, "something was written");
    stage.banlieue(&["uninstall", "--all", "--yes"])?;
    ensure!(stage.cluster.kubectl(theirs)? == kind, "their kind was changed");
    stage.cluster.kubectl(["delete", "crd", "providers.banlieue.io"])?;
    install_and_remove(stage)
}

/// While the namespace is on its way out nothing is put anywhere; afterwards the same command works.
pub(crate) async fn a_namespace_that_is_being_deleted(stage: &Stage) -> Result<()> {
    stage.cluster.kubectl(["create", "namespace", NAMESPACE])?;
    stage.cluster.apply(&format!(
        "apiVersion: v1
kind: ConfigMap
metadata: {{name: held, namespace: {NAMESPACE}, finalizers: [example.com/held]}}
"
    ))?;
    stage.cluster.kubectl(["delete", "namespace", NAMESPACE, "--wait=false"])?;
    let before = stage.objects().await?;
    let said = failure(&stage.banlieue(&INSTALL)?)?;
    ensure!(said.contains("Namespace banlieue-system: it is being deleted; wait until it is gone"), "{said}");
    ensure!(text(&stage.banlieue(&["check", "--pre"])?).contains("is being deleted"), "check --pre does not say it");
    let after = stage.objects().await?;
    let more: Vec<_> = after.difference(&before).collect();
    ensure!(more.is_empty(), "something was written: {more:?}");

    let release = r#"[{"op":"remove","path":"/metadata/finalizers"}]"#;
    stage.cluster.kubectl(["-n", NAMESPACE, "patch", "configmap", "held", "--type=json", "-p", release])?;
    let namespaces: Api<Namespace> = Api::all(stage.client.clone());
    watch::gone(&namespaces, NAMESPACE, SOON).await.context("the namespace stays")?;
    install_and_remove(stage)
}

/// What an installation needs and does not bring: said before anything is written, with what to do; a plan says it, too.
pub(crate) async fn what_is_not_there(stage: &Stage) -> Result<()> {
    let provider = ["bootstrap", "provider", "vsphere", "--namespace"];
    let cases: [(Vec<&str>, [&str; 2]); 3] = [
        ([&provider[..], &["nowhere"]].concat(), ["Namespace nowhere: it is not there", "create it"]),
        ([&provider[..], &["default"]].concat(), ["providers.banlieue.io: it is not there", "--part crds"]),
        (vec!["bootstrap", "operator", "--part", "classes"], ["providers.banlieue.io: it is not there", "--part crds"]),
    ];
    let before = stage.objects().await?;
    for (args, says) in &cases {
        for more in ["--no-wait", "--plan"] {
            let said = failure(&stage.banlieue(&[&args[..], &[more]].concat())?)?;
            ensure!(says.iter().all(|words| said.contains(words)), "{args:?}: {said}");
        }
    }
    ensure!(stage.objects().await? == before, "something was written");
    Ok(())
}

/// A limit on images is not lifted by saying nothing of it.
pub(crate) async fn a_limit_that_would_be_lifted(stage: &Stage) -> Result<()> {
    let limited = ["bootstrap", "operator", "--no-wait", "--allow-images", "localhost"];
    stage.done(&limited)?;
    for args in [&INSTALL[..], &["bootstrap", "operator", "--plan"]] {
        let said = failure(&stage.banlieue(args)?)?;
        for part in ["ValidatingAdmissionPolicy banlieue-classes: ", "images under localhost only", "--allow-images"] {
            ensure!(said.contains(part), "{said}");
        }
    }
    let again = stage.done(&limited)?;
    ensure!(again.contains("0 created, 0 changed"), "{again}");
    stage.cluster.kubectl(["delete", "validatingadmissionpolicy", "banlieue-classes"])?;
    install_and_remove(stage)
}

fn install_and_remove(stage: &Stage) -> Result<()> {
    stage.done(&INSTALL)?;
    let plan = stage.done(&["bootstrap", "operator", "--plan"])?;
    ensure!(plan.contains("0 created, 0 changed"), "{plan}");
    stage.done(&["uninstall", "--all", "--yes"]).map(drop)
}
