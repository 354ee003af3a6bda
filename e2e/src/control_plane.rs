//! etcd, the API server, the controller manager and the scheduler: their certificates and arguments.

use anyhow::Result;

use crate::component::Component;
use crate::files::RunDir;
use crate::network::{BRIDGE_ADDRESS, Slot};
use crate::options::Options;
use crate::pki::{self, Authority};
use crate::tools::Tools;

/// The port of the API server, inside the box and from the machine.
pub const API_PORT: u16 = 6443;

/// Writes what the control plane reads: certificates, kubeconfigs, the audit policy.
pub fn prepare(run: &RunDir, ca: &Authority, slot: Slot, options: &Options) -> Result<()> {
    let inside = slot.inside();
    let names = [
        "localhost",
        "kubernetes",
        "kubernetes.default",
        "kubernetes.default.svc",
        "kubernetes.default.svc.cluster.local",
        "127.0.0.1",
        "10.96.0.1",
        BRIDGE_ADDRESS,
        &inside,
    ];
    ca.server("apiserver", "kube-apiserver", &[], &names)?;
    ca.client("apiserver-kubelet", "kube-apiserver-kubelet-client", &["system:masters"])?;
    ca.client("admin", "kubernetes-admin", &["system:masters"])?;
    ca.client("controller-manager", "system:kube-controller-manager", &[])?;
    ca.client("scheduler", "system:kube-scheduler", &[])?;
    pki::service_account_keys(run)?;
    pki::kubeconfig(run, "kubeconfig", &format!("https://{inside}:{API_PORT}"), "admin")?;
    for part in ["controller-manager", "scheduler"] {
        pki::kubeconfig(run, &format!("{part}.kubeconfig"), &local_server(), part)?;
    }
    run.write("audit-policy.yaml", &options.audit_policy)?;
    Ok(())
}

/// The API server's address for what runs in the box.
pub fn local_server() -> String {
    format!("https://127.0.0.1:{API_PORT}")
}

/// etcd, without waiting for the disk: a test cluster loses nothing that matters.
pub fn etcd(run: &RunDir, tools: &Tools) -> Component {
    Component::new("etcd", tools.program("etcd")).args([
        format!("--data-dir={}", run.arg("etcd")),
        "--unsafe-no-fsync".into(),
        "--listen-client-urls=http://127.0.0.1:2379".into(),
        "--advertise-client-urls=http://127.0.0.1:2379".into(),
        "--listen-peer-urls=http://127.0.0.1:2380".into(),
        "--initial-advertise-peer-urls=http://127.0.0.1:2380".into(),
        "--initial-cluster=default=http://127.0.0.1:2380".into(),
        "--logger=zap".into(),
        "--log-level=warn".into(),
    ])
}

/// The API server.
pub fn api_server(run: &RunDir, tools: &Tools, options: &Options) -> Component {
    let file = |flag: &str, path: &str| format!("--{flag}={}", run.arg(path));
    Component::new("kube-apiserver", tools.program("kube-apiserver"))
        .args([
            "--etcd-servers=http://127.0.0.1:2379".to_string(),
            "--bind-address=0.0.0.0".into(),
            format!("--secure-port={API_PORT}"),
            format!("--advertise-address={BRIDGE_ADDRESS}"),
            "--authorization-mode=Node,RBAC".into(),
            "--enable-admission-plugins=NodeRestriction,OwnerReferencesPermissionEnforcement".into(),
            "--allow-privileged=true".into(),
            "--service-cluster-ip-range=10.96.0.0/16".into(),
            "--service-account-issuer=https://kubernetes.default.svc".into(),
            file("service-account-key-file", "pki/sa.pub"),
            file("service-account-signing-key-file", "pki/sa.key"),
            file("client-ca-file", "pki/ca.crt"),
            file("tls-cert-file", "pki/apiserver.crt"),
            file("tls-private-key-file", "pki/apiserver.key"),
            file("kubelet-client-certificate", "pki/apiserver-kubelet.crt"),
            file("kubelet-client-key", "pki/apiserver-kubelet.key"),
            file("kubelet-certificate-authority", "pki/ca.crt"),
            "--kubelet-preferred-address-types=InternalIP".into(),
            file("audit-policy-file", "audit-policy.yaml"),
            file("audit-log-path", "logs/audit.log"),
            "--audit-log-maxsize=500".into(),
        ])
        .args(options.api_server_args.clone())
}

/// The controller manager.
pub fn controller_manager(run: &RunDir, tools: &Tools) -> Component {
    let file = |flag: &str, path: &str| format!("--{flag}={}", run.arg(path));
    Component::new("kube-controller-manager", tools.program("kube-controller-manager")).args([
        file("kubeconfig", "controller-manager.kubeconfig"),
        file("root-ca-file", "pki/ca.crt"),
        file("service-account-private-key-file", "pki/sa.key"),
        file("cluster-signing-cert-file", "pki/ca.crt"),
        file("cluster-signing-key-file", "pki/ca.key"),
        "--use-service-account-credentials=true".into(),
        "--leader-elect=false".into(),
        "--bind-address=127.0.0.1".into(),
        // Its own brake on requests would cost five seconds of every start.
        "--kube-api-qps=500".into(),
        "--kube-api-burst=1000".into(),
    ])
}

/// The scheduler.
pub fn scheduler(run: &RunDir, tools: &Tools) -> Component {
    Component::new("kube-scheduler", tools.program("kube-scheduler")).args([
        format!("--kubeconfig={}", run.arg("scheduler.kubeconfig")),
        "--leader-elect=false".into(),
        "--bind-address=127.0.0.1".into(),
    ])
}
