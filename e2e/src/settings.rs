//! What a box is, for whoever comes later: written before it starts.

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};

use crate::files::{Cache, Lock, RunDir};
use crate::network::Slot;
use crate::options::Options;
use crate::tools::Tools;

/// What a running box is: written before it starts, read by whoever comes later.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Settings {
    /// Its name.
    pub name: String,
    /// Its number, see [`Slot`].
    pub slot: u8,
    /// Whether it has a node.
    pub node: bool,
    /// Whether it has a simulator.
    pub vcsim: bool,
    /// Whether it ends with its owner.
    pub ephemeral: bool,
    /// Its full Kubernetes version.
    pub kubernetes: String,
    /// The path of the kubectl of that version.
    pub kubectl: String,
    /// All that must agree for it to be reused.
    pub fingerprint: String,
}

impl Settings {
    /// The box's number.
    pub fn slot(&self) -> Slot {
        Slot(self.slot)
    }

    /// Reads them from the folder of a box.
    pub fn load(run: &RunDir) -> Result<Self> {
        let path = run.join("box.json");
        let text = std::fs::read_to_string(&path).with_context(|| format!("no cluster at {}", run.path().display()))?;
        serde_json::from_str(&text).with_context(|| format!("{} is damaged", path.display()))
    }

    /// Those of a cluster of kind, as far as it has any.
    pub fn of_kind(options: &Options) -> Result<Self> {
        Ok(Self {
            name: options.name.clone(),
            slot: 0,
            node: true,
            vcsim: false,
            ephemeral: false,
            kubernetes: options.kubernetes_version()?.into(),
            kubectl: "kubectl".into(),
            fingerprint: String::new(),
        })
    }

    fn save(&self, run: &RunDir) -> Result<()> {
        run.write("box.json", &serde_json::to_string_pretty(self)?)?;
        Ok(())
    }
}

/// What two starts must agree on, so that the second reuses the first's box.
pub fn fingerprint(options: &Options, tools: &Tools) -> String {
    format!(
        "{} node={} vcsim={} ephemeral={} audit={:?} args={:?} {}",
        options.kubernetes,
        options.node,
        tools.vcsim.is_some(),
        options.ephemeral,
        options.audit_policy,
        options.api_server_args,
        tools.key()
    )
}

/// Takes a number for the box and writes its settings, under a lock that all boxes share.
pub fn allocate(cache: &Cache, run: &RunDir, options: &Options, tools: &Tools) -> Result<Settings> {
    std::fs::create_dir_all(run.logs())?;
    let _lock = Lock::take(&cache.join("run/slots.lock"))?;
    let taken: Vec<u8> =
        cache.boxes().iter().filter_map(|name| Some(Settings::load(&cache.run_dir(name)).ok()?.slot)).collect();
    let settings = Settings {
        name: options.name.clone(),
        slot: Slot::free(&taken)?.0,
        node: options.node,
        vcsim: tools.vcsim.is_some(),
        ephemeral: options.ephemeral,
        kubernetes: options.kubernetes_version()?.into(),
        kubectl: tools.program("kubectl"),
        fingerprint: fingerprint(options, tools),
    };
    settings.save(run)?;
    Ok(settings)
}
