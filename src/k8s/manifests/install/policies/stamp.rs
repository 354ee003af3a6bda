//! What every object that the operator mints has in common: a name of ours, and the stamp of one Provider.
//!
//! The expressions repeat themselves where a policy could have variables: the API server does not check the types of
//! those, nor of a rule that uses one.
use super::super::Install;
use super::policy::{Policy, operator};
use crate::k8s::manifests::names;

/// CEL for the stamp after the write, as annotation.
pub(super) fn stamp() -> String {
    read("object", "annotations", names::PROVIDER_UID)
}

/// CEL for `namespace/name` of the Provider that an object says it is for.
pub(super) fn provider() -> String {
    read("object", "annotations", names::PROVIDER)
}

/// CEL for one label or annotation; an empty text where there is none.
pub(super) fn read(object: &str, map: &str, key: &str) -> String {
    format!("{object}.metadata.?{map}[?'{key}'].orValue('')")
}

/// A rule on what is there after the write: a delete leaves nothing.
pub(super) fn written(expression: &str) -> String {
    format!("request.operation == 'DELETE' || ({expression})")
}

/// A rule that what is there after the write is in the namespace of its Provider.
pub(super) fn at_home() -> String {
    written(&format!("{}.startsWith(object.metadata.namespace + '/')", provider()))
}

/// The fence around one kind: its name, its stamp, and `rules` besides.
pub(super) fn minted(
    install: &Install,
    kind: (&'static str, &'static str, &'static str),
    comment: &'static str,
    rules: Vec<(String, &'static str)>,
) -> Policy {
    // the annotation decides; where it is missing, the label does
    let (annotation, label) =
        (format!("[?'{}']", names::PROVIDER_UID), read("oldObject", "labels", names::PROVIDER_UID));
    let was = format!("oldObject.metadata.?annotations{annotation}.orValue({label})");
    let is = stamp();
    let name = format!(".metadata.name.startsWith('{}-')", names::PREFIX);
    let mut all = vec![
        (
            format!("request.operation == 'DELETE' ? oldObject{name} : object{name}"),
            "the operator writes only what is named banlieue-provider-*",
        ),
        (
            format!("request.operation == 'CREATE' || {was} != ''"),
            "the operator changes and deletes only what carries a Provider's stamp",
        ),
        (
            written(&format!("{is} != '' && {is} == {}", read("object", "labels", names::PROVIDER_UID))),
            "the operator stamps what it writes, as label and as annotation",
        ),
        (format!("request.operation != 'UPDATE' || {is} == {was}"), "the operator does not change an object's stamp"),
        (
            written(&format!("{}.matches('^[a-z0-9-]+/[a-z0-9.-]+$')", provider())),
            "the operator writes on each object which Provider it is for",
        ),
    ];
    all.extend(rules);
    Policy {
        name: names::fence(kind.2),
        comment,
        component: "operator",
        kind,
        operations: &["CREATE", "UPDATE", "DELETE"],
        conditions: vec![("the-operator-asks", operator(install))],
        rules: all.into_iter().map(|(rule, message)| (rule, format!("fence: {message}"))).collect(),
    }
}
