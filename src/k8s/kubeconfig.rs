//! Finding and reading a kubeconfig. Its contents are never printed: an error names the file and the line, no more.
use kube::config::{Config, KubeConfigOptions, Kubeconfig, KubeconfigError};
use std::path::{Path, PathBuf};

/// A kubeconfig that cannot be used: what is wrong, and what to do.
#[derive(Debug, thiserror::Error)]
pub enum Unusable {
    /// A file that was named, and is not there.
    #[error("the kubeconfig {path} ({named_by}) is not there; give the path of one by --kubeconfig or KUBECONFIG", path = .path.display())]
    NotThere {
        /// The file.
        path: PathBuf,
        /// What named it.
        named_by: &'static str,
    },
    /// Nothing was named, and there is none at the usual place.
    #[error("there is no kubeconfig: give the path of one by --kubeconfig or KUBECONFIG ({path} is not there either)", path = .path.display())]
    None {
        /// The usual place.
        path: PathBuf,
    },
    /// A file that cannot be read.
    #[error("the kubeconfig {path} cannot be read: {why}", path = .path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The system's words.
        why: std::io::Error,
    },
    /// A file that says nothing useful.
    #[error("the kubeconfig {path} cannot be used: {why}", path = .path.display())]
    Broken {
        /// The file, or the first of several.
        path: PathBuf,
        /// What is wrong with it, without its contents.
        why: String,
    },
}

/// Reads the kubeconfig: `file`, else those of `KUBECONFIG`, else `~/.kube/config`; and picks `context`, else the current one.
///
/// # Errors
/// When none is there or it cannot be used.
pub(super) async fn load(file: Option<&Path>, context: Option<&str>) -> Result<Config, Unusable> {
    let paths = find(file)?;
    let first = paths[0].clone();
    let broken = |why| Unusable::Broken { path: first.clone(), why };
    let mut all = Kubeconfig::default();
    for path in paths {
        let one = read(&path)?;
        all = all.merge(one).map_err(|e| broken(explain(&e)))?;
    }
    let options = KubeConfigOptions { context: context.map(str::to_owned), ..Default::default() };
    Config::from_custom_kubeconfig(all, &options).await.map_err(|e| broken(explain(&e)))
}

/// The files to read: at least one. As kubectl does, those of `KUBECONFIG` that are missing are skipped while one is there.
fn find(file: Option<&Path>) -> Result<Vec<PathBuf>, Unusable> {
    if let Some(path) = file {
        let named_by = "of --kubeconfig";
        return if path.exists() {
            Ok(vec![path.into()])
        } else {
            Err(Unusable::NotThere { path: path.into(), named_by })
        };
    }
    let named: Vec<PathBuf> = std::env::var_os("KUBECONFIG")
        .map(|list| std::env::split_paths(&list).filter(|p| !p.as_os_str().is_empty()).collect())
        .unwrap_or_default();
    if let Some(first) = named.first().cloned() {
        let there: Vec<_> = named.into_iter().filter(|p| p.exists()).collect();
        let missing = Unusable::NotThere { path: first, named_by: "of KUBECONFIG" };
        return if there.is_empty() { Err(missing) } else { Ok(there) };
    }
    let path = std::env::home_dir().unwrap_or_default().join(".kube/config");
    if path.exists() { Ok(vec![path]) } else { Err(Unusable::None { path }) }
}

fn read(path: &Path) -> Result<Kubeconfig, Unusable> {
    Kubeconfig::read_from(path).map_err(|error| match error {
        KubeconfigError::ReadConfig(why, _) => Unusable::Unreadable { path: path.into(), why },
        other => Unusable::Broken { path: path.into(), why: explain(&other) },
    })
}

/// What is wrong, without a word of the file: a parser's own message would show the line, token and all.
fn explain(error: &KubeconfigError) -> String {
    match error {
        KubeconfigError::Parse(error) => match error.location() {
            Some(at) => format!("it is not valid YAML of a kubeconfig (line {}, column {})", at.line(), at.column()),
            None => "it is not valid YAML of a kubeconfig".into(),
        },
        KubeconfigError::CurrentContextNotSet => "it names no current context; choose one by --context".into(),
        KubeconfigError::LoadContext(name) => format!("it has no context {name:?}; choose another by --context"),
        KubeconfigError::LoadClusterOfContext(name) => format!("it has no cluster {name:?}, which its context names"),
        KubeconfigError::MissingClusterUrl => "its cluster has no server".into(),
        KubeconfigError::ParseClusterUrl(_) => "the server of its cluster is not a URL".into(),
        KubeconfigError::LoadCertificateAuthority(_) => "its certificate authority cannot be read".into(),
        KubeconfigError::LoadClientCertificate(_) => "its client certificate cannot be read".into(),
        KubeconfigError::LoadClientKey(_) => "its client key cannot be read".into(),
        KubeconfigError::ParseCertificates(_) => "its certificates are not PEM".into(),
        other => other.to_string(),
    }
}
