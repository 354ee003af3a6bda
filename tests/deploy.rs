//! What is generated from the code under `deploy/` is not stale.

#[test]
fn the_files_under_deploy() {
    let install =
        banlieue::k8s::manifests::install::Install::new("banlieue-system", env!("CARGO_PKG_VERSION"), "localhost");
    let files = install.expect("the defaults can be used").tree().expect("it can be written");
    let deploy = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("deploy");
    for (path, content) in &files {
        let found = std::fs::read_to_string(deploy.join(path)).unwrap_or_default();
        assert!(found == *content, "deploy/{path} is stale: run `make manifests`");
    }
    for base in ["crds", "controller", "operator"] {
        for entry in std::fs::read_dir(deploy.join(base)).expect("it is there") {
            let path = format!("{base}/{}", entry.expect("it can be read").file_name().display());
            assert!(files.iter().any(|(known, _)| *known == path), "deploy/{path} is not generated: remove it");
        }
    }
}
