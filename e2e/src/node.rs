//! The one node: containerd, the kubelet, kube-proxy and the name service; kube-router where a test wants it.

use std::path::Path;

use anyhow::{Context, Result};

use crate::cgroup;
use crate::component::Component;
use crate::control_plane::local_server;
use crate::files::RunDir;
use crate::network::{BRIDGE, BRIDGE_ADDRESS};
use crate::pki::{self, Authority};
use crate::tools::Tools;

/// The node's name.
pub const NODE: &str = "node1";
/// The port on which kube-proxy says that its rules are in place.
pub const PROXY_HEALTH_PORT: u16 = 10256;
/// The port on which kube-router says that it keeps its rules.
pub const FIREWALL_HEALTH_PORT: u16 = 20244;
/// The image that holds a pod's namespaces open.
pub const PAUSE_IMAGE: &str = "localhost/banlieue-pause:e2e";

/// Where distributions put the CNI plugins.
const CNI_FOLDERS: [&str; 3] = ["/usr/lib/cni", "/opt/cni/bin", "/usr/libexec/cni"];

/// The folder of the CNI plugins, where they are installed.
pub fn cni_folder() -> Option<&'static str> {
    CNI_FOLDERS.into_iter().find(|f| Path::new(f).join("host-local").exists())
}

/// Writes what the node's parts read.
pub fn prepare(run: &RunDir, ca: &Authority, of_box: &str, snapshotter: &str) -> Result<()> {
    ca.server("kubelet", &format!("system:node:{NODE}"), &["system:nodes"], &[NODE, BRIDGE_ADDRESS])?;
    ca.client("proxy", "system:kube-proxy", &[])?;
    pki::kubeconfig(run, "kubelet.kubeconfig", &local_server(), "kubelet")?;
    pki::kubeconfig(run, "proxy.kubeconfig", &local_server(), "proxy")?;
    run.write("containerd.toml", &containerd_config(run, snapshotter)?)?;
    run.write("cni/10-banlieue.conflist", &cni_config(run))?;
    run.write("resolv.conf", &format!("nameserver {BRIDGE_ADDRESS}\n"))?;
    run.write("kubelet.yaml", &kubelet_config(run, of_box))?;
    Ok(())
}

/// containerd, apart from the system's.
pub fn containerd(run: &RunDir) -> Component {
    Component::new("containerd", "containerd").args(["--config".to_string(), run.arg("containerd.toml")])
}

/// The kubelet.
pub fn kubelet(run: &RunDir, tools: &Tools) -> Component {
    Component::new("kubelet", tools.program("kubelet")).args([
        format!("--config={}", run.arg("kubelet.yaml")),
        format!("--kubeconfig={}", run.arg("kubelet.kubeconfig")),
        format!("--root-dir={}", run.arg("kubelet")),
        format!("--hostname-override={NODE}"),
        format!("--node-ip={BRIDGE_ADDRESS}"),
    ])
}

/// kube-proxy. Everything is masqueraded: without the br_netfilter module the way back from a pod on the same bridge would miss the translation.
pub fn proxy(run: &RunDir, tools: &Tools) -> Component {
    Component::new("kube-proxy", tools.program("kube-proxy")).args([
        format!("--kubeconfig={}", run.arg("proxy.kubeconfig")),
        "--proxy-mode=iptables".into(),
        "--cluster-cidr=10.244.0.0/16".into(),
        "--masquerade-all=true".into(),
        format!("--hostname-override={NODE}"),
        format!("--healthz-bind-address=0.0.0.0:{PROXY_HEALTH_PORT}"),
        "--conntrack-max-per-core=0".into(),
        "--conntrack-tcp-timeout-established=0s".into(),
        "--conntrack-tcp-timeout-close-wait=0s".into(),
    ])
}

/// kube-router as nothing but the enforcer of NetworkPolicies. It is the administrator: nobody asks what it may do.
pub fn firewall(run: &RunDir, program: &Path) -> Component {
    Component::new("kube-router", program.display().to_string()).args([
        format!("--kubeconfig={}", run.kubeconfig().display()),
        "--run-router=false".into(),
        "--run-service-proxy=false".into(),
        "--run-firewall=true".into(),
        "--service-cluster-ip-range=10.96.0.0/16".into(),
        "--iptables-sync-period=5s".into(),
        format!("--hostname-override={NODE}"),
        format!("--health-port={FIREWALL_HEALTH_PORT}"),
    ])
}

/// The name service: it knows the simulators, and answers NXDOMAIN to everything else.
pub fn name_service() -> Component {
    Component::new("dnsmasq", "dnsmasq").args([
        "--keep-in-foreground".to_string(),
        "--log-facility=-".into(),
        "--conf-file=/dev/null".into(),
        "--user=root".into(),
        "--no-resolv".into(),
        "--no-hosts".into(),
        format!("--listen-address={BRIDGE_ADDRESS}"),
        "--bind-interfaces".into(),
        "--local=/#/".into(),
        format!("--address=/{}/{BRIDGE_ADDRESS}", crate::vcsim::HOST),
    ])
}

fn containerd_config(run: &RunDir, snapshotter: &str) -> Result<String> {
    let cni = cni_folder().context("no CNI plugins here: install containernetworking-plugins")?;
    Ok(format!(
        r#"version = 2
root = "{root}"
state = "{state}"
disabled_plugins = ["io.containerd.snapshotter.v1.aufs", "io.containerd.snapshotter.v1.btrfs", "io.containerd.snapshotter.v1.devmapper", "io.containerd.snapshotter.v1.zfs", "io.containerd.internal.v1.tracing", "io.containerd.tracing.processor.v1.otlp"]

[grpc]
address = "{socket}"

[plugins."io.containerd.internal.v1.opt"]
path = "{opt}"

[plugins."io.containerd.grpc.v1.cri"]
sandbox_image = "{PAUSE_IMAGE}"
restrict_oom_score_adj = true
stream_server_address = "127.0.0.1"

[plugins."io.containerd.grpc.v1.cri".containerd]
snapshotter = "{snapshotter}"

[plugins."io.containerd.grpc.v1.cri".cni]
bin_dir = "{cni}"
conf_dir = "{conf}"
"#,
        root = run.arg("containerd/root"),
        state = run.arg("containerd/state"),
        socket = run.containerd_socket().display(),
        opt = run.arg("containerd/opt"),
        conf = run.arg("cni"),
    ))
}

fn cni_config(run: &RunDir) -> String {
    format!(
        r#"{{
  "cniVersion": "0.4.0",
  "name": "banlieue",
  "plugins": [
    {{
      "type": "bridge",
      "bridge": "{BRIDGE}",
      "isGateway": true,
      "hairpinMode": true,
      "ipam": {{
        "type": "host-local",
        "dataDir": "{ipam}",
        "ranges": [[{{"subnet": "10.244.0.0/24", "gateway": "{BRIDGE_ADDRESS}"}}]],
        "routes": [{{"dst": "0.0.0.0/0"}}]
      }}
    }},
    {{"type": "portmap", "capabilities": {{"portMappings": true}}}}
  ]
}}
"#,
        ipam = run.arg("cni/ipam"),
    )
}

fn kubelet_config(run: &RunDir, of_box: &str) -> String {
    format!(
        r#"apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
authentication:
  anonymous: {{enabled: false}}
  webhook: {{enabled: true}}
  x509: {{clientCAFile: "{ca}"}}
authorization: {{mode: Webhook}}
tlsCertFile: "{cert}"
tlsPrivateKeyFile: "{key}"
containerRuntimeEndpoint: "unix://{socket}"
cgroupDriver: cgroupfs
cgroupRoot: "/{cgroup}"
failCgroupV1: false
failSwapOn: false
enforceNodeAllocatable: []
evictionHard:
  memory.available: 100Mi
  nodefs.available: 1%
  nodefs.inodesFree: 1%
  imagefs.available: 1%
imageGCHighThresholdPercent: 100
clusterDNS: ["{BRIDGE_ADDRESS}"]
clusterDomain: cluster.local
resolvConf: "{resolv}"
podLogsDir: "{logs}"
volumePluginDir: "{plugins}"
healthzBindAddress: 127.0.0.1
nodeStatusUpdateFrequency: 5s
"#,
        ca = run.arg("pki/ca.crt"),
        cert = run.arg("pki/kubelet.crt"),
        key = run.arg("pki/kubelet.key"),
        socket = run.containerd_socket().display(),
        cgroup = cgroup::name(of_box),
        resolv = run.arg("resolv.conf"),
        logs = run.arg("logs/pods"),
        plugins = run.arg("kubelet-plugins"),
    )
}
