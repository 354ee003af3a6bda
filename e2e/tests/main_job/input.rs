//! Bad input: one clear line that says what to do, an exit code that is not 0, nothing half made, no secret printed.
use crate::place::{Place, workload};
use crate::stage::{Stage, text};
use crate::until::SOON;
use crate::watch;
use anyhow::{Context, Result, ensure};
use banlieue::fsm::{Phase, Reason};
use banlieue::k8s::crd::{Provider, ProviderClass};
use kube::Api;
use kube::api::{DeleteParams, PostParams};
use serde_json::json;
use std::net::TcpListener;
use std::process::{Command, Output};
use std::time::{Duration, Instant};

/// A Provider whose class is not there says so by name and makes nothing; it goes on by itself when the class comes.
pub(crate) async fn a_class_that_is_not_there(stage: &Stage) -> Result<()> {
    let place = Place::new(stage, "early").await?;
    let mut draft = place.draft("vc");
    draft.spec.provider_class_ref.name = "comes-later".into();
    place.secret("vc", &stage.cluster.vcsim()?.password).await?;
    place.create(&draft).await?;
    let provider = place.phase("vc", Phase::Pending, Reason::ClassNotFound).await?;
    let message = workload(&provider).and_then(|w| w.message.clone()).unwrap_or_default();
    ensure!(message.contains("comes-later"), "the message does not name the class: {message:?}");
    let made = place.workload("vc").count().await?;
    ensure!(made == 0, "{made} objects were made without a class");

    place.class("comes-later", |_| {}).await?;
    place.ready("vc").await?;
    place.remove("vc", &place.workload("vc")).await?;
    let classes: Api<ProviderClass> = Api::all(stage.client.clone());
    classes.delete("comes-later", &DeleteParams::default()).await?;
    watch::gone(&classes, "comes-later", SOON).await?;
    place.clear().await
}

/// A password in the endpoint is refused, and the refusal does not repeat it.
pub(crate) async fn an_endpoint_with_a_password(stage: &Stage) -> Result<()> {
    let place = Place::new(stage, "userinfo").await?;
    for endpoint in ["https://admin:hunter2@vcenter.example.com/sdk", "https://hunter2@vcenter.example.com/sdk"] {
        let mut draft = place.draft("vc");
        draft.spec.connection.endpoint = endpoint.into();
        let error = place.api().create(&PostParams::default(), &draft).await.err().context("it was taken")?;
        let said = format!("{error} {error:?}");
        ensure!(!said.contains("hunter2"), "the refusal repeats the password: {said}");
        ensure!(said.contains("credentialsRef"), "the refusal does not say what to do: {said}");
    }
    ensure!(place.api::<Provider>().get_opt("vc").await?.is_none(), "a Provider was stored");
    place.clear().await
}

/// One line on standard error, an exit code that is not 0, and within reasonable time.
fn one_clear_line(mut command: Command, names: &str) -> Result<Output> {
    let began = Instant::now();
    let output = command.output().context("cannot run the program")?;
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    let shown = format!("{command:?} said after {:.1} s:\n{}", began.elapsed().as_secs_f64(), text(&output));
    ensure!(!output.status.success(), "exit code 0: {shown}");
    ensure!(output.status.code().is_some_and(|c| c != 101) && !said.contains("panicked"), "it panicked: {shown}");
    ensure!(said.lines().filter(|l| !l.trim().is_empty()).count() == 1, "one line wanted: {shown}");
    ensure!(said.contains(names), "the line does not name {names}: {shown}");
    ensure!(began.elapsed() < Duration::from_secs(45), "it took its time: {shown}");
    Ok(output)
}

/// A kubeconfig that is not there is named.
pub(crate) async fn a_kubeconfig_that_is_not_there(stage: &Stage) -> Result<()> {
    let path = "/nonexistent/kubeconfig.yaml";
    let mut command = stage.banlieue(["bootstrap", "operator"]);
    command.env("KUBECONFIG", path);
    tokio::task::spawn_blocking(move || one_clear_line(command, path)).await??;
    let command = stage.banlieue(["bootstrap", "operator", "--kubeconfig", path]);
    tokio::task::spawn_blocking(move || one_clear_line(command, path)).await??;
    Ok(())
}

/// An API server that refuses connections, and one that takes them and says nothing.
pub(crate) async fn an_api_server_that_does_not_answer(stage: &Stage) -> Result<()> {
    let silent = TcpListener::bind("127.0.0.1:0")?;
    let closed = TcpListener::bind("127.0.0.1:0")?.local_addr()?;
    for address in [closed, silent.local_addr()?] {
        let kubeconfig = json!({
            "apiVersion": "v1", "kind": "Config", "current-context": "c",
            "clusters": [{ "name": "c", "cluster": { "server": format!("https://{address}"), "insecure-skip-tls-verify": true } }],
            "users": [{ "name": "u", "user": { "token": "hunter2-token" } }],
            "contexts": [{ "name": "c", "context": { "cluster": "c", "user": "u" } }],
        });
        let file =
            stage.cluster.run_dir().write(&format!("test/kubeconfig-{}", address.port()), &kubeconfig.to_string())?;
        let mut command = stage.banlieue(["bootstrap", "operator"]);
        command.env("KUBECONFIG", file);
        let names = address.to_string();
        let output = tokio::task::spawn_blocking(move || one_clear_line(command, &names)).await??;
        ensure!(!text(&output).contains("hunter2"), "the token was printed: {}", text(&output));
    }
    Ok(())
}
