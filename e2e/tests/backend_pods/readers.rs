//! How other programs read a Provider: kstatus by its own library, and Argo CD by the health checks of `deploy/gitops`.
use crate::process::Process;
use crate::sim::Sim;
use crate::site::{Site, not_ready};
use crate::stage::Stage;
use crate::until::SOON;
use crate::watch::{self, Object};
use anyhow::{Context, Result, ensure};
use banlieue::fsm::{Phase, Reason};
use banlieue::k8s::crd::ConditionStatus::False;
use banlieue::k8s::crd::{Condition, Provider, ProviderClass};
use banlieue_e2e::files::Cache;
use banlieue_e2e::progress::Progress;
use banlieue_e2e::tools;
use banlieue_e2e::vcsim::Model;
use kube::Api;
use kube::api::{DeleteParams, Patch, PatchParams};
use rustix::process::Signal;
use serde::Deserialize;
use serde_json::json;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// What each of them makes of an object.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Reading {
    kstatus: String,
    argo: String,
    argo_message: String,
}

/// The program that has kstatus and Argo CD's interpreter in it.
struct Readers {
    program: PathBuf,
    checks: PathBuf,
}

impl Readers {
    fn build() -> Result<Self> {
        let checks = Path::new(env!("CARGO_MANIFEST_DIR")).join("../deploy/gitops/argocd/health.yaml");
        Ok(Readers { program: tools::readers(&Cache::locate()?, Progress::loud())?, checks })
    }

    /// Gives it an object, and compares what it says; `words` are of Argo's message.
    fn read(&self, object: &impl Object, state: &str, kstatus: &str, argo: &str, words: &str) -> Result<()> {
        let mut command = Command::new(&self.program);
        command.arg(&self.checks).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn()?;
        writeln!(child.stdin.take().context("no input")?, "{}", serde_json::to_string(object)?)?;
        let output = child.wait_with_output()?;
        ensure!(output.status.success(), "{state}: the program fails");
        let read: Reading = serde_json::from_slice(&output.stdout)?;
        let good = read.kstatus == kstatus && read.argo == argo && read.argo_message.contains(words);
        ensure!(good, "{state}: {read:?}, not {kstatus}, {argo} ({words}):\n{}", watch::show(&Some(object)));
        println!("figure: {state}: kstatus says {}, Argo CD {} ({})", read.kstatus, read.argo, read.argo_message);
        Ok(())
    }
}

/// Through a life: nobody takes it for done before it is, and a pod that is dead fools kstatus alone.
pub(crate) async fn kstatus_and_argo_through_a_life(stage: &Stage) -> Result<()> {
    let readers = tokio::task::spawn_blocking(Readers::build).await??;
    let site = Site::new(stage, "readers").await?;
    let sim = Sim::start(stage, "readers", Model::default())?;
    let classes: Api<ProviderClass> = Api::all(stage.client.clone());
    let mut draft = site.at(&sim, "vc");
    draft.spec.provider_class_ref.name = "readers".into();
    site.secret("vc", "wrong-password").await?;
    let new = site.create(&draft).await?;
    readers.read(&new, "new", "InProgress", "Progressing", "Nothing has been reported yet")?;
    let wait = |timeout| ["wait", "provider/vc", "--namespace=readers", "--for=condition=Ready", timeout];
    ensure!(stage.cluster.kubectl(wait("--timeout=3s")).is_err(), "kubectl takes a new one for Ready");
    let waiting = site.phase("vc", Phase::Pending, Reason::ClassNotFound).await?;
    readers.read(&waiting, "without its class", "InProgress", "Degraded", "ClassNotFound")?;
    let class = site.class("readers", |_| {}).await?;
    readers.read(&class, "a new class", "InProgress", "Progressing", "Nothing has been reported yet")?;

    site.says("vc", "Ready", (False, "CredentialsRefused"), SOON).await?;
    let refused = site.phase("vc", Phase::Provisioning, Reason::WaitingForBackend).await?;
    readers.read(&refused, "with a wrong password", "InProgress", "Degraded", "CredentialsRefused")?;
    site.api::<k8s_openapi::api::core::v1::Secret>().delete("vc", &DeleteParams::default()).await?;
    site.secret("vc", &sim.password).await?;
    site.good("vc").await?;
    let good = site.ready("vc").await?;
    readers.read(&good, "Ready", "Current", "Healthy", "")?;
    stage.cluster.kubectl(wait("--timeout=60s"))?;
    let ready = |c: &ProviderClass| {
        let status = c.status.clone().unwrap_or_default();
        let said = Condition::find(&status.conditions, "Ready").is_some_and(|r| r.reason == "AllReady");
        said && status.observed_generation == c.metadata.generation
    };
    let class = watch::see(&classes, "readers", "all are Ready", SOON, ready).await?;
    readers.read(&class, "a class whose Providers are Ready", "Current", "Healthy", "")?;

    let process = Process::of(site.pods(&good).await?.first().context("no pod")?)?;
    process.signal(Signal::STOP)?;
    let dead = watch::see(&site.api::<Provider>(), "vc", "it is not Ready", SOON, not_ready).await?;
    readers.read(&dead, "with a dead pod, which kstatus cannot know", "Current", "Progressing", "")?;
    process.signal(Signal::CONT)?;
    site.ready("vc").await?;

    let connection = json!({"endpoint": format!("{}/", sim.endpoint)});
    site.edit("vc", json!({"paused": true, "connection": connection})).await?;
    let paused = site.phase("vc", Phase::Paused, Reason::ProviderPaused).await?;
    readers.read(&paused, "edited while paused", "InProgress", "Suspended", "")?;

    draft.metadata.name = Some("held".into());
    draft.metadata.finalizers = Some(vec!["example.com/held".into()]);
    site.create(&draft).await?;
    site.api::<Provider>().delete("held", &DeleteParams::default()).await?;
    let going = |p: &Provider| p.metadata.deletion_timestamp.is_some();
    let going = watch::see(&site.api(), "held", "it is going", SOON, going).await?;
    readers.read(&going, "deleted", "Terminating", "Progressing", "Pending deletion")?;
    let free = Patch::Json::<()>(serde_json::from_value(json!([
        {"op": "test", "path": "/metadata/finalizers/0", "value": "example.com/held"},
        {"op": "remove", "path": "/metadata/finalizers/0"},
    ]))?);
    site.api::<Provider>().patch("held", &PatchParams::default(), &free).await?;
    site.end().await?;
    classes.delete("readers", &DeleteParams::default()).await?;
    Ok(())
}
