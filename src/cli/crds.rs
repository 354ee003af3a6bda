//! `banlieue crds`: the kinds, as YAML.
use super::output::print;
use crate::k8s::crd;

/// Prints both CustomResourceDefinitions.
///
/// # Errors
/// When standard output cannot be written.
pub fn run() -> anyhow::Result<()> {
    let mut stream = String::new();
    for crd in crd::crds() {
        stream.push_str("---\n");
        stream.push_str(&crd::yaml(&crd)?);
    }
    print(&stream)
}
