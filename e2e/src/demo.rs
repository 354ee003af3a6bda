//! `make demo`: a cluster, the product installed on it by its own installer, one backend that works and one that cannot.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};

use crate::progress::Progress;
use crate::vcsim::Vcsim;
use crate::{Cluster, Options, image, product};

/// The name of its cluster.
pub const NAME: &str = "demo";
const NAMESPACE: &str = "banlieue-system";

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
    wait(&cluster, "prod-vc", "condition=Ready")?;
    wait(&cluster, "prod-vc", "jsonpath={.status.workload.phase}=Ready")?;
    progress.step("prod-vc", "Ready", since);
    wait(&cluster, "lost-vc", "jsonpath={.status.workload.reason}=WaitingForBackend")?;
    wait(&cluster, "lost-vc", "jsonpath={.status.workload.readyReplicas}=0")?;
    progress.step("lost-vc", "waits", since);
    progress.say(format!("done in {:.0} s\n", began.elapsed().as_secs_f64()));
    println!("$ kubectl get providers -A -o wide\n{}", cluster.kubectl(["get", "providers", "-A", "-o", "wide"])?);
    println!("{}", next(&cluster, &program));
    Ok(())
}

/// Runs the installer as a person would, with the administrator's kubeconfig.
fn bootstrap(cluster: &Cluster, program: &Path) -> Result<()> {
    let registry = image::REPOSITORY.rsplit_once('/').map_or("", |(registry, _)| registry);
    let status = Command::new(program)
        .args(["bootstrap", "operator", "--registry", registry])
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

/// Waits as a person would; where it does not come, shows what is there instead.
fn wait(cluster: &Cluster, provider: &str, condition: &str) -> Result<()> {
    let flag = format!("--for={condition}");
    let waited = cluster.kubectl(["wait", "-n", NAMESPACE, "provider", provider, &flag, "--timeout=90s"]);
    if let Err(error) = waited {
        let seen = cluster.kubectl(["describe", "-n", NAMESPACE, "provider", provider]).unwrap_or_default();
        let logs = crate::logs::collect(cluster).map(|f| f.display().to_string()).unwrap_or_default();
        bail!("{provider} did not come to {condition}: {error:#}\n{seen}\nlogs of every component: {logs}");
    }
    Ok(())
}

fn next(cluster: &Cluster, program: &Path) -> String {
    let kubectl = cluster.kubectl_program();
    let folder = std::path::Path::new(&kubectl).parent().map(|p| p.display().to_string()).unwrap_or_default();
    format!(
        "prod-vc logged in to the simulator. lost-vc cannot: its address does not exist, so its pod runs and waits.

Try next:
  export KUBECONFIG={kubeconfig} PATH={folder}:$PATH
  alias banlieue={banlieue}
  kubectl -n {NAMESPACE} describe provider lost-vc                  # what its backend said, and the Events
  kubectl -n {NAMESPACE} get deploy,sa,role,rolebinding             # what runs for them
  banlieue check                                                    # whether the installation is whole
  banlieue plan provider {NAMESPACE}/prod-vc                    # what the operator would do now: nothing
  kubectl -n {NAMESPACE} patch provider prod-vc --type=merge -p '{{\"spec\":{{\"paused\":true}}}}'
  kubectl -n {NAMESPACE} delete provider prod-vc                    # and nothing of it is left
  make demo                                                         # again
  make demo-down                                                    # the end",
        kubeconfig = cluster.kubeconfig_path().display(),
        banlieue = program.display(),
    )
}
