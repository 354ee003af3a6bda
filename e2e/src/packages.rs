//! The distribution's packages: installed where apt is there, listed where it is not.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context, Result, bail};

use crate::files::{Cache, Lock, tail};
use crate::node::cni_folder;
use crate::progress::Progress;

/// A program that the cluster needs, and the Debian package that has it.
const PROGRAMS: [(&str, &str); 12] = [
    ("containerd", "containerd"),
    ("ctr", "containerd"),
    ("runc", "runc"),
    ("buildah", "buildah"),
    ("iptables", "iptables"),
    ("ipset", "ipset"),
    ("conntrack", "conntrack"),
    ("ip", "iproute2"),
    ("dnsmasq", "dnsmasq-base"),
    ("unshare", "util-linux"),
    ("nsenter", "util-linux"),
    ("mount", "mount"),
];

/// Whether a program is on the path, or where administrators' programs are.
pub fn has_program(name: &str) -> bool {
    let path = std::env::var("PATH").unwrap_or_default() + ":/usr/sbin:/sbin:/usr/local/sbin";
    path.split(':').any(|folder| Path::new(folder).join(name).is_file())
}

/// The packages that are missing.
pub fn missing() -> Vec<&'static str> {
    let mut packages: Vec<&str> =
        PROGRAMS.iter().filter(|(program, _)| !has_program(program)).map(|(_, p)| *p).collect();
    if cni_folder().is_none() {
        packages.push("containernetworking-plugins");
    }
    packages.dedup();
    packages
}

/// Whether this machine can install packages by itself.
pub fn can_install() -> bool {
    has_program("apt-get")
}

/// Installs what is missing.
pub fn ensure(cache: &Cache, progress: Progress) -> Result<()> {
    ensure_all(cache, progress, missing)
}

/// Installs a package where its program is missing: for what only a suite needs, and no cluster.
pub fn ensure_program(cache: &Cache, progress: Progress, program: &str, package: &'static str) -> Result<()> {
    ensure_all(cache, progress, || if has_program(program) { vec![] } else { vec![package] })
}

fn ensure_all(cache: &Cache, progress: Progress, missing: impl Fn() -> Vec<&'static str>) -> Result<()> {
    if missing().is_empty() {
        return Ok(());
    }
    let _lock = Lock::take(&cache.join("packages.lock"))?;
    let packages = missing();
    if packages.is_empty() {
        return Ok(());
    }
    if !can_install() {
        bail!("install these packages (Debian's names) and start again: {}", packages.join(" "));
    }
    let start = Instant::now();
    progress.say(format!("installing with apt-get: {}", packages.join(" ")));
    let log = cache.join("packages.log");
    apt(&log, &["update"])?;
    progress.step("apt-get update", "done", start);
    // No recommended packages, and no services: the cluster starts its own containerd.
    let mut args = vec!["install", "-y", "--no-install-recommends"];
    args.extend(&packages);
    apt(&log, &args)?;
    progress.step("apt-get install", "done", start);
    Ok(())
}

fn apt(log: &Path, args: &[&str]) -> Result<()> {
    let out = std::fs::OpenOptions::new().create(true).append(true).open(log)?;
    let status = Command::new("apt-get")
        .args(args)
        .env("DEBIAN_FRONTEND", "noninteractive")
        .stdin(Stdio::null())
        .stdout(out.try_clone()?)
        .stderr(out)
        .status()
        .context("cannot run apt-get")?;
    if !status.success() {
        bail!("apt-get {} failed, see {}:\n{}", args.join(" "), log.display(), tail(log, 8));
    }
    Ok(())
}
