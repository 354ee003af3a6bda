//! The network policies of `deploy/network/`, adapted as a person would, and enforced by kube-router.
use crate::deploy;
use crate::sim::Sim;
use crate::site::{LOOK, Site, not_good};
use crate::stage::Stage;
use crate::until::SOON;
use crate::until::until;
use anyhow::{Context, Result, ensure};
use banlieue::k8s::crd::ConditionStatus::False;
use banlieue::k8s::crd::Provider;
use banlieue::k8s::manifests::names;
use banlieue_e2e::network::BRIDGE_ADDRESS;
use banlieue_e2e::node::PAUSE_IMAGE;
use banlieue_e2e::progress::Progress;
use banlieue_e2e::vcsim::Model;
use kube::ResourceExt;
use serde_json::json;

/// Waits until the node has rules for a policy: they come a moment after it.
async fn in_force(stage: &Stage, policy: &str) -> Result<()> {
    until(&format!("{policy} is in force"), SOON, async || {
        let rules = stage.cluster.packet_filter()?;
        let told = rules.contains(&format!("run through nw policy {policy}\""));
        Ok(if told { Ok(()) } else { Err(format!("{} rules, none of them for it", rules.lines().count())) })
    })
    .await
}

/// The example for one Provider and one simulator. Backend, API server and name service have one address here.
fn one_target(site: &Site, provider: &Provider, sim: &Sim) -> Result<String> {
    let mut text = std::fs::read_to_string(deploy::path("network/one-provider.yaml"))?;
    let port = reqwest::Url::parse(&sim.endpoint)?.port().context("no port")?;
    let names = "namespaceSelector:\n        matchLabels:\n          kubernetes.io/metadata.name: kube-system";
    let here = format!("{BRIDGE_ADDRESS}/32");
    for (example, real) in [
        ("namespace: banlieue-system", format!("namespace: {}", site.namespace)),
        ("00000000-0000-0000-0000-000000000000", provider.uid().context("no uid")?),
        ("192.0.2.10/32", here.clone()),
        ("port: 443", format!("port: {port}")),
        ("192.0.2.1/32", here.clone()),
        (names, format!("ipBlock:\n        cidr: {here}")),
    ] {
        ensure!(text.contains(example), "the example has no {example:?}:\n{text}");
        text = text.replace(example, &real);
    }
    Ok(text)
}

/// The pod of the one Provider that is named reaches its own backend and no other; that of another Provider notices nothing.
/// Without the policy it reaches the other one too.
pub(crate) async fn one_provider_reaches_one_target(stage: &Stage) -> Result<()> {
    let site = Site::new(stage, "egress").await?;
    let own = Sim::start(stage, "egress-own", Model::default())?;
    let other = Sim::start(stage, "egress-other", Model::default())?;
    stage.cluster.enforce_network_policies(Progress::quiet())?;
    let (bound, _) = tokio::try_join!(site.join(&own, "bound"), site.join(&other, "free"))?;
    let story = async {
        stage.cluster.apply(&one_target(&site, &bound, &own)?)?;
        in_force(stage, "banlieue-prod-vc").await?;
        let strays = async || {
            site.reconnect("bound", json!({"endpoint": other.endpoint})).await?;
            // refused, and by its name: the name service is reached
            site.says("bound", "Reachable", (False, "ConnectionRefused"), LOOK).await
        };
        strays().await?;
        // a new connection, not one that was there before the policy
        site.reconnect("bound", json!({"endpoint": own.endpoint})).await?;
        site.good("bound").await?;
        site.looked(&other, "free").await?;

        strays().await?;
        let counts = other.counts().await?;
        ensure!(counts.logins == 1, "it was reached: {counts:?}");
        stage.cluster.kubectl(["-n", &site.namespace, "delete", "networkpolicy", "banlieue-prod-vc"])?;
        site.good("bound").await?;
        other.sessions(2).await?;
        Ok(())
    };
    site.while_never("free", "the policy for another Provider was noticed", not_good, story).await?;
    site.end().await
}

/// An address that pods dial.
struct Dial<'a> {
    stage: &'a Stage,
    address: String,
}

impl Dial<'_> {
    /// From this namespace it is reached, sooner or later.
    fn reaches(&self, namespace: &str, pod: &str) -> Result<()> {
        self.ends(namespace, pod, "OnFailure", "Succeeded")
    }

    /// From this namespace it is refused, at the first try.
    fn is_refused(&self, namespace: &str, pod: &str) -> Result<()> {
        self.ends(namespace, pod, "Never", "Failed")?;
        let said = self.stage.cluster.kubectl(["-n", namespace, "logs", pod])?;
        ensure!(said.contains("connection refused"), "it said {said:?}");
        Ok(())
    }

    fn ends(&self, namespace: &str, pod: &str, restart: &str, phase: &str) -> Result<()> {
        self.stage.cluster.apply(&format!(
            "apiVersion: v1
kind: Pod
metadata: {{name: {pod}, namespace: {namespace}}}
spec:
  restartPolicy: {restart}
  containers: [{{name: dial, image: '{PAUSE_IMAGE}', args: [dial, '{}']}}]
",
            self.address
        ))?;
        let phase = format!("--for=jsonpath={{.status.phase}}={phase}");
        let wait = ["-n", namespace, "wait", &format!("pod/{pod}"), &phase, "--timeout=60s"];
        self.stage.cluster.kubectl(wait).map(drop)
    }
}

/// A Service in front of all our pods there: from the namespace `monitoring` it is reached, from others not, until the policy is gone.
pub(crate) async fn the_metrics_are_for_the_monitoring(stage: &Stage) -> Result<()> {
    stage.cluster.enforce_network_policies(Progress::quiet())?;
    for namespace in ["monitoring", "curious"] {
        stage.cluster.kubectl(["create", "namespace", namespace])?;
    }
    let home = names::DEFAULT_NAMESPACE;
    stage.cluster.apply(&format!(
        "apiVersion: v1
kind: Service
metadata: {{name: metrics, namespace: {home}}}
spec:
  selector: {{app.kubernetes.io/part-of: banlieue}}
  ports: [{{port: 80, targetPort: health}}]
"
    ))?;
    let address =
        stage.cluster.kubectl(["-n", home, "get", "service", "metrics", "-o", "jsonpath={.spec.clusterIP}"])?;
    let metrics = Dial { stage, address: format!("{address}:80") };
    stage.cluster.kubectl(["apply", "-f", &deploy::path("network/metrics.yaml")])?;
    in_force(stage, "banlieue-metrics").await?;
    metrics.reaches("monitoring", "prometheus")?;
    metrics.is_refused("curious", "early")?;

    stage.cluster.kubectl(["delete", "-f", &deploy::path("network/metrics.yaml")])?;
    metrics.reaches("curious", "late")?;
    stage.cluster.kubectl(["-n", home, "delete", "service", "metrics"])?;
    stage.cluster.kubectl(["delete", "namespace", "monitoring", "curious", "--wait=false"]).map(drop)
}
