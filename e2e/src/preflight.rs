//! What this machine lacks, said in one table before anything starts.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::OnceLock;

use crate::files::Cache;
use crate::network::Slot;
use crate::options::Options;
use crate::table::{Table, Verdict};
use crate::{cgroup, packages};

/// Looks at the machine. Nothing is changed.
pub fn look(cache: &Cache, options: &Options) -> Table {
    let mut table = Table::default();
    let root = rustix::process::geteuid().is_root();
    table.check(
        "root",
        root,
        "",
        "start as root (sudo -E make cluster): namespaces, mounts and control groups need it",
    );
    let linux = cfg!(target_os = "linux");
    table.check(
        "system",
        linux,
        std::env::consts::OS,
        "a Linux machine is needed; with Docker, CLUSTER=kind works elsewhere",
    );
    let missing = packages::missing();
    match (missing.is_empty(), packages::can_install()) {
        (true, _) => table.add("packages", Verdict::Ok, "all there"),
        (false, true) => table.add("packages", Verdict::Note, format!("apt-get will install: {}", missing.join(" "))),
        (false, false) => table.add("packages", Verdict::Missing, format!("install {}", missing.join(" "))),
    }
    if root {
        kernel(&mut table, cache, options);
    } else {
        table.add(
            "kernel",
            Verdict::Note,
            "namespaces, overlay mounts, control groups and iptables: looked at as root only",
        );
    }
    go(&mut table);
    disk_and_memory(&mut table, cache, options);
    addresses(&mut table, cache);
    table
}

/// What only root can try.
fn kernel(table: &mut Table, cache: &Cache, options: &Options) {
    let namespaces = run("unshare", &["--net", "--mount", "--pid", "--fork", "true"]);
    let seen = namespaces.err().unwrap_or_default();
    table.check("namespaces", seen.is_empty(), seen, "the kernel must allow unshare for net, mount and pid");
    if !options.node {
        return;
    }
    match snapshotter(cache) {
        "overlayfs" => table.add("overlayfs", Verdict::Ok, format!("works in {}", cache.root().display())),
        _ => {
            let advice = "not in the cache folder: layers are copied (set BANLIEUE_CACHE to a folder on a disk)";
            table.add("overlayfs", Verdict::Note, advice);
        }
    }
    let group = cgroup::version();
    let seen = group.map_or("none mounted".into(), |v| format!("version {v}"));
    table.check("cgroup", group.is_some(), seen, "mount control groups at /sys/fs/cgroup");
    iptables(table);
}

/// The way containerd keeps layers: overlay mounts, or copies where the cache's file system cannot carry them.
pub fn snapshotter(cache: &Cache) -> &'static str {
    static FOUND: OnceLock<bool> = OnceLock::new();
    let works = *FOUND.get_or_init(|| {
        let folder = cache.join(format!("overlay-probe-{}", std::process::id()));
        let made = ["lower", "upper", "work", "all"].iter().all(|p| fs::create_dir_all(folder.join(p)).is_ok());
        let place = |p: &str| folder.join(p).display().to_string();
        let how = format!("lowerdir={},upperdir={},workdir={}", place("lower"), place("upper"), place("work"));
        let mount = ["--mount", "mount", "-t", "overlay", "overlay", "-o", &how, &place("all")];
        let worked = made && run("unshare", &mount).is_ok();
        let _ = fs::remove_dir_all(&folder);
        worked
    });
    if works { "overlayfs" } else { "native" }
}

fn iptables(table: &mut Table) {
    if !packages::has_program("iptables") {
        return table.add("iptables", Verdict::Note, "comes with the packages");
    }
    let rules = "iptables -t nat -A POSTROUTING -m comment --comment x -m mark --mark 0x1/0x1 -j MASQUERADE && \
                 iptables -A FORWARD -m conntrack --ctstate RELATED,ESTABLISHED -j ACCEPT";
    let tried = run("unshare", &["--net", "sh", "-c", rules]);
    table.check(
        "iptables",
        tried.is_ok(),
        tried.err().unwrap_or_default(),
        "the kernel needs nat, comment, mark and conntrack matches",
    );
}

fn go(table: &mut Table) {
    let seen = run("go", &["env", "GOVERSION"]).unwrap_or_default();
    let version: Vec<u32> = seen.trim_start_matches("go").split('.').filter_map(|p| p.parse().ok()).collect();
    let good = version.len() >= 2 && (version[0], version[1]) >= (1, 26);
    let older = version.len() >= 2 && (version[0], version[1]) >= (1, 21);
    match (good, older) {
        (true, _) => table.add("go", Verdict::Ok, seen.trim()),
        (_, true) => table.add("go", Verdict::Note, format!("{}: it will fetch 1.26 by itself", seen.trim())),
        _ => table.add("go", Verdict::Missing, "install Go 1.26 or newer: the cluster's programs are built with it"),
    }
}

fn disk_and_memory(table: &mut Table, cache: &Cache, options: &Options) {
    let built = fs::read_dir(cache.join("tools")).is_ok_and(|d| {
        let name = format!("kubernetes-{}-", options.kubernetes);
        d.flatten().any(|e| e.file_name().to_string_lossy().starts_with(&name) && e.path().is_dir())
    });
    let needed = if built { 2 } else { 14 };
    let free = rustix::fs::statvfs(cache.root()).map_or(0, |s| s.f_bavail.saturating_mul(s.f_frsize) >> 30);
    let advice = format!("{needed} GB are needed{}", if built { "" } else { " for the first build" });
    table.check("disk", free >= needed, format!("{free} GB free"), &advice);
    let info = fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let available =
        info.lines().find_map(|l| l.strip_prefix("MemAvailable:")?.split_whitespace().next()?.parse::<u64>().ok());
    let megabytes = available.unwrap_or_default() / 1024;
    table.check("memory", megabytes >= 1200, format!("{megabytes} MB available"), "a cluster takes about 800 MB");
}

fn addresses(table: &mut Table, cache: &Cache) {
    let socket = cache.run_dir("a-name-of-usual-length").containerd_socket();
    let long = socket.as_os_str().len() + ".ttrpc".len() > 107;
    table.check(
        "cache",
        !long,
        cache.root().display().to_string(),
        "the path is too long for sockets: set BANLIEUE_CACHE",
    );
    match Slot::free(&[]) {
        Ok(slot) => table.add("addresses", Verdict::Ok, format!("{}/30 is free", slot.outside())),
        Err(error) => table.add("addresses", Verdict::Missing, format!("{error:#}")),
    }
    // The box has a network of its own, so no port of the machine is taken; only a route to its addresses could be in the way.
    let routes = run("ip", &["-4", "route", "show"]).unwrap_or_default();
    let in_the_way = routes.lines().find(|l| l.starts_with("10.245.") && !l.contains("dev bnl-"));
    table.check(
        "ports",
        in_the_way.is_none(),
        in_the_way.unwrap_or("none of the machine's is used"),
        "another network has 10.245.0.0/16",
    );
}

fn run(program: &str, args: &[&str]) -> std::result::Result<String, String> {
    let out =
        Command::new(program).args(args).current_dir(Path::new("/")).output().map_err(|e| format!("{program}: {e}"))?;
    if out.status.success() {
        Ok(String::from_utf8_lossy(&out.stdout).into_owned())
    } else {
        Err(String::from_utf8_lossy(&out.stderr).trim().lines().next().unwrap_or("failed").to_string())
    }
}
