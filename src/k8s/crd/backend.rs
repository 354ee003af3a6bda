//! The closed list of backends.
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A kind of virtualization backend.
#[derive(Clone, Copy, Debug, Deserialize, Eq, Hash, JsonSchema, Ord, PartialEq, PartialOrd, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Backend {
    /// VMware vCenter, over SOAP.
    Vsphere,
    /// A libvirt host, over its remote protocol.
    Libvirt,
    /// A Proxmox VE cluster, over its REST API.
    Proxmox,
}

impl Backend {
    /// Every backend there is, compiled in or not.
    pub const ALL: [Backend; 3] = [Backend::Vsphere, Backend::Libvirt, Backend::Proxmox];

    /// The word of the API, of object names and of the command line.
    pub const fn as_str(self) -> &'static str {
        match self {
            Backend::Vsphere => "vsphere",
            Backend::Libvirt => "libvirt",
            Backend::Proxmox => "proxmox",
        }
    }

    /// Whether this binary was built with it.
    pub const fn compiled(self) -> bool {
        match self {
            Backend::Vsphere => cfg!(feature = "vsphere"),
            Backend::Libvirt => cfg!(feature = "libvirt"),
            Backend::Proxmox => cfg!(feature = "proxmox"),
        }
    }

    /// The backends this binary was built with.
    pub fn all_compiled() -> impl Iterator<Item = Backend> {
        Self::ALL.into_iter().filter(|b| b.compiled())
    }

    /// The URL schemes of its endpoints, lower case. Where a password or a token is sent, none is in the clear.
    pub const fn schemes(self) -> &'static [&'static str] {
        match self {
            Backend::Vsphere | Backend::Proxmox => &["https"],
            Backend::Libvirt => &["qemu+tls", "qemu+tcp", "test+tls", "test+tcp"],
        }
    }
}

impl std::fmt::Display for Backend {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}
