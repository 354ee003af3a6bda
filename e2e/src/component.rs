//! One part of a box: a program with its arguments, written to a file from which the box's first process starts it.

use std::collections::BTreeMap;
use std::fs;

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};

use crate::files::RunDir;

/// A program to start inside the box.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Component {
    /// The part's name: `kube-apiserver`, `etcd`, and so on. Its log is called so.
    pub name: String,
    /// The program's path.
    pub program: String,
    /// Its arguments.
    pub args: Vec<String>,
    /// Its environment, beside `PATH` and `HOME`.
    #[serde(default)]
    pub env: BTreeMap<String, String>,
}

impl Component {
    /// A part with its program; arguments come by [`Component::arg`].
    pub fn new(name: impl Into<String>, program: impl Into<String>) -> Self {
        Self { name: name.into(), program: program.into(), args: Vec::new(), env: BTreeMap::new() }
    }

    /// One more argument.
    #[must_use]
    pub fn arg(mut self, arg: impl Into<String>) -> Self {
        self.args.push(arg.into());
        self
    }

    /// More arguments.
    #[must_use]
    pub fn args<S: Into<String>>(mut self, args: impl IntoIterator<Item = S>) -> Self {
        self.args.extend(args.into_iter().map(Into::into));
        self
    }

    /// Writes the file from which the box starts this part, now and after each end.
    pub fn save(&self, run: &RunDir) -> Result<()> {
        run.write(&format!("components/{}.json", self.name), &serde_json::to_string_pretty(self)?)?;
        Ok(())
    }

    /// The part called `name`, as it was saved.
    pub fn load(run: &RunDir, name: &str) -> Result<Self> {
        let path = run.join(format!("components/{name}.json"));
        let text = fs::read_to_string(&path).with_context(|| format!("no part called {name} in this cluster"))?;
        Ok(serde_json::from_str(&text)?)
    }
}
