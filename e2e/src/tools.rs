//! The Go programs of the cluster: built once into the cache, keyed by what they are made of.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use sha2::{Digest, Sha256};

use crate::files::{Cache, Lock, tail};
use crate::options::Options;
use crate::progress::Progress;

const KUBERNETES_PROGRAMS: [&str; 6] =
    ["kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubelet", "kube-proxy", "kubectl"];

/// Where the programs are.
#[derive(Clone, Debug)]
pub struct Tools {
    kubernetes: PathBuf,
    etcd: PathBuf,
    /// The program of the pause image.
    pub pause: PathBuf,
    /// The vCenter simulator, where its source is there.
    pub vcsim: Option<PathBuf>,
}

/// One Go module and what is built of it.
struct Module {
    name: String,
    folder: PathBuf,
    ldflags: String,
    packages: Vec<String>,
}

impl Tools {
    /// Builds what is missing in the cache, and says where everything is.
    pub fn ensure(cache: &Cache, options: &Options, progress: Progress) -> Result<Self> {
        let kubernetes = kubernetes_module(options)?.ensure(cache, progress)?;
        let etcd = Module::new("etcd", &["go.etcd.io/etcd/server/v3"]).ensure(cache, progress)?;
        let pause = Module::new("pause", &["."]).ensure(cache, progress)?.join("pause");
        let vcsim = if !options.vcsim {
            None
        } else if Module::new("vcsim", &["."]).folder.join("main.go").is_file() {
            Some(simulator(cache, progress)?)
        } else {
            progress.say("vcsim: no main.go in e2e/tools/vcsim, so there is no simulator in this cluster");
            None
        };
        // The etcd program's package is called `v3` after its module path: `server` is the file.
        let etcd = etcd.join("server");
        Ok(Self { kubernetes, etcd, pause, vcsim })
    }

    /// The path of one program, as an argument. `KUBEBUILDER_ASSETS` wins for what it holds of the control plane.
    pub fn program(&self, name: &str) -> String {
        let assets = std::env::var_os("KUBEBUILDER_ASSETS").filter(|v| !v.is_empty());
        let asset = assets.map(|folder| PathBuf::from(folder).join(name)).filter(|p| p.is_file());
        let built = || {
            if name == "etcd" { self.etcd.clone() } else { self.kubernetes.join(name) }
        };
        asset.unwrap_or_else(built).display().to_string()
    }

    /// What tells two sets of programs apart.
    pub fn key(&self) -> String {
        format!("{} {} {:?}", self.program("kube-apiserver"), self.program("etcd"), self.vcsim)
    }
}

/// The vCenter simulator alone, for what needs no cluster.
pub fn simulator(cache: &Cache, progress: Progress) -> Result<PathBuf> {
    Ok(Module::new("vcsim", &["."]).ensure(cache, progress)?.join("vcsim"))
}

/// The program that reads objects as kstatus and Argo CD do.
pub fn readers(cache: &Cache, progress: Progress) -> Result<PathBuf> {
    Ok(Module::new("readers", &["."]).ensure(cache, progress)?.join("readers"))
}

/// The program that enforces NetworkPolicies.
pub fn kube_router(cache: &Cache, progress: Progress) -> Result<PathBuf> {
    let package = "github.com/cloudnativelabs/kube-router/v2/cmd/kube-router";
    Ok(Module::new("kube-router", &[package]).ensure(cache, progress)?.join("kube-router"))
}

fn kubernetes_module(options: &Options) -> Result<Module> {
    let version = options.kubernetes_version()?;
    let packages: Vec<String> = KUBERNETES_PROGRAMS.iter().map(|p| format!("k8s.io/kubernetes/cmd/{p}")).collect();
    let packages: Vec<&str> = packages.iter().map(String::as_str).collect();
    let mut module = Module::new(&format!("kubernetes-{}", options.kubernetes), &packages);
    let (major, minor) = options.kubernetes.split_once('.').context("a Kubernetes line is MAJOR.MINOR")?;
    let set = |name: &str, value: &str| format!(" -X k8s.io/component-base/version.{name}={value}");
    module.ldflags += &set("gitVersion", version);
    module.ldflags += &set("gitMajor", major);
    module.ldflags += &set("gitMinor", minor);
    module.ldflags += &set("gitTreeState", "clean");
    Ok(module)
}

impl Module {
    fn new(name: &str, packages: &[&str]) -> Self {
        Self {
            name: name.into(),
            folder: Path::new(env!("CARGO_MANIFEST_DIR")).join("tools").join(name),
            ldflags: "-s -w".into(),
            packages: packages.iter().map(|p| p.to_string()).collect(),
        }
    }

    /// A hash of the recipe and of every file in the module's own folder.
    fn key(&self) -> Result<String> {
        let mut hash = Sha256::new();
        hash.update(format!("{} {:?}", self.ldflags, self.packages));
        let mut files: Vec<PathBuf> = fs::read_dir(&self.folder)
            .with_context(|| format!("no tool at {}", self.folder.display()))?
            .flatten()
            .map(|e| e.path())
            .filter(|p| {
                let name = p.file_name().and_then(|n| n.to_str()).unwrap_or_default();
                (name.ends_with(".go") && !name.ends_with("_test.go")) || name == "go.mod" || name == "go.sum"
            })
            .collect();
        files.sort();
        for file in files {
            hash.update(file.file_name().unwrap_or_default().as_encoded_bytes());
            hash.update(fs::read(&file)?);
        }
        Ok(hash.finalize().iter().take(8).map(|b| format!("{b:02x}")).collect())
    }

    fn ensure(&self, cache: &Cache, progress: Progress) -> Result<PathBuf> {
        let built = cache.join(format!("tools/{}-{}", self.name, self.key()?));
        if built.is_dir() {
            return Ok(built);
        }
        let _lock = Lock::take(&built.with_extension("lock"))?;
        if !built.is_dir() {
            self.build(&built, progress)?;
        }
        Ok(built)
    }

    /// Builds into a folder beside the final one and renames it, so that an interrupted build never counts.
    fn build(&self, built: &Path, progress: Progress) -> Result<()> {
        let started = Instant::now();
        let part = built.with_extension("part");
        let _ = fs::remove_dir_all(&part);
        fs::create_dir_all(&part)?;
        progress.say(format!("{}: building with go (once; kept in the cache)", self.name));
        let log = built.with_extension("log");
        let mut command = Command::new("go");
        let output = if self.packages == ["."] {
            // A program of this project: static, as the pause image has nothing beside it.
            command.env("CGO_ENABLED", "0");
            part.join(&self.name).display().to_string()
        } else {
            format!("{}/", part.display())
        };
        let mut child = command
            .args(["build", "-v", "-trimpath", "-buildvcs=false", &format!("-ldflags={}", self.ldflags), "-o"])
            .arg(output)
            .args(&self.packages)
            .current_dir(&self.folder)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .context("cannot run go: install Go 1.26 or newer")?;
        let lines = Arc::new(AtomicUsize::new(0));
        let reader = child.stderr.take().map(|pipe| {
            let (lines, log) = (lines.clone(), log.clone());
            std::thread::spawn(move || {
                let mut text = String::new();
                for line in BufReader::new(pipe).lines().map_while(Result::ok) {
                    lines.fetch_add(1, Ordering::Relaxed);
                    text.push_str(&line);
                    text.push('\n');
                }
                let _ = fs::write(log, text);
            })
        });
        let mut said = Instant::now();
        let status = loop {
            if let Some(status) = child.try_wait()? {
                break status;
            }
            if said.elapsed() > Duration::from_secs(5) {
                said = Instant::now();
                progress.step(&self.name, &format!("{} steps", lines.load(Ordering::Relaxed)), started);
            }
            std::thread::sleep(Duration::from_millis(50));
        };
        let _ = reader.map(std::thread::JoinHandle::join);
        if !status.success() {
            bail!("building {} failed ({}):\n{}", self.name, log.display(), tail(&log, 15));
        }
        fs::rename(&part, built)?;
        progress.step(&self.name, "built", started);
        Ok(())
    }
}
