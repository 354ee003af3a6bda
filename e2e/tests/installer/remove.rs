//! What is there after a removal.
use crate::stage::{SOON, Stage, failure, minted, provider, text};
use anyhow::{Context, Result, ensure};
use banlieue::fsm::Part;
use banlieue::k8s::crd::{Provider, ProviderClass};
use banlieue::k8s::kinds;
use banlieue::k8s::manifests::names;
use banlieue_e2e::watch;
use k8s_openapi::api::core::v1::Namespace;
use kube::ResourceExt;
use kube::api::{Api, ListParams};
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

/// Checked before, planned, installed, looked at, removed: as it was. A second removal is quiet.
pub(crate) async fn a_cluster_is_as_it_was(stage: &Stage) -> Result<()> {
    let before = stage.objects().await?;
    let pre = stage.done(&["check", "--pre"])?;
    ensure!(!pre.contains("fail") && pre.contains("will be made"), "check --pre: {pre}");
    let plan = stage.done(&["bootstrap", "operator", "--plan"])?;
    let lines = plan.lines().filter(|line| line.starts_with("would create  ")).count();
    let sum = format!("would be installed: localhost/banlieue:{} in banlieue-system", env!("CARGO_PKG_VERSION"));
    let sum = format!("{sum}; {lines} objects: {lines} created, 0 changed, 0 unchanged\n");
    ensure!(lines > 40 && plan.ends_with(&sum), "{plan}");
    let mut unwritten = Command::new(stage.program());
    unwritten.args(["bootstrap", "operator", "--plan"]).env("KUBECONFIG", stage.cluster.kubeconfig_path());
    unwritten.env("NO_PROXY", "*").stdin(Stdio::null()).stdout(File::create("/dev/full")?);
    let told = failure(&unwritten.output()?)?;
    ensure!(told.contains("cannot write standard output"), "a plan that nobody can read: {told}");
    ensure!(stage.objects().await? == before, "a plan wrote something");

    stage.done(&["bootstrap", "operator", "--no-wait"])?;
    let operator = stage.operator().await?;
    let again = stage.done(&["bootstrap", "operator", "--plan", "--replicas", "2"])?;
    ensure!(again.contains("0 created, 2 changed") && again.contains("spec.replicas"), "{again}");
    // a kind that is made anew may be asked for only after a while
    crate::until::until("check finds it whole", SOON, async || {
        let check = text(&stage.banlieue(&["check"])?);
        let whole = ["all are there", "11, without a warning", "every policy denies", "none is left of a Provider"];
        Ok(if whole.iter().all(|found| check.contains(found)) { Ok(()) } else { Err(check) })
    })
    .await?;
    stage.cluster.kubectl(["delete", "validatingadmissionpolicybinding", "banlieue-fence-roles"])?;
    crate::until::until("check tells of an open fence", SOON, async || {
        let output = stage.banlieue(&["check", "--output", "json"])?;
        let told = output.status.code() == Some(1) && text(&output).contains("banlieue-fence-roles: it lets pass");
        Ok(if told { Ok(()) } else { Err(text(&output)) })
    })
    .await?;
    drop(operator);

    let installed = stage.objects().await?;
    let dry = stage.done(&["uninstall", "--all", "--dry-run"])?;
    let goes = ["goes       Deployment banlieue-system/banlieue-operator", "goes       Namespace banlieue-system"];
    ensure!(goes.iter().all(|line| dry.contains(line)) && dry.contains("nothing was removed"), "{dry}");
    ensure!(stage.objects().await? == installed, "a dry run removed something");
    let asked = stage.banlieue(&["uninstall", "--all"])?;
    ensure!(asked.status.code() == Some(64) && text(&asked).contains("--yes"), "{}", text(&asked));
    stage.done(&["uninstall", "--all", "--yes"])?;
    stage.is_as_it_was(&before).await?;
    let second = stage.done(&["uninstall", "--all", "--yes"])?;
    ensure!(second.contains("nothing to remove"), "{second}");
    Ok(())
}

/// Workload, finalizer and what was said of it are gone; the Provider is not. What is left goes by the same command and no other.
pub(crate) async fn providers_stay_and_nothing_of_ours_does(stage: &Stage) -> Result<()> {
    stage.done(&["bootstrap", "operator", "--no-wait"])?;
    let operator = stage.operator().await?;
    stage.cluster.kubectl(["create", "namespace", "kept"])?;
    stage.cluster.apply(&provider("kept", "vc", "vsphere"))?;
    let api: Api<Provider> = Api::namespaced(stage.client.clone(), "kept");
    watch::see(&api, "vc", "it is minted", SOON, minted).await?;
    operator.stop().await?;
    // what its pod and the controller say, which are no part of this test
    let said = [
        (
            "provider",
            "vc",
            r#"{"status":{"observedGeneration":1,"conditions":[{"type":"Ready","status":"True","reason":"BackendAvailable","message":"","lastTransitionTime":"2026-01-01T00:00:00Z"}]}}"#,
        ),
        ("providerclass", "vsphere", r#"{"status":{"providers":1,"readyProviders":1}}"#),
    ];
    for (kind, name, status) in said {
        stage.cluster.kubectl([
            "-n",
            "kept",
            "patch",
            kind,
            name,
            "--subresource=status",
            "--type=merge",
            "-p",
            status,
        ])?;
    }
    ensure!(stage.cluster.kubectl(READY).is_ok(), "the Provider is not Ready");
    stage.done(&["uninstall", "--yes"])?;
    let left = api.get("vc").await?;
    ensure!(left.finalizers().is_empty(), "a finalizer is left: {:?}", left.finalizers());
    let nothing_was_said =
        |p: &Provider| p.status.as_ref().is_none_or(|s| s.workload.is_none() && s.observed_generation.is_none());
    ensure!(nothing_was_said(&left), "a status is left: {:?}", left.status);
    ensure!(stage.cluster.kubectl(READY).is_err(), "who waits for a Provider is told that it is Ready");
    let classes: Api<ProviderClass> = Api::all(stage.client.clone());
    let class = classes.get("vsphere").await?;
    ensure!(
        class.status.as_ref().is_none_or(|s| s.providers.is_none()),
        "a class counts Providers that nobody serves: {:?}",
        class.status
    );
    for part in Part::ALL {
        let stamped = ListParams::default().labels(names::PROVIDER_UID);
        let left = kinds::everywhere(&stage.client, part).list(&stamped).await?;
        let first = left.items.first().map(ResourceExt::name_any);
        ensure!(first.is_none(), "{} {} is left", part.kind(), first.context("none")?);
    }
    what_is_left_goes(stage)?;
    stage.cluster.kubectl(["delete", "namespace", "kept"])?;
    Ok(())
}

/// As somebody waits for it.
const READY: [&str; 6] = ["-n", "kept", "wait", "--for=condition=Ready", "provider/vc", "--timeout=1s"];

/// After a removal that kept the Providers: a second one says what there is, and where the rest of it is not, nothing goes.
fn what_is_left_goes(stage: &Stage) -> Result<()> {
    let again = stage.done(&["uninstall", "--yes"])?;
    let left =
        ["stays      CustomResourceDefinition providers.banlieue.io", "--all removes it too", "nothing to remove"];
    ensure!(left.iter().all(|line| again.contains(line)), "{again}");
    let refused = failure(&stage.banlieue(&["uninstall", "--all", "--yes", "--namespace", "nowhere"])?)?;
    ensure!(refused.contains("Namespace nowhere") && refused.contains("give --namespace banlieue-system"), "{refused}");
    stage.cluster.kubectl(["-n", "kept", "get", "provider", "vc"])?;

    let theirs = ["-n", names::DEFAULT_NAMESPACE, "create", "secret", "generic", "theirs", "--from-literal=k=v"];
    stage.cluster.kubectl(theirs)?;
    let dry = stage.done(&["uninstall", "--all", "--dry-run"])?;
    let others: Vec<_> = dry.lines().filter(|line| line.contains("not of banlieue")).collect();
    ensure!(others.len() == 1 && others[0].starts_with("goes       Secret banlieue-system/theirs"), "{dry}");
    stage.done(&["uninstall", "--all", "--yes"]).map(drop)
}

/// A Provider that somebody else holds is waited for before its kind goes, and whoever removes is told who holds it.
pub(crate) async fn who_is_held_by_another_is_named(stage: &Stage) -> Result<()> {
    stage.done(&["bootstrap", "operator", "--no-wait"])?;
    stage.cluster.kubectl(["create", "namespace", "kept"])?;
    let held = provider("kept", "vc", "vsphere").replace("name: vc,", "name: vc, finalizers: [example.com/held],");
    stage.cluster.apply(&held)?;
    let mut command = Command::new(stage.program());
    command
        .args(["uninstall", "--all", "--yes"])
        .env("KUBECONFIG", stage.cluster.kubeconfig_path())
        .env("NO_PROXY", "*");
    let mut removal = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn()?;
    let said = BufReader::new(removal.stdout.take().context("it says nothing")?);
    let mut lines = Vec::new();
    for line in said.lines() {
        lines.push(line?);
        if lines.last().is_some_and(|l| l == "waiting    Provider kept/vc to be gone, held by example.com/held") {
            stage.cluster.kubectl(["get", "crd", "providers.banlieue.io"])?;
            let release = r#"[{"op":"remove","path":"/metadata/finalizers"}]"#;
            stage.cluster.kubectl(["-n", "kept", "patch", "provider", "vc", "--type=json", "-p", release])?;
        }
    }
    let at = |text: &str| lines.iter().position(|line| line == text).with_context(|| format!("{text}: {lines:?}"));
    ensure!(removal.wait()?.success(), "{lines:?}");
    let order = ["waiting    Provider kept/vc to be gone, held by example.com/held", "removed    Provider kept/vc"];
    let kind = at("removed    CustomResourceDefinition providers.banlieue.io")?;
    ensure!(at(order[0])? < at(order[1])? && at(order[1])? < kind, "{lines:?}");
    stage.cluster.kubectl(["delete", "namespace", "kept"]).map(drop)
}

/// A namespace that somebody made before is not the installer's: it stays, with what is in it and as it was.
pub(crate) async fn a_namespace_that_was_there_stays(stage: &Stage) -> Result<()> {
    const NAMESPACE: &str = names::DEFAULT_NAMESPACE;
    let namespaces: Api<Namespace> = Api::all(stage.client.clone());
    stage.cluster.apply(&format!(
        "apiVersion: v1
kind: Namespace
metadata: {{name: {NAMESPACE}, labels: {{team: infra, app.kubernetes.io/managed-by: infra}}}}
"
    ))?;
    stage.cluster.kubectl(["-n", NAMESPACE, "create", "secret", "generic", "theirs", "--from-literal=k=v"])?;
    let (before, labels) = (stage.objects().await?, namespaces.get(NAMESPACE).await?.metadata.labels);
    stage.done(&["bootstrap", "operator", "--no-wait"])?;
    let plan = stage.done(&["bootstrap", "operator", "--plan"])?;
    ensure!(plan.contains("0 created, 0 changed"), "{plan}");
    let installed = namespaces.get(NAMESPACE).await?;
    let level = installed.labels().get("pod-security.kubernetes.io/enforce").map(String::as_str);
    ensure!(level == Some("restricted"), "its pods may be anything: {level:?}");
    let dry = stage.done(&["uninstall", "--all", "--dry-run"])?;
    ensure!(dry.contains("stays      Namespace banlieue-system: it was there before"), "{dry}");
    // a removal that kept it is no reason to forget whose it is
    stage.done(&["uninstall", "--yes"])?;
    let refused = failure(&stage.banlieue(&["uninstall", "--all", "--yes", "--namespace", "nowhere"])?)?;
    ensure!(refused.contains("give --namespace banlieue-system"), "{refused}");
    stage.done(&["uninstall", "--all", "--yes"])?;
    ensure!(namespaces.get(NAMESPACE).await?.metadata.labels == labels, "its labels are not what they were");
    stage.is_as_it_was(&before).await?;
    let second = stage.done(&["uninstall", "--all", "--yes"])?;
    ensure!(second.contains("nothing to remove"), "{second}");
    stage.cluster.kubectl(["delete", "namespace", NAMESPACE]).map(drop)
}
