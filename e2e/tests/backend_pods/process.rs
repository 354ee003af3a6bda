//! [`Process`]: the process of a pod, as the machine sees it.
use anyhow::{Context, Result, bail};
use k8s_openapi::api::core::v1::Pod;
use kube::ResourceExt;
use rustix::process::{Pid, Signal, kill_process};
use std::fs;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Ticks of a second in /proc: fixed by the kernel's interface to programs.
const TICKS: f64 = 100.0;

/// The product's process in a pod.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Process(Pid);

impl Process {
    /// That of a pod: it is in a group that is called after the pod's uid.
    pub(crate) fn of(pod: &Pod) -> Result<Self> {
        let uid = pod.uid().context("a pod without a uid")?;
        for entry in fs::read_dir("/proc")?.flatten() {
            let Some(pid) = entry.file_name().to_str().and_then(|n| n.parse().ok()).and_then(Pid::from_raw) else {
                continue;
            };
            let read = |file: &str| fs::read_to_string(entry.path().join(file)).unwrap_or_default();
            if read("cgroup").contains(&uid) && read("cmdline").starts_with("/banlieue\0") {
                return Ok(Process(pid));
            }
        }
        bail!("no process of {} runs", pod.name_any())
    }

    /// Sends it a signal.
    pub(crate) fn signal(self, signal: Signal) -> Result<()> {
        kill_process(self.0, signal).with_context(|| format!("cannot signal {:?}", self.0))
    }

    /// The memory it holds, in bytes, its program's own pages included.
    pub(crate) fn memory(self) -> Result<u64> {
        let status = fs::read_to_string(self.path("status"))?;
        let line = status.lines().find_map(|l| l.strip_prefix("VmRSS:")).context("no VmRSS")?;
        let kib: u64 = line.trim().trim_end_matches("kB").trim().parse()?;
        Ok(kib * 1024)
    }

    /// The processor time it has used.
    pub(crate) fn busy(self) -> Result<Duration> {
        let (user, system) = (self.stat(14)?, self.stat(15)?);
        Ok(Duration::from_secs_f64((user + system) / TICKS))
    }

    /// When it was started, in seconds since 1970, good to a few hundredths.
    pub(crate) fn began(self) -> Result<f64> {
        let uptime = fs::read_to_string("/proc/uptime")?;
        let uptime: f64 = uptime.split(' ').next().unwrap_or_default().parse()?;
        Ok(SystemTime::now().duration_since(UNIX_EPOCH)?.as_secs_f64() - uptime + self.stat(22)? / TICKS)
    }

    /// A field of /proc/PID/stat, counted as in proc(5).
    fn stat(self, field: usize) -> Result<f64> {
        let stat = fs::read_to_string(self.path("stat"))?;
        // The second one is the name in brackets, which may have anything in it.
        let rest = stat.rsplit_once(") ").context("no stat")?.1;
        Ok(rest.split(' ').nth(field - 3).context("a short stat")?.trim().parse()?)
    }

    fn path(self, file: &str) -> String {
        format!("/proc/{}/{file}", self.0.as_raw_nonzero())
    }
}
