//! The client against hostile answers; the live suites have the real simulator.
mod hostile;
mod inventory;

use crate::backends::{Credentials, Keeper, Meter, Target};
use crate::k8s::crd::Backend;

/// Marks a password; nothing that is shown may ever contain it.
const PASSWORD: &str = "hunter2-<&\"'>";

fn target(endpoint: &str) -> Target {
    let _ = rustls::crypto::ring::default_provider().install_default();
    Target {
        endpoint: endpoint.into(),
        insecure_skip_tls_verify: false,
        ca_bundle: None,
        credentials: credentials(PASSWORD),
    }
}

fn credentials(password: &str) -> Credentials {
    Credentials::new([
        ("username".to_owned(), b"administrator@vsphere.local".to_vec()),
        ("password".to_owned(), password.as_bytes().to_vec()),
    ])
}

fn keeper() -> Keeper {
    Keeper::new(Backend::Vsphere, Meter::default())
}
