//! What the token of a pod is good for, in the API server's own words.
use crate::grants;
use crate::lives::pod::Minted;
use crate::stage::Stage;
use anyhow::{Context, Result, ensure};
use banlieue::k8s::manifests::names;
use banlieue_e2e::rights::Right;
use k8s_openapi::api::authorization::v1::{
    SelfSubjectRulesReview, SelfSubjectRulesReviewSpec, SubjectRulesReviewStatus,
};
use k8s_openapi::api::rbac::v1::{ClusterRole, ClusterRoleBinding, PolicyRule, Subject};
use kube::api::{ListParams, PostParams};
use kube::{Api, Client};
use std::collections::BTreeSet;

/// What Kubernetes itself gives to everybody who has logged in, and to every account; older versions lack the last one.
const EVERYBODYS: [&str; 5] = [
    "system:basic-user",
    "system:discovery",
    "system:public-info-viewer",
    "system:service-account-issuer-discovery",
    "system:cluster-trust-bundle-discovery",
];

/// All that who asks may do in a namespace: rights, and paths with their verbs.
async fn review(client: &Client, namespace: &str) -> Result<(BTreeSet<Right>, BTreeSet<String>)> {
    let api: Api<SelfSubjectRulesReview> = Api::all(client.clone());
    let spec = SelfSubjectRulesReviewSpec { namespace: Some(namespace.into()) };
    let review = SelfSubjectRulesReview { spec, ..Default::default() };
    let answer = api.create(&PostParams::default(), &review).await?.status.context("no answer")?;
    let SubjectRulesReviewStatus { evaluation_error, incomplete, non_resource_rules, resource_rules } = answer;
    ensure!(!incomplete && evaluation_error.is_none(), "it is not all: {evaluation_error:?}");
    let rules = resource_rules.into_iter().map(|rule| PolicyRule {
        api_groups: rule.api_groups,
        resources: rule.resources,
        resource_names: rule.resource_names,
        verbs: rule.verbs,
        ..Default::default()
    });
    let paths = non_resource_rules.into_iter().map(|rule| (rule.non_resource_urls.unwrap_or_default(), rule.verbs));
    Ok((Right::of(&rules.collect::<Vec<_>>()), paths.flat_map(each_path).collect()))
}

fn each_path((urls, verbs): (Vec<String>, Vec<String>)) -> impl Iterator<Item = String> {
    urls.into_iter().flat_map(move |url| verbs.clone().into_iter().map(move |verb| format!("{verb} {url}")))
}

/// The ClusterRoles that are bound to every account.
async fn everybodys(client: &Client) -> Result<BTreeSet<String>> {
    let all = Api::<ClusterRoleBinding>::all(client.clone()).list(&ListParams::default()).await?.items;
    let group = |subject: &Subject| {
        subject.kind == "Group" && ["system:authenticated", "system:serviceaccounts"].contains(&subject.name.as_str())
    };
    let everybodys = all.into_iter().filter(|binding| binding.subjects.iter().flatten().any(group));
    Ok(everybodys.map(|binding| binding.role_ref.name).collect())
}

/// In its own namespace its Role, everywhere the classes, and what everybody may; nothing else, wherever it is asked.
pub(crate) async fn a_pod_may_do_what_its_role_says_and_nothing_else(stage: &Stage) -> Result<()> {
    let minted = Minted::new(stage).await?;
    let (mut rights, mut paths) = (BTreeSet::new(), BTreeSet::new());
    let roles: Api<ClusterRole> = Api::all(stage.client.clone());
    for name in everybodys(&stage.client).await? {
        ensure!(EVERYBODYS.contains(&name.as_str()), "everybody has {name}");
        let rules = roles.get(&name).await?.rules.unwrap_or_default();
        rights.extend(Right::of(&rules));
        let urls = rules.into_iter().map(|rule| (rule.non_resource_urls.unwrap_or_default(), rule.verbs));
        paths.extend(urls.flat_map(each_path));
    }
    let own = grants::minted(&minted.provider, &minted.class)?;
    let classes = own.iter().filter(|right| right.resource == "providerclasses").cloned();
    let pod = stage.cluster.client_as(&minted.account()).await?;
    for (namespace, ours) in [
        (minted.scene.name.as_str(), own.clone()),
        (names::DEFAULT_NAMESPACE, classes.clone().collect()),
        ("default", classes.clone().collect()),
        ("kube-system", classes.collect()),
    ] {
        let (may, urls) = review(&pod, namespace).await?;
        let golden: BTreeSet<_> = rights.union(&ours).cloned().collect();
        let differs: Vec<_> = may.symmetric_difference(&golden).map(ToString::to_string).collect();
        ensure!(differs.is_empty(), "in {namespace}: {differs:#?}");
        ensure!(urls == paths, "in {namespace}: {:?}", urls.symmetric_difference(&paths));
        println!("figure: a pod in {namespace}: {} rights of ours, {} of everybody's", ours.len(), rights.len());
    }
    minted.scene.clear().await
}
