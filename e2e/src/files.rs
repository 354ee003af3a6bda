//! Where things are kept: one cache folder outside the checkout, and in it one folder for each box.

use std::fs::{self, File, OpenOptions};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

/// The cache folder: built tools, images, and the boxes' own folders.
#[derive(Clone, Debug)]
pub struct Cache {
    root: PathBuf,
}

impl Cache {
    /// `$BANLIEUE_CACHE`, else `$XDG_CACHE_HOME/banlieue`, else `~/.cache/banlieue`.
    pub fn locate() -> Result<Self> {
        let var = |name: &str| std::env::var_os(name).filter(|v| !v.is_empty()).map(PathBuf::from);
        let root = var("BANLIEUE_CACHE")
            .or_else(|| Some(var("XDG_CACHE_HOME")?.join("banlieue")))
            .or_else(|| Some(var("HOME")?.join(".cache/banlieue")))
            .context("no cache folder: set BANLIEUE_CACHE or HOME")?;
        fs::create_dir_all(&root).with_context(|| format!("cannot make the cache folder {}", root.display()))?;
        Ok(Self { root: root.canonicalize()? })
    }

    /// The folder itself.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// A path below the cache folder.
    pub fn join(&self, part: impl AsRef<Path>) -> PathBuf {
        self.root.join(part)
    }

    /// The folder of the box called `name`.
    pub fn run_dir(&self, name: &str) -> RunDir {
        RunDir { path: self.root.join("run").join(name) }
    }

    /// The names of all boxes that have a folder, running or not.
    pub fn boxes(&self) -> Vec<String> {
        let Ok(entries) = fs::read_dir(self.root.join("run")) else {
            return Vec::new();
        };
        let mut names: Vec<String> =
            entries.flatten().filter(|e| e.path().is_dir()).filter_map(|e| e.file_name().into_string().ok()).collect();
        names.sort();
        names
    }

    /// Takes the lock that starts and stops of the box `name` share.
    pub fn lock_box(&self, name: &str) -> Result<Lock> {
        Lock::take(&self.root.join("run").join(format!("{name}.lock")))
    }

    /// As [`Cache::lock_box`], or `None` where another process holds it.
    pub fn try_lock_box(&self, name: &str) -> Option<Lock> {
        Lock::try_take(&self.root.join("run").join(format!("{name}.lock")))
    }
}

/// The folder of one box: all that it writes is in here.
#[derive(Clone, Debug)]
pub struct RunDir {
    path: PathBuf,
}

impl RunDir {
    /// A folder given by its path, as the box's own first process is told.
    pub fn at(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into() }
    }

    /// The folder itself.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// A path below it.
    pub fn join(&self, part: impl AsRef<Path>) -> PathBuf {
        self.path.join(part)
    }

    /// A path below it, as an argument for a program.
    pub fn arg(&self, part: &str) -> String {
        self.path.join(part).display().to_string()
    }

    /// The administrator's kubeconfig, for use from the machine.
    pub fn kubeconfig(&self) -> PathBuf {
        self.join("kubeconfig")
    }

    /// The logs of the parts, one file each.
    pub fn logs(&self) -> PathBuf {
        self.join("logs")
    }

    /// The log of one part.
    pub fn log(&self, component: &str) -> PathBuf {
        self.logs().join(format!("{component}.log"))
    }

    /// The socket on which the box's first process takes orders.
    pub fn control_socket(&self) -> PathBuf {
        self.join("init.sock")
    }

    /// containerd's socket.
    pub fn containerd_socket(&self) -> PathBuf {
        self.join("containerd.sock")
    }

    /// Writes a file below the folder, and makes its folder where it is missing.
    pub fn write(&self, part: &str, content: &str) -> Result<PathBuf> {
        let path = self.join(part);
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent)?;
        }
        fs::write(&path, content).with_context(|| format!("cannot write {}", path.display()))?;
        Ok(path)
    }
}

/// A file lock, held as long as this value lives (or the process: the kernel drops it then).
#[derive(Debug)]
pub struct Lock {
    file: File,
    path: PathBuf,
}

impl Lock {
    /// Waits for the lock.
    pub fn take(path: &Path) -> Result<Self> {
        loop {
            let lock = Self::open(path)?;
            lock.file.lock().with_context(|| format!("cannot lock {}", path.display()))?;
            if lock.is_there() {
                return Ok(lock);
            }
        }
    }

    /// Takes the lock, or answers `None` where it is held.
    pub fn try_take(path: &Path) -> Option<Self> {
        let lock = Self::open(path).ok()?;
        lock.file.try_lock().ok()?;
        lock.is_there().then_some(lock)
    }

    /// Gives it up, with its file: whoever waits for it makes a new one.
    pub fn discard(self) {
        let _ = fs::remove_file(&self.path);
    }

    /// Whether the file that is locked is still the one of that name.
    fn is_there(&self) -> bool {
        let (held, named) = (self.file.metadata(), fs::metadata(&self.path));
        matches!((held, named), (Ok(held), Ok(named)) if held.ino() == named.ino())
    }

    fn open(path: &Path) -> Result<Self> {
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent)?;
        }
        let file = OpenOptions::new().create(true).truncate(false).write(true).open(path);
        let file = file.with_context(|| format!("cannot open the lock file {}", path.display()))?;
        Ok(Self { file, path: path.into() })
    }
}

/// A box's name becomes a folder, a cgroup and part of certificates: a DNS label of at most 40 characters.
pub fn check_name(name: &str) -> Result<()> {
    let good = !name.is_empty()
        && name.len() <= 40
        && name.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-')
        && !name.starts_with('-')
        && !name.ends_with('-');
    if !good {
        bail!("{name:?} is no name for a cluster: use at most 40 of a-z, 0-9 and - (not at the ends)");
    }
    Ok(())
}

/// The last `lines` lines of a text file; empty where it cannot be read.
pub fn tail(path: &Path, lines: usize) -> String {
    let text = fs::read(path).map(|b| String::from_utf8_lossy(&b).into_owned()).unwrap_or_default();
    let all: Vec<&str> = text.lines().collect();
    all[all.len().saturating_sub(lines)..].join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_waited_for_a_discarded_lock_holds_one_that_others_see() -> Result<()> {
        let path = std::env::temp_dir().join(format!("banlieue-lock-{}", std::process::id()));
        let first = Lock::take(&path)?;
        assert!(Lock::try_take(&path).is_none());
        let waits = std::thread::spawn({
            let path = path.clone();
            move || Lock::take(&path)
        });
        first.discard();
        let second = waits.join().expect("it does not panic")?;
        assert!(second.is_there() && Lock::try_take(&path).is_none());
        second.discard();
        assert!(!path.exists());
        Ok(())
    }
}
