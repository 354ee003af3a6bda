//! The labels of what we make.
use std::collections::BTreeMap;

/// Which part of the system an object is of.
pub const COMPONENT: &str = "app.kubernetes.io/component";

/// Who made an object.
pub const MANAGED_BY: &str = "app.kubernetes.io/managed-by";

/// Whose an object is.
pub const PART_OF: &str = "app.kubernetes.io/part-of";

/// The value of [`PART_OF`].
pub const BANLIEUE: &str = "banlieue";

/// The selector of what is ours.
pub const OURS: &str = "app.kubernetes.io/part-of=banlieue";

/// The component of what every way of installing has: namespace and kinds.
pub const PLATFORM: &str = "platform";

/// Who made what the installer applies.
pub const INSTALLER: &str = "banlieue-bootstrap";

/// The labels of an installed object.
pub fn installed(component: &str, version: &str) -> BTreeMap<String, String> {
    let mut labels = managed(component, INSTALLER);
    labels.insert("app.kubernetes.io/version".into(), version.into());
    labels
}

/// The labels that everything of ours carries. Not `instance`: Argo CD tracks by it and would prune our objects.
pub fn managed(component: &str, by: &str) -> BTreeMap<String, String> {
    let mut labels = selecting(component);
    labels.insert(PART_OF.into(), BANLIEUE.into());
    labels.insert(MANAGED_BY.into(), by.into());
    labels
}

/// The selector of what is ours and of this component.
pub fn of(component: &str) -> String {
    format!("{OURS},{COMPONENT}={component}")
}

/// The labels that select the pods of a role: never more, since a Deployment's selector cannot be changed.
pub fn selecting(component: &str) -> BTreeMap<String, String> {
    BTreeMap::from([("app.kubernetes.io/name".into(), "banlieue".into()), (COMPONENT.into(), component.into())])
}
