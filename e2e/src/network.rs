//! The addresses of a box: a bridge inside it, and a veth pair that leads in from the machine. No route leads out.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, bail};

use crate::progress::wait_until;

/// The bridge inside every box, and the address of all that serves pods.
pub const BRIDGE: &str = "banlieue0";
/// The bridge's address.
pub const BRIDGE_ADDRESS: &str = "10.244.0.1";
/// The inner end of the veth pair.
const UPLINK: &str = "uplink";

/// The number of a box: it gives the pair 10.245.N.1 (outside) and 10.245.N.2 (inside).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slot(pub u8);

impl Slot {
    /// The lowest number that neither `taken` nor an interface of this machine has.
    pub fn free(taken: &[u8]) -> Result<Self> {
        (1..=254)
            .map(Slot)
            .find(|s| !taken.contains(&s.0) && !s.link_exists())
            .context("no address left in 10.245.0.0/16: take some clusters down (e2e down --all)")
    }

    /// The address of the box as the machine sees it.
    pub fn inside(self) -> String {
        format!("10.245.{}.2", self.0)
    }

    /// The address of the machine as the box sees it.
    pub fn outside(self) -> String {
        format!("10.245.{}.1", self.0)
    }

    /// The name of the outer end.
    pub fn link(self) -> String {
        format!("bnl-{}", self.0)
    }

    fn link_exists(self) -> bool {
        Path::new("/sys/class/net").join(self.link()).exists()
    }

    /// Outside: makes the pair, with its inner end in the network namespace of `pid`.
    pub fn connect(self, pid: i32) -> Result<()> {
        ip(&["link", "add", &self.link(), "type", "veth", "peer", "name", UPLINK, "netns", &pid.to_string()])?;
        ip(&["address", "add", &format!("{}/30", self.outside()), "dev", &self.link()])?;
        ip(&["link", "set", &self.link(), "up"])
    }

    /// Outside: removes the pair. It goes with the box by itself; this is for a box that never got so far.
    pub fn disconnect(self) {
        if self.link_exists() {
            let _ = ip(&["link", "delete", &self.link()]);
        }
    }

    /// Inside: `lo`, the bridge, forwarding, and the inner end once it is there.
    pub fn set_up_inside(self) -> Result<()> {
        ip(&["link", "set", "lo", "up"])?;
        ip(&["link", "add", BRIDGE, "type", "bridge"])?;
        ip(&["address", "add", &format!("{BRIDGE_ADDRESS}/24"), "dev", BRIDGE])?;
        ip(&["link", "set", BRIDGE, "up"])?;
        std::fs::write("/proc/sys/net/ipv4/ip_forward", "1").context("cannot switch IP forwarding on in the box")?;
        // Each refusal is answered at once: by default the kernel answers one a second, and the next look-up hangs.
        let _ = std::fs::write("/proc/sys/net/ipv4/icmp_ratelimit", "0");
        // The one network that the box has a route to is the pair to the machine: what pods send there comes back as unreachable.
        let refuse = ["rule", "add", "iif", BRIDGE, "to", "10.245.0.0/16", "pref", "10", "unreachable"];
        ip(&refuse).context("this kernel has no policy routing, which keeps pods from reaching the machine")?;
        wait_until("the link from the machine", Duration::from_secs(20), || {
            Ok(Path::new("/proc/sys/net/ipv4/conf").join(UPLINK).exists().then_some(()))
        })?;
        ip(&["address", "add", &format!("{}/30", self.inside()), "dev", UPLINK])?;
        ip(&["link", "set", UPLINK, "up"])
    }
}

fn ip(args: &[&str]) -> Result<()> {
    let out = Command::new("ip").args(args).output().context("cannot run ip (package iproute2)")?;
    if !out.status.success() {
        bail!("ip {}: {}", args.join(" "), String::from_utf8_lossy(&out.stderr).trim());
    }
    Ok(())
}
