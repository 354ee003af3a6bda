//! Removing what a box left, however it ended.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use crate::files::Cache;
use crate::settings::Settings;
use crate::{cgroup, sandbox};

/// Removes whatever a box left: its processes, its link, its control groups and its folder.
pub fn clear(cache: &Cache, name: &str) -> Result<()> {
    let run = cache.run_dir(name);
    sandbox::kill(&run)?;
    if let Ok(settings) = Settings::load(&run) {
        settings.slot().disconnect();
    }
    cgroup::remove(name)?;
    keep_logs(cache, name);
    match std::fs::remove_dir_all(run.path()) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(error).with_context(|| format!("cannot remove {}", run.path().display()))
        }
        _ => Ok(()),
    }
}

/// Removes what killed owners left: boxes that no process is in any more.
pub fn sweep(cache: &Cache, except: &str) {
    sweep_probes(cache);
    for name in cache.boxes() {
        let gone = |name: &str| !sandbox::Processes::find(&cache.run_dir(name)).any();
        if name == except || !gone(&name) {
            continue;
        }
        if let Some(lock) = cache.try_lock_box(&name)
            && gone(&name)
            && clear(cache, &name).is_ok()
        {
            lock.discard();
        }
    }
}

/// The folder of the parts' logs of the box `name` as they were when it ended last.
pub fn last_logs(cache: &Cache, name: &str) -> PathBuf {
    cache.join(format!("logs/{name}-last"))
}

/// Moves the logs out of the way of the end: what a failed test leaves can still be read.
fn keep_logs(cache: &Cache, name: &str) {
    let logs = cache.run_dir(name).logs();
    if logs.is_dir() {
        let last = last_logs(cache, name);
        let _ = std::fs::remove_dir_all(&last);
        let _ = last.parent().map(std::fs::create_dir_all);
        let _ = std::fs::rename(logs, last);
        prune_logs(cache);
    }
}

/// How many folders of logs are kept.
const KEPT_LOGS: usize = 20;

/// Removes the oldest folders of logs.
fn prune_logs(cache: &Cache) {
    let entries = std::fs::read_dir(cache.join("logs")).into_iter().flatten().flatten();
    let mut folders: Vec<_> = entries.filter_map(|e| Some((e.metadata().ok()?.modified().ok()?, e.path()))).collect();
    folders.sort();
    for (_, folder) in folders.iter().rev().skip(KEPT_LOGS) {
        let _ = std::fs::remove_dir_all(folder);
    }
}

/// Removes the folders of preflights that were killed while they tried an overlay mount.
fn sweep_probes(cache: &Cache) {
    for entry in std::fs::read_dir(cache.root()).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let owner = name.to_str().and_then(|n| n.strip_prefix("overlay-probe-"));
        if owner.is_some_and(|pid| !Path::new("/proc").join(pid).exists()) {
            let _ = std::fs::remove_dir_all(entry.path());
        }
    }
}
