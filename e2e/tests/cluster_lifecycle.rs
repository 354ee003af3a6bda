//! The local cluster itself: what it offers, and that it leaves nothing however it ends.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use banlieue_e2e::files::Cache;
use banlieue_e2e::progress::{Progress, wait_until};
use banlieue_e2e::sandbox::Processes;
use banlieue_e2e::vcsim::Model;
use banlieue_e2e::{Cluster, Options};
use k8s_openapi::api::core::v1::{Namespace, Secret};
use kube::api::PostParams;
use kube::{Api, ResourceExt};

const E2E: &str = env!("CARGO_BIN_EXE_e2e");

/// What a box could leave on the machine.
#[derive(Debug, PartialEq, Eq)]
struct Machine {
    mounts: BTreeSet<String>,
    processes: BTreeSet<String>,
    control_groups: BTreeSet<PathBuf>,
    iptables: String,
    ip_sets: String,
    settings: BTreeMap<&'static str, String>,
    folders: BTreeMap<&'static str, Option<BTreeSet<PathBuf>>>,
}

impl Machine {
    /// All that has to do with the box `name`, and what no box may change.
    fn look(name: &str) -> Result<Self> {
        let run = Cache::locate()?.run_dir(name).path().display().to_string();
        let mounts = fs::read_to_string("/proc/mounts")?.lines().filter(|l| l.contains(&run)).map(Into::into).collect();
        let mut processes = BTreeSet::new();
        for entry in fs::read_dir("/proc")?.flatten() {
            let read = |f: &str| fs::read(entry.path().join(f)).map(|b| String::from_utf8_lossy(&b).replace('\0', " "));
            let (line, group) = (read("cmdline").unwrap_or_default(), read("cgroup").unwrap_or_default());
            if line.contains(&run) || group.contains(&format!("/banlieue-e2e-{name}")) {
                processes.insert(line);
            }
        }
        let mut control_groups = BTreeSet::new();
        for hierarchy in fs::read_dir("/sys/fs/cgroup")?.flatten().map(|e| e.path()).chain(["/sys/fs/cgroup".into()]) {
            let group = hierarchy.join(format!("banlieue-e2e-{name}"));
            if group.exists() {
                control_groups.insert(group);
            }
        }
        let rules = Command::new("iptables-save").output().context("iptables-save")?;
        let rules = String::from_utf8_lossy(&rules.stdout).into_owned();
        let iptables =
            rules.lines().filter(|l| !l.starts_with('#') && !l.starts_with(':')).collect::<Vec<_>>().join("\n");
        let ip_sets = Command::new("ipset").args(["list", "-name"]).output().context("ipset")?;
        let setting = |path| (path, fs::read_to_string(Path::new("/proc/sys").join(path)).unwrap_or_default());
        let folder = |path| {
            let content = fs::read_dir(path).ok().map(|d| d.flatten().map(|e| e.path()).collect());
            (path, content)
        };
        Ok(Self {
            mounts,
            processes,
            control_groups,
            iptables,
            ip_sets: String::from_utf8_lossy(&ip_sets.stdout).into_owned(),
            settings: ["vm/overcommit_memory", "kernel/panic", "kernel/panic_on_oops", "net/ipv4/ip_forward"]
                .map(setting)
                .into(),
            folders: [
                "/run/netns",
                "/run/containerd",
                "/var/lib/kubelet",
                "/var/lib/cni",
                "/var/log/pods",
                "/var/log/containers",
            ]
            .map(folder)
            .into(),
        })
    }
}

fn link(cluster: &Cluster) -> PathBuf {
    Path::new("/sys/class/net").join(cluster.settings().slot().link())
}

const PODS: &str = r#"
apiVersion: v1
kind: Namespace
metadata: {name: restricted, labels: {pod-security.kubernetes.io/enforce: restricted}}
---
apiVersion: v1
kind: Pod
metadata: {name: look, namespace: default}
spec:
  restartPolicy: Never
  terminationGracePeriodSeconds: 1
  containers:
  - {name: nowhere, image: "localhost/banlieue-pause:e2e", args: [lookup, vcenter.invalid]}
  - {name: simulator-name, image: "localhost/banlieue-pause:e2e", args: [lookup, vcsim.e2e]}
  - {name: simulator, image: "localhost/banlieue-pause:e2e", args: [dial, "vcsim.e2e:8989"]}
  - {name: second-simulator, image: "localhost/banlieue-pause:e2e", args: [dial, "second.vcsim.e2e:9100"]}
  - {name: api, image: "localhost/banlieue-pause:e2e", args: [dial, "10.96.0.1:443"]}
  - {name: machine, image: "localhost/banlieue-pause:e2e", args: [dial, "OUTSIDE:22"]}
  - {name: internet, image: "localhost/banlieue-pause:e2e", args: [dial, "192.0.2.1:443"]}
---
apiVersion: v1
kind: Pod
metadata: {name: stay, namespace: restricted}
spec:
  securityContext: {runAsNonRoot: true, seccompProfile: {type: RuntimeDefault}}
  containers:
  - name: stay
    image: localhost/banlieue-pause:e2e
    imagePullPolicy: IfNotPresent
    securityContext: {allowPrivilegeEscalation: false, readOnlyRootFilesystem: true, capabilities: {drop: [ALL]}}
---
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {name: limits, namespace: restricted}
spec:
  podSelector: {}
  ingress: [{from: [{namespaceSelector: {}}]}]
"#;

/// Pods run, find what they should, find nothing else; and after one kill nothing is left.
#[tokio::test(flavor = "multi_thread")]
async fn a_whole_cluster_runs_pods_and_leaves_nothing() -> Result<()> {
    let name = "life-whole";
    Cluster::down(name)?;
    let before = Machine::look(name)?;
    let cluster = Cluster::start(Options::named(name)).await?;
    let veth = link(&cluster);
    ensure!(veth.exists(), "the link to the box is not there");

    cluster.start_vcsim("second", 9100, Model { hosts: 1, ..Model::default() })?;
    cluster.apply(&PODS.replace("OUTSIDE", &cluster.settings().slot().outside()))?;
    cluster.kubectl(["wait", "-n", "restricted", "pod/stay", "--for=condition=Ready", "--timeout=60s"])?;
    cluster.kubectl(["wait", "pod/look", "--for=jsonpath={.status.phase}=Failed", "--timeout=60s"])?;
    let log = |container: &str| cluster.kubectl(["logs", "look", "-c", container]);
    for (container, beginning) in [
        ("nowhere", "not found: vcenter.invalid"),
        ("simulator-name", "answer: [10.244.0.1]"),
        ("simulator", "answer: 10.244.0.1:8989"),
        ("second-simulator", "answer: 10.244.0.1:9100"),
        ("api", "answer: 10.96.0.1:443"),
        ("machine", "failed:"),
        ("internet", "failed:"),
    ] {
        let said = log(container)?;
        ensure!(said.starts_with(beginning), "{container} said {said:?}, not {beginning:?}");
    }

    cluster.enforce_network_policies(Progress::quiet())?;
    wait_until("rules and sets of addresses in the box", Duration::from_secs(30), || {
        let sets = cluster.exec(["/usr/sbin/ipset", "list", "-name"])?;
        let there = !sets.stdout.is_empty() && cluster.packet_filter()?.contains("nw policy limits");
        Ok(there.then_some(()))
    })?;

    // A second start finds it healthy.
    let again = Cluster::start(Options::named(name)).await?;
    ensure!(again.reused, "a healthy cluster was not reused");
    drop(again);

    let start = Instant::now();
    ensure!(Cluster::down(name)?, "there was nothing to take down");
    let took = start.elapsed();
    let after = Machine::look(name)?;
    ensure!(before == after, "left on the machine:\nbefore {before:#?}\nafter {after:#?}");
    ensure!(!veth.exists(), "the link is left");
    ensure!(!Cache::locate()?.run_dir(name).path().exists(), "the box's folder is left");
    println!("down took {:.2} s", took.as_secs_f64());
    ensure!(took < Duration::from_secs(5), "down took {took:?}");
    Ok(())
}

/// Two at once: each has its own objects; parts stop and start; a ServiceAccount has its own rights and shows in the audit log.
#[tokio::test(flavor = "multi_thread")]
async fn two_control_planes_side_by_side() -> Result<()> {
    let options = |name: &str| Options::ephemeral(name).control_plane_only();
    let (one, two) = tokio::try_join!(Cluster::start(options("life-one")), Cluster::start(options("life-two")))?;
    ensure!(one.settings().slot != two.settings().slot);

    let namespaces: Api<Namespace> = Api::all(one.client().await?);
    let namespace = Namespace {
        metadata: kube::core::ObjectMeta { name: Some("only-here".into()), ..Default::default() },
        ..Default::default()
    };
    namespaces.create(&PostParams::default(), &namespace).await?;
    let others: Api<Namespace> = Api::all(two.client().await?);
    ensure!(others.list(&Default::default()).await?.iter().all(|n| n.name_any() != "only-here"));

    let secrets: Api<Secret> = Api::namespaced(two.client_as("default/default").await?, "default");
    let refused = secrets.list(&Default::default()).await.err().context("a plain ServiceAccount lists Secrets")?;
    ensure!(refused.to_string().contains("forbidden"), "{refused}");
    let audit = fs::read_to_string(two.audit_log_path())?;
    ensure!(audit.contains("system:serviceaccount:default:default"), "the refusal is not in the audit log");

    two.stop_component("kube-apiserver")?;
    ensure!(two.check_health().await.is_err(), "healthy without an API server");
    two.start_component("kube-apiserver")?;
    two.wait_ready().await?;
    two.signal_component("etcd", 9)?;
    wait_until("etcd's return", Duration::from_secs(20), || {
        let state = two.status()?.remove("etcd").unwrap_or_default();
        Ok((state.failures == 1 && state.pid.is_some()).then_some(()))
    })?;
    two.wait_ready().await?;
    one.check_health().await?;
    let sim = two.vcsim()?;
    ensure!(sim.control_url.contains(&two.settings().slot().inside()));
    ensure!(sim.ca_pem.starts_with("-----BEGIN CERTIFICATE"));
    one.shut_down()?;
    two.check_health().await
}

/// A start that is killed at any moment leaves nothing that the next one stumbles over.
#[tokio::test(flavor = "multi_thread")]
async fn a_start_works_after_a_kill_at_any_moment() -> Result<()> {
    let name = "life-killed";
    Cluster::down(name)?;
    let before = Machine::look(name)?;
    let run = Cache::locate()?.run_dir(name);
    for (round, delay) in [10, 60, 110, 160, 230, 600, 1500, 4000, 7000].into_iter().enumerate() {
        let mut up =
            Command::new(E2E).args(["--name", name, "up"]).stdout(Stdio::null()).stderr(Stdio::null()).spawn()?;
        std::thread::sleep(Duration::from_millis(delay));
        up.kill()?;
        up.wait()?;
        // Every second time, some of the box dies too.
        let found = Processes::find(&run);
        let victim = if round % 4 == 1 { found.init } else { found.outer.first().copied() };
        if round % 2 == 1
            && let Some(pid) = victim
        {
            Command::new("kill").args(["-9", &pid.to_string()]).status()?;
        }
    }
    let cluster = Cluster::start(Options::named(name)).await?;
    cluster.check_health().await?;
    ensure!(Cluster::down(name)?);
    let after = Machine::look(name)?;
    ensure!(before == after, "left on the machine:\nbefore {before:#?}\nafter {after:#?}");
    Ok(())
}

/// An ephemeral cluster ends with the process that started it, even when that is killed.
#[tokio::test(flavor = "multi_thread")]
async fn an_ephemeral_cluster_ends_with_its_owner() -> Result<()> {
    let cache = Cache::locate()?;
    let run = cache.run_dir("life-owned");
    let mut owner = Command::new(std::env::current_exe()?)
        .args(["--ignored", "--exact", "the_owner_of_an_ephemeral_cluster"])
        .env("BANLIEUE_OWNER", "1")
        .stdout(Stdio::null())
        .spawn()?;
    wait_until("the owned cluster", Duration::from_secs(120), || Ok(run.join("owned").exists().then_some(())))?;
    ensure!(Processes::find(&run).any());
    owner.kill()?;
    owner.wait()?;
    wait_until("the end of the box", Duration::from_secs(5), || Ok((!Processes::find(&run).any()).then_some(())))?;
    // The next start of any cluster removes the files; so does taking it down.
    Cluster::down("life-owned")?;
    ensure!(!run.path().exists());
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "the other process of an_ephemeral_cluster_ends_with_its_owner"]
async fn the_owner_of_an_ephemeral_cluster() -> Result<()> {
    if std::env::var_os("BANLIEUE_OWNER").is_some() {
        let cluster = Cluster::start(Options::ephemeral("life-owned").control_plane_only().without_vcsim()).await?;
        cluster.run_dir().write("owned", "")?;
        std::thread::sleep(Duration::from_secs(600));
    }
    Ok(())
}
