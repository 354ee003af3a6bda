//! `banlieue manifests`: the files under `deploy/`. For `make manifests`.
use crate::k8s::manifests::install::Install;
use crate::k8s::manifests::names::DEFAULT_NAMESPACE;
use anyhow::Context;
use std::path::PathBuf;

/// Its arguments.
#[derive(clap::Args, Debug)]
pub struct Args {
    /// The folder to write to
    #[arg(default_value = "deploy")]
    pub folder: PathBuf,
}

/// Writes every file; what else is in the folder stays.
///
/// # Errors
/// When a file cannot be written.
pub fn run(args: &Args) -> anyhow::Result<()> {
    for (path, content) in Install::new(DEFAULT_NAMESPACE, Install::VERSION, Install::REGISTRY)?.tree()? {
        let path = args.folder.join(path);
        let what = || format!("cannot write {}", path.display());
        path.parent().map_or(Ok(()), std::fs::create_dir_all).with_context(what)?;
        std::fs::write(&path, content).with_context(what)?;
    }
    Ok(())
}
