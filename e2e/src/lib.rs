//! A real Kubernetes cluster on one Linux machine, with no container registry and no Docker.
//!
//! [`Cluster::start`] brings up a *box*: network, mount and pid namespaces of its own in which etcd, the API server, the
//! controller manager, the scheduler, containerd, the kubelet, kube-proxy, a name service and a vCenter simulator run. One
//! SIGKILL of the box's first process ends them all. Several boxes run side by side under names of their own.
//!
//! ```no_run
//! # async fn example() -> anyhow::Result<()> {
//! use banlieue_e2e::{Cluster, Options};
//! let cluster = Cluster::start(Options::ephemeral("my-suite").control_plane_only()).await?;
//! let client = cluster.client().await?;
//! # Ok(()) }
//! ```
//!
//! From the outside in: [`cluster`] is what tests use; [`sandbox`] makes and ends the box, [`init`] runs inside it and
//! [`supervisor`] keeps its parts; [`control_plane`], [`node`] and [`vcsim`] say what the parts are; [`tools`], [`packages`]
//! and [`preflight`] get the machine ready.

pub mod access;
pub mod audit;
pub mod cgroup;
pub mod cluster;
pub mod component;
pub mod control_plane;
pub mod demo;
pub mod files;
pub mod health;
pub mod image;
pub mod init;
pub mod kind;
pub mod launch;
pub mod leftovers;
pub mod libvirt;
pub mod logs;
pub mod network;
pub mod node;
pub mod options;
pub mod packages;
pub mod parts;
pub mod pki;
pub mod preflight;
pub mod product;
pub mod progress;
pub mod proxy;
pub mod rights;
pub mod sandbox;
pub mod settings;
pub mod supervisor;
pub mod table;
pub mod tools;
pub mod vcsim;
pub mod watch;

pub use cluster::Cluster;
pub use options::Options;
pub use settings::Settings;
pub use vcsim::Vcsim;
