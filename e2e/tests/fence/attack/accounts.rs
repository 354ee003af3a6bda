//! On ServiceAccounts.
use super::{Attack, By, change, create_but, hands_off};
use crate::scene::Scene;
use banlieue::fsm::Part::ServiceAccount;
use serde_json::json;

pub(super) fn attacks(scene: &Scene) -> Vec<Attack> {
    let by = |words| By::Fence("serviceaccounts", words);
    let cloud = "eks.amazonaws.com/role-arn";
    let create =
        |what, field: &str, value: serde_json::Value| create_but(scene, ServiceAccount, what, |o| o[field] = value);
    let mut all = vec![
        (
            create_but(scene, ServiceAccount, "a cloud identity", |o| {
                o["metadata"]["annotations"][cloud] = "admin".into()
            }),
            by("no annotations but its own"),
        ),
        (
            change(
                scene,
                ServiceAccount,
                "a cloud identity",
                json!({ "metadata": { "annotations": { cloud: "admin" } } }),
            ),
            by("no annotations but its own"),
        ),
        (create("a Secret", "secrets", json!([{ "name": "root" }])), by("no Secrets")),
        (create("a pull Secret", "imagePullSecrets", json!([{ "name": "root" }])), by("no Secrets")),
        (change(scene, ServiceAccount, "a Secret", json!({ "secrets": [{ "name": "root" }] })), by("no Secrets")),
    ];
    let words = ["named banlieue-provider-*", "named banlieue-provider-*"];
    all.extend(hands_off(
        ServiceAccount,
        "kube-system",
        "default",
        json!({ "metadata": { "labels": { "x": "y" } } }),
        words,
    ));
    all.extend(hands_off(ServiceAccount, "banlieue-system", "banlieue-controller", json!({ "secrets": [] }), words));
    all
}
