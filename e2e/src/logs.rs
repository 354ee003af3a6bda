//! What a person needs after a failure, in one folder.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use anyhow::{Context, Result};

use crate::cluster::Cluster;
use crate::files::{Cache, tail};
use crate::kind;

/// What is asked of the API server, and the file that it goes to.
const QUESTIONS: [(&str, &[&str]); 6] = [
    ("objects.txt", &["get", "all,serviceaccounts,roles,rolebindings,clusterrolebindings,leases", "-A", "-o", "wide"]),
    ("events.txt", &["get", "events", "-A", "--sort-by=.lastTimestamp"]),
    ("nodes.txt", &["describe", "nodes"]),
    ("pods.txt", &["describe", "pods", "-A"]),
    ("deployments.txt", &["describe", "deployments", "-A"]),
    ("providers.yaml", &["get", "providers,providerclasses", "-A", "-o", "yaml"]),
];

/// Copies the parts' logs, and what the API server says, into a new folder of the cache.
pub fn collect(cluster: &Cluster) -> Result<PathBuf> {
    let seconds = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH)?.as_secs();
    let folder = Cache::locate()?.join(format!("logs/{}-{seconds}", cluster.name()));
    copy(&cluster.logs_dir(), &folder)?;
    if cluster.kind {
        copy(&kind::logs(&cluster.cache, cluster.name())?, &folder.join("kind"))?;
    }
    for (file, question) in QUESTIONS {
        let args = question.iter().copied().chain(["--request-timeout=5s"]);
        let answer = cluster.kubectl(args).unwrap_or_else(|error| format!("{error:#}\n"));
        fs::write(folder.join(file), answer)?;
    }
    Ok(folder)
}

/// The same, after a failure: it says where the folder is.
pub fn kept(cluster: &Cluster) -> String {
    match collect(cluster) {
        Ok(folder) => format!("logs of every component, objects and Events: {}", folder.display()),
        Err(error) => format!("the logs could not be collected: {error:#}"),
    }
}

/// The last lines of each part's log.
pub fn tails(cluster: &Cluster, lines: usize) -> String {
    let mut names: Vec<PathBuf> = fs::read_dir(cluster.logs_dir())
        .into_iter()
        .flatten()
        .flatten()
        .map(|e| e.path())
        .filter(|p| p.is_file())
        .collect();
    names.sort();
    let mut text = String::new();
    for path in names.iter().filter(|p| p.file_name().is_some_and(|n| n != "audit.log")) {
        let name = path.file_stem().unwrap_or_default().to_string_lossy();
        text += &format!("==== {name}\n{}\n", tail(path, lines));
    }
    text
}

/// What the suite that failed last has collected: its folder, objects and Events, and the last lines of the product's own pods.
pub fn last_failure(cache: &Cache, lines: usize) -> Result<String> {
    let folders = fs::read_dir(cache.join("logs")).into_iter().flatten().flatten().map(|e| e.path());
    let collected = folders.filter(|folder| folder.join("objects.txt").is_file());
    let newest = collected.max_by_key(|folder| fs::metadata(folder).and_then(|m| m.modified()).ok());
    let folder = newest.context("no suite has failed, or its logs are gone")?;
    let mut text = format!("all logs: {}\n", folder.display());
    for (file, _) in QUESTIONS.iter().filter(|(file, _)| matches!(*file, "objects.txt" | "events.txt")) {
        text += &format!("==== {file}\n{}\n", tail(&folder.join(file), 10 * lines));
    }
    for pod in fs::read_dir(folder.join("pods")).into_iter().flatten().flatten() {
        let containers = fs::read_dir(pod.path()).into_iter().flatten().flatten().map(|c| c.path());
        for log in containers.flat_map(|c| fs::read_dir(c).into_iter().flatten().flatten()) {
            text += &format!("==== {}\n{}\n", pod.file_name().display(), tail(&log.path(), lines));
        }
    }
    Ok(text)
}

/// Copies files and folders. Links are followed once: the logs of pods are files.
fn copy(from: &Path, to: &Path) -> Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)?.flatten() {
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy(&entry.path(), &target)?;
        } else {
            let _ = fs::copy(entry.path(), target);
        }
    }
    Ok(())
}
