//! The control groups of one box: `/banlieue-e2e-<name>` in every hierarchy, made before it starts and removed after it ended.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};

const ROOT: &str = "/sys/fs/cgroup";

/// The version of the control groups here: 1, 2, or `None` where none are mounted.
pub fn version() -> Option<u8> {
    if Path::new(ROOT).join("cgroup.controllers").exists() {
        Some(2)
    } else if Path::new(ROOT).join("memory").is_dir() {
        Some(1)
    } else {
        None
    }
}

/// The name of the group of a box, without the leading slash.
pub fn name(of_box: &str) -> String {
    format!("banlieue-e2e-{of_box}")
}

fn hierarchies() -> Vec<PathBuf> {
    if version() == Some(2) {
        return vec![PathBuf::from(ROOT)];
    }
    let entries = fs::read_dir(ROOT).map(|e| e.flatten().map(|e| e.path()).collect::<Vec<_>>()).unwrap_or_default();
    let mut real: Vec<PathBuf> = entries.into_iter().filter(|p| p.is_dir() && !p.is_symlink()).collect();
    real.sort();
    real
}

/// Makes the group in every hierarchy, so that the kubelet finds it.
pub fn create(of_box: &str) -> Result<()> {
    for root in hierarchies() {
        let group = root.join(name(of_box));
        fs::create_dir_all(&group).with_context(|| format!("cannot make the control group {}", group.display()))?;
        for file in ["cpuset.cpus", "cpuset.mems"] {
            if version() == Some(1) && root.join(file).exists() {
                let value = fs::read_to_string(root.join(file))?;
                fs::write(group.join(file), value.trim()).with_context(|| format!("cannot fill {file}"))?;
            }
        }
    }
    if version() == Some(2) {
        delegate(Path::new(ROOT));
        delegate(&Path::new(ROOT).join(name(of_box)));
    }
    Ok(())
}

/// Hands every controller to the children of a version 2 group. One that cannot be handed out is left out: the kubelet names it.
fn delegate(group: &Path) {
    let controllers = fs::read_to_string(group.join("cgroup.controllers")).unwrap_or_default();
    for controller in controllers.split_whitespace() {
        let _ = fs::write(group.join("cgroup.subtree_control"), format!("+{controller}"));
    }
}

/// Removes the groups of a box, the deepest first. They are empty once the box has ended; a moment may pass until the kernel agrees.
pub fn remove(of_box: &str) -> Result<()> {
    let start = Instant::now();
    loop {
        let left: Vec<PathBuf> =
            hierarchies().iter().map(|h| h.join(name(of_box))).filter(|g| g.exists() && !remove_tree(g)).collect();
        if left.is_empty() {
            return Ok(());
        }
        if start.elapsed() > Duration::from_secs(5) {
            anyhow::bail!("control groups that are still in use: {left:?}");
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn remove_tree(group: &Path) -> bool {
    for entry in fs::read_dir(group).into_iter().flatten().flatten() {
        if entry.file_type().is_ok_and(|t| t.is_dir()) {
            remove_tree(&entry.path());
        }
    }
    fs::remove_dir(group).is_ok()
}
