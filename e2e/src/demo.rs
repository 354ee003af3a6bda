//! `make demo`: a cluster, the product installed on it by its own installer, one backend that works and one that cannot.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use futures::StreamExt;
use kube::api::{Api, ApiResource, DynamicObject, GroupVersionKind};
use kube::runtime::{WatchStreamExt, watcher};
use serde_json::{Value, json};

use crate::progress::Progress;
use crate::vcsim::Vcsim;
use crate::{Cluster, Options, image, product};

/// The name of its cluster.
pub const NAME: &str = "demo";
const NAMESPACE: &str = "banlieue-system";
/// How long a Provider may take to come to where it belongs.
const PATIENCE: Duration = Duration::from_secs(90);

/// Shows it. What is there already is used: it may be run again and again.
pub async fn run(progress: Progress) -> Result<()> {
    let began = Instant::now();
    let options = Options::named(NAME);
    progress.say(format!("1/4 a cluster: local ({NAME}, Kubernetes {})", options.kubernetes_version()?));
    let cluster = Cluster::start(options).await?;
    progress.say("2/4 the image of banlieue, loaded into it");
    let program = product::release(progress)?;
    cluster.load_image(&program, &[], progress)?;
    progress.say("3/4 banlieue bootstrap operator");
    bootstrap(&cluster, &program)?;
    progress.say("4/4 two backends: a vCenter simulator, and an address that does not exist");
    cluster.apply(&backends(&cluster.vcsim()?).to_string())?;
    let since = Instant::now();
    wait(&cluster, progress, "prod-vc", |status| {
        status["workload"]["phase"] == "Ready" && ready(status)["status"] == "True"
    })
    .await?;
    progress.step("prod-vc", "Ready", since);
    wait(&cluster, progress, "lost-vc", |status| {
        status["workload"]["reason"] == "WaitingForBackend" && status["workload"]["readyReplicas"] == 0
    })
    .await?;
    progress.step("lost-vc", "waits", since);
    progress.say(format!("done in {:.0} s\n", began.elapsed().as_secs_f64()));
    println!("$ kubectl get providers -A -o wide\n{}", cluster.kubectl(["get", "providers", "-A", "-o", "wide"])?);
    println!("{}", next(&cluster, &program));
    Ok(())
}

/// Runs the installer as a person would, with the administrator's kubeconfig. A class that somebody edited, for an upgrade to
/// an image that is not here, is what it was.
fn bootstrap(cluster: &Cluster, program: &Path) -> Result<()> {
    let registry = image::REPOSITORY.rsplit_once('/').map_or("", |(registry, _)| registry);
    let status = Command::new(program)
        .args(["bootstrap", "operator", "--registry", registry, "--reset-classes"])
        .env("KUBECONFIG", cluster.kubeconfig_path())
        .env("NO_PROXY", "*")
        .stdin(Stdio::null())
        .status()
        .with_context(|| format!("cannot run {}", program.display()))?;
    if !status.success() {
        bail!("bootstrap operator failed (see above); the cluster is still there: make demo-down ends it");
    }
    Ok(())
}

/// A CA, two Secrets, two Providers.
fn backends(vcsim: &Vcsim) -> Value {
    let secret = |name: &str| {
        json!({
            "apiVersion": "v1", "kind": "Secret", "metadata": { "name": name, "namespace": NAMESPACE },
            "stringData": { "username": vcsim.username, "password": vcsim.password },
        })
    };
    let provider = |name: &str, endpoint: &str| {
        json!({
            "apiVersion": "banlieue.io/v1alpha1", "kind": "Provider", "metadata": { "name": name, "namespace": NAMESPACE },
            "spec": {
                "providerClassRef": { "name": "vsphere" },
                "connection": {
                    "endpoint": endpoint,
                    "credentialsRef": { "name": format!("{name}-creds") },
                    "caBundle": { "configMapRef": { "name": "demo-ca" } },
                },
                // Said, so that a second run ends the pause that somebody tried.
                "paused": false,
            },
        })
    };
    json!({ "apiVersion": "v1", "kind": "List", "items": [
        {
            "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "demo-ca", "namespace": NAMESPACE },
            "data": { "ca.crt": vcsim.ca_pem },
        },
        secret("prod-vc-creds"),
        secret("lost-vc-creds"),
        provider("prod-vc", &vcsim.endpoint),
        provider("lost-vc", "https://vcenter.invalid/sdk"),
    ]})
}

/// Waits until the status of a Provider is so, and tells whenever it says something else of itself; where it does not come to
/// it, what it says last, and what to do.
async fn wait(cluster: &Cluster, progress: Progress, provider: &str, holds: impl Fn(&Value) -> bool) -> Result<()> {
    let kind = ApiResource::from_gvk(&GroupVersionKind::gvk("banlieue.io", "v1alpha1", "Provider"));
    let api: Api<DynamicObject> = Api::namespaced_with(cluster.client().await?, NAMESPACE, &kind);
    let mut told = String::from("nothing is seen of it");
    let waited = async {
        let mut states = std::pin::pin!(watcher::watch_object(api, provider).default_backoff());
        while let Some(state) = states.next().await {
            let Ok(Some(state)) = state else { continue };
            let status = &state.data["status"];
            if holds(status) {
                return;
            }
            let now = words(status);
            if now != told {
                progress.say(format!("  {provider:<24} {now}"));
                told = now;
            }
        }
    };
    if tokio::time::timeout(PATIENCE, waited).await.is_err() {
        let logs = crate::logs::collect(cluster).map(|f| f.display().to_string()).unwrap_or_default();
        bail!(
            "after {} s {provider} is not as it should be: {told}\n\
             more: kubectl -n {NAMESPACE} describe provider {provider}; logs of every component: {logs}\n\
             to begin anew: make demo-down, then make demo",
            PATIENCE.as_secs()
        );
    }
    Ok(())
}

/// What a Provider says of itself: the workload, and the backend once the workload runs.
fn words(status: &Value) -> String {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let (workload, ready) = (&status["workload"], ready(status));
    match workload["phase"].as_str() {
        None => "the operator has not seen it yet".to_owned(),
        Some("Ready") => format!("{}: {}", text(&ready["reason"]), text(&ready["message"])),
        Some(phase) => format!("{phase}/{}: {}", text(&workload["reason"]), text(&workload["message"])),
    }
}

/// Its condition Ready.
fn ready(status: &Value) -> &Value {
    let all = status["conditions"].as_array().map_or(&[][..], Vec::as_slice);
    all.iter().find(|c| c["type"] == "Ready").unwrap_or(&Value::Null)
}

fn next(cluster: &Cluster, program: &Path) -> String {
    let kubectl = cluster.kubectl_program();
    let folder = std::path::Path::new(&kubectl).parent().map(|p| p.display().to_string()).unwrap_or_default();
    format!(
        "prod-vc logged in to the simulator. lost-vc cannot: its address does not exist, so its pod runs and waits.

Try next:
  export KUBECONFIG={kubeconfig} PATH={folder}:$PATH
  alias banlieue={banlieue}
  kubectl -n {NAMESPACE} describe provider lost-vc       # what its backend said, and the Events
  kubectl -n {NAMESPACE} get deploy,sa,role,rolebinding  # what runs for them
  banlieue check                                             # whether the installation is whole
  banlieue plan provider {NAMESPACE}/prod-vc             # what the operator would do now: nothing
  kubectl -n {NAMESPACE} delete provider prod-vc         # and nothing of it is left
  make demo                                                  # again, as it was at first
  make demo-down                                             # the end

  # suspend it; upgrade the fleet, to an image that is not here
  kubectl -n {NAMESPACE} patch provider prod-vc --type=merge -p '{{\"spec\":{{\"paused\":true}}}}'
  kubectl patch providerclass vsphere --type=merge -p '{{\"spec\":{{\"image\":{{\"tag\":\"v0.2.0\"}}}}}}'",
        kubeconfig = cluster.kubeconfig_path().display(),
        banlieue = program.display(),
    )
}

#[cfg(test)]
mod tests {
    use super::words;
    use serde_json::json;

    /// While a person waits: why the workload is not ready, and then what the backend says.
    #[test]
    fn what_it_says_of_itself() {
        let workload = |phase: &str| json!({ "phase": phase, "reason": "ImagePullFailed", "message": "no such image" });
        let conditions = json!([{ "type": "Ready", "status": "False", "reason": "LoginRefused", "message": "wrong" }]);
        for (status, says) in [
            (json!({ "conditions": conditions }), "the operator has not seen it yet"),
            (json!({ "workload": workload("Provisioning") }), "Provisioning/ImagePullFailed: no such image"),
            (json!({ "workload": workload("Ready"), "conditions": conditions }), "LoginRefused: wrong"),
        ] {
            assert_eq!(words(&status), says);
        }
    }
}
