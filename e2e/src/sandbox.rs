//! The box seen from the machine: making its namespaces, finding its processes, ending it with one kill.

use std::fs::{self, File};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, Signal, kill_process, pidfd_open};

use crate::files::{RunDir, tail};
use crate::progress::wait_until;

/// How long a killed box may take to end before that is an error.
const END_LIMIT: Duration = Duration::from_secs(20);

/// The processes of a box that the machine needs to know.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Processes {
    /// The box's first process, by its number outside.
    pub init: Option<i32>,
    /// The `unshare` that made the namespaces and waits for it (for a moment at the start there are two).
    pub outer: Vec<i32>,
}

impl Processes {
    /// Looks for the processes whose command line names this box's folder. No pid file can be stale, as there is none.
    pub fn find(run: &RunDir) -> Self {
        let mut found = Self::default();
        for entry in fs::read_dir("/proc").into_iter().flatten().flatten() {
            let Some(pid) = entry.file_name().to_str().and_then(|n| n.parse::<i32>().ok()) else { continue };
            let Ok(line) = fs::read(entry.path().join("cmdline")) else { continue };
            let words: Vec<&[u8]> = line.split(|b| *b == 0).filter(|w| !w.is_empty()).collect();
            let ours = words.len() >= 4
                && words[words.len() - 2] == b"--run-dir"
                && words[words.len() - 1] == run.path().as_os_str().as_encoded_bytes();
            if ours && words[1] == b"init" {
                found.init = Some(pid);
            } else if ours && words.contains(&b"init".as_slice()) {
                found.outer.push(pid);
            }
        }
        found
    }

    /// Whether any of them is there.
    pub fn any(&self) -> bool {
        self.init.is_some() || !self.outer.is_empty()
    }
}

/// Starts the box's first process in namespaces of its own and a session of its own. `child` is the `unshare` around it.
pub fn spawn(run: &RunDir, ephemeral: bool) -> Result<Child> {
    let log = File::create(run.log("init"))?;
    let mut command = Command::new("setsid");
    command.args(["unshare", "--net", "--mount", "--pid", "--fork", "--mount-proc", "--kill-child"]);
    command.arg(own_program()?).arg("init");
    if ephemeral {
        command.arg("--ephemeral");
    }
    command
        .arg("--run-dir")
        .arg(run.path())
        .current_dir("/")
        .stdin(if ephemeral { Stdio::piped() } else { Stdio::null() })
        .stdout(log.try_clone()?)
        .stderr(log)
        .spawn()
        .context("cannot run setsid and unshare (package util-linux)")
}

/// Waits for the box's first process, and returns its number outside.
pub fn wait_for_init(run: &RunDir, child: &mut Child) -> Result<i32> {
    wait_until("the box's first process", Duration::from_secs(20), || {
        check_alive(run, child)?;
        Ok(Processes::find(run).init)
    })
}

/// Waits until the box takes orders.
pub fn wait_for_orders(run: &RunDir, child: &mut Child) -> Result<()> {
    wait_until("the box", Duration::from_secs(30), || {
        check_alive(run, child)?;
        Ok(crate::supervisor::status(run).ok().map(|_| ()))
    })
}

fn check_alive(run: &RunDir, child: &mut Child) -> Result<()> {
    if let Some(status) = child.try_wait()? {
        bail!("the box ended at once ({status}):\n{}", tail(&run.log("init"), 10));
    }
    Ok(())
}

/// Ends the box: one SIGKILL of its first process. Returns once everything in it has ended.
pub fn kill(run: &RunDir) -> Result<()> {
    let start = Instant::now();
    loop {
        let found = Processes::find(run);
        if !found.any() {
            return Ok(());
        }
        // The first process, then what waits for it: `unshare` is alone for a moment at the start.
        for pid in found.init.into_iter().chain(found.outer).filter_map(Pid::from_raw) {
            let Ok(handle) = pidfd_open(pid, PidfdFlags::empty()) else { continue };
            let _ = kill_process(pid, Signal::KILL);
            let limit = Timespec { tv_sec: 1, tv_nsec: 0 };
            poll(&mut [PollFd::new(&handle, PollFlags::IN)], Some(&limit))?;
        }
        if start.elapsed() > END_LIMIT {
            bail!("the box at {} does not end after SIGKILL", run.path().display());
        }
    }
}

/// The program that has the `init` verb: this one, or the one beside a test's program.
fn own_program() -> Result<PathBuf> {
    let named = ["BANLIEUE_E2E_BIN", "CARGO_BIN_EXE_e2e"].into_iter().find_map(std::env::var_os).map(PathBuf::from);
    if let Some(path) = named {
        return Ok(path);
    }
    let this = std::env::current_exe()?;
    if this.file_name().is_some_and(|n| n == "e2e") {
        return Ok(this);
    }
    let beside = this.ancestors().skip(1).take(2).map(|folder| folder.join("e2e")).find(|p| p.is_file());
    beside.context("the e2e program is not built: cargo build -p banlieue-e2e")
}
