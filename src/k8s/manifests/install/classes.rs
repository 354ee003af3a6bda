//! One ProviderClass per backend of this build.
use super::{Install, Object, Stage};
use crate::k8s::crd::{Backend, Logging, ProviderClass, ProviderClassSpec};
use crate::k8s::manifests::labels;
use std::collections::BTreeMap;

pub(super) fn objects(install: &Install) -> Result<Vec<Object>, serde_json::Error> {
    let each = |backend| {
        let comment = format!("The class of {backend} backends. Where it is there already, it is kept as it is.");
        Object::new(Stage::Classes, comment, class(install, backend))
    };
    Backend::all_compiled().map(each).collect()
}

fn class(install: &Install, backend: Backend) -> ProviderClass {
    let mut class = ProviderClass::new(
        backend.as_str(),
        ProviderClassSpec {
            backend,
            image: install.class_image(),
            logging: install.log_format.map(|format| Logging { format: Some(format), ..Default::default() }),
            workload_namespace: None,
            replicas: None,
            resources: None,
            node_selector: BTreeMap::new(),
            tolerations: Vec::new(),
            affinity: None,
            priority_class_name: None,
            pod_labels: BTreeMap::new(),
            pod_annotations: BTreeMap::new(),
            progress_deadline_seconds: None,
            paused: false,
        },
    );
    class.metadata.labels = Some(labels::installed("provider", &install.version));
    class
}
