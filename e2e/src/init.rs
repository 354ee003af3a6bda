//! The first process of a box: it lays the box out, then keeps the parts. When it ends, all in the box ends.

use std::fs::{self, OpenOptions};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt, symlink};
use std::os::unix::net::UnixListener;
use std::path::Path;

use anyhow::{Context, Result};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::OFlags;
use rustix::mount::{MountFlags, mount, mount_bind};

use crate::files::RunDir;
use crate::settings::Settings;
use crate::supervisor::Supervisor;

/// Folders that the box has to itself, empty at its start, so that nothing is left in the machine's.
const OWN_FOLDERS: [(&str, u32); 3] = [("/run", 0o755), ("/var", 0o755), ("/tmp", 0o1777)];

/// Kernel settings that the kubelet wants and would write for the whole machine: the box shows it these instead.
const KERNEL_SETTINGS: [(&str, &str); 6] = [
    ("vm/overcommit_memory", "1"),
    ("vm/panic_on_oom", "0"),
    ("kernel/panic", "10"),
    ("kernel/panic_on_oops", "1"),
    ("kernel/keys/root_maxkeys", "1000000"),
    ("kernel/keys/root_maxbytes", "25000000"),
];

/// Runs the box until it is killed or, for an ephemeral one, until its owner's end of standard input closes.
pub fn run(run_dir: &Path, ephemeral: bool) -> Result<()> {
    let run = RunDir::at(run_dir);
    let settings = Settings::load(&run)?;
    let cache = run_dir.parent().and_then(Path::parent).context("the box's folder is not in a cache folder")?;
    for (folder, mode) in OWN_FOLDERS {
        own_folder(folder, mode, cache).with_context(|| format!("cannot give the box its own {folder}"))?;
    }
    for link in ["/var/run", "/var/lock"] {
        symlink(if link == "/var/run" { "/run" } else { "/run/lock" }, link)?;
    }
    for folder in ["/run/netns", "/run/lock", "/var/lib", "/var/log", "/var/tmp", "/var/cache"] {
        fs::create_dir_all(folder)?;
    }
    for (setting, value) in KERNEL_SETTINGS {
        let place = Path::new("/proc/sys").join(setting);
        if place.exists() {
            let shown = run.write(&format!("kernel/{setting}"), &format!("{value}\n"))?;
            mount_bind(&shown, &place).with_context(|| format!("cannot cover {}", place.display()))?;
        }
    }
    settings.slot().set_up_inside()?;
    println!("the box is laid out");
    keep(&run, ephemeral)
}

fn keep(run: &RunDir, ephemeral: bool) -> Result<()> {
    let listener = UnixListener::bind(run.control_socket()).context("cannot listen for orders")?;
    listener.set_nonblocking(true)?;
    let stdin = std::io::stdin();
    let mut supervisor = Supervisor::new(run.clone());
    loop {
        let (orders, owner) = {
            let mut fds = vec![PollFd::new(&listener, PollFlags::IN)];
            if ephemeral {
                fds.push(PollFd::new(&stdin, PollFlags::IN));
            }
            let tick = Timespec { tv_sec: 0, tv_nsec: 100_000_000 };
            match poll(&mut fds, Some(&tick)) {
                Ok(_) | Err(rustix::io::Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
            (!fds[0].revents().is_empty(), ephemeral && !fds[1].revents().is_empty())
        };
        if owner {
            println!("the owner has ended, and the box with it");
            return Ok(());
        }
        supervisor.tick();
        if orders {
            while let Ok((stream, _)) = listener.accept() {
                stream.set_nonblocking(false)?;
                if let Err(error) = supervisor.serve(&stream) {
                    println!("an order failed: {error:#}");
                }
            }
        }
    }
}

/// Covers `folder` by an empty one in memory; the cache stays where it is, even inside it.
fn own_folder(folder: &str, mode: u32, cache: &Path) -> Result<()> {
    if !Path::new(folder).is_dir() {
        return Ok(());
    }
    let inside = cache.starts_with(folder);
    let flags = (OFlags::PATH | OFlags::DIRECTORY).bits().cast_signed();
    let held = OpenOptions::new().read(true).custom_flags(flags).open(cache)?;
    mount("tmpfs", folder, "tmpfs", MountFlags::empty(), None)?;
    fs::set_permissions(folder, fs::Permissions::from_mode(mode))?;
    if inside {
        fs::create_dir_all(cache)?;
        mount_bind(format!("/proc/self/fd/{}", held.as_raw_fd()), cache)?;
    }
    Ok(())
}
