//! One right after the other is taken away: something is refused, and the life of the role does not come to its end.
use crate::grants;
use crate::lives::pod::{Alone, Minted};
use crate::lives::scene::Scene;
use crate::lives::{controller, live, operator};
use crate::stage::{Stage, installed, user};
use crate::until::until;
use crate::used::for_a_namespace;
use anyhow::{Result, ensure};
use banlieue::k8s::crd::Backend;
use banlieue::k8s::manifests::names;
use banlieue_e2e::rights::Right;
use k8s_openapi::api::rbac::v1::{ClusterRole, PolicyRule, Role};
use kube::Api;
use kube::api::{Patch, PatchParams};
use serde_json::json;
use std::collections::BTreeSet;
use std::time::Duration;

/// How long the API server may take to act upon a role.
const EFFECT: Duration = Duration::from_secs(10);

/// Whose rights are taken away: an account, the ClusterRole that is bound to it, and the Role of a namespace.
struct Victim {
    account: String,
    cluster_role: String,
    role: (String, String),
    /// Where it may do what its Role says; for one that works in every namespace, none.
    home: Option<String>,
}

impl Victim {
    fn installed(name: &str) -> Self {
        let (account, role) = (installed(name), (names::DEFAULT_NAMESPACE.into(), name.into()));
        Self { account, cluster_role: name.into(), role, home: None }
    }

    fn pod(account: String, namespace: &str) -> Self {
        let name = account.rsplit('/').next().unwrap_or_default().to_owned();
        let (cluster_role, home) = (names::shared(Backend::Vsphere), Some(namespace.into()));
        Self { account, cluster_role, role: (namespace.into(), name), home }
    }

    async fn rules(&self, stage: &Stage) -> Result<[Vec<PolicyRule>; 2]> {
        let everywhere = Api::<ClusterRole>::all(stage.client.clone()).get(&self.cluster_role).await?.rules;
        let here = Api::<Role>::namespaced(stage.client.clone(), &self.role.0).get(&self.role.1).await?.rules;
        Ok([everywhere.unwrap_or_default(), here.unwrap_or_default()])
    }

    async fn set(&self, stage: &Stage, [everywhere, here]: [&[PolicyRule]; 2]) -> Result<()> {
        let params = PatchParams::default();
        let api = Api::<ClusterRole>::all(stage.client.clone());
        api.patch(&self.cluster_role, &params, &Patch::Merge(json!({ "rules": everywhere }))).await?;
        let api = Api::<Role>::namespaced(stage.client.clone(), &self.role.0);
        api.patch(&self.role.1, &params, &Patch::Merge(json!({ "rules": here }))).await?;
        Ok(())
    }

    /// Waits until the API server says so.
    async fn holds(&self, stage: &Stage, right: &Right, wanted: bool) -> Result<()> {
        let (user, here) = (user(&self.account), self.home.as_deref());
        let namespace = here.or(right.name.as_ref().map(|_| self.role.0.as_str()));
        until(&format!("{user} may {right}: {wanted}"), EFFECT, async || {
            let held = right.held(&stage.client, &user, namespace).await?;
            Ok(if held == wanted { Ok(()) } else { Err(format!("{held}")) })
        })
        .await
    }

    /// Lives without one right. Whoever holds it on all objects holds it on one: for that one, both are taken away.
    async fn without(&self, stage: &Stage, right: &Right, life: impl Future<Output = Result<()>>) -> Result<String> {
        let whole = self.rules(stage).await?;
        let left = whole.clone().map(|rules| {
            let left = Right::of(&rules).into_iter().filter(|granted| !granted.covers(right));
            left.map(|granted| granted.rule()).collect::<Vec<_>>()
        });
        ensure!(left != whole, "no rule grants {right}");
        self.set(stage, [&left[0], &left[1]]).await?;
        self.holds(stage, right, false).await?;
        let lived = live(stage, &self.account, life).await;
        self.set(stage, [&whole[0], &whole[1]]).await?;
        self.holds(stage, right, true).await?;
        match lived {
            Ok(_) => Ok(format!("{right}: nothing was missed")),
            Err(error) => Ok(format!("{right}: {error:#}")).map(|line| line.replace('\n', " ")),
        }
    }
}

/// Whether a life ended as it must.
fn missed(line: &str) -> bool {
    line.contains(": refused: ")
}

/// Says what each right was missed for, and fails where one was not.
fn verdict(role: &str, lines: &[String]) -> Result<()> {
    let idle: Vec<_> = lines.iter().filter(|line| !missed(line)).cloned().collect();
    println!("figure: {} rights of {role} taken away, {} missed", lines.len(), lines.len() - idle.len());
    ensure!(!lines.is_empty(), "nothing was taken away");
    ensure!(idle.is_empty(), "{role}:\n{}", idle.join("\n"));
    Ok(())
}

async fn of_the_operator(stage: &Stage, rights: BTreeSet<Right>) -> Result<()> {
    let (victim, mut lines) = (Victim::installed(names::OPERATOR), Vec::new());
    for right in &rights {
        let scene = Scene::new(stage, &format!("ablation-{}", stage.fresh())).await?;
        lines.push(victim.without(stage, right, operator::life(stage, &scene)).await?);
        scene.clear().await?;
    }
    verdict("the operator", &lines)
}

/// A short form of those below: one that the operator uses, one that it hands out, one that no request shows.
pub(crate) async fn a_right_that_is_missing_is_missed(stage: &Stage) -> Result<()> {
    let of = Right::new;
    let few =
        [of("watch", "", "pods"), of("get", "", "configmaps"), of("update", names::GROUP, "providers/finalizers")];
    of_the_operator(stage, few.into()).await
}

pub(crate) async fn each_right_of_the_operator(stage: &Stage) -> Result<()> {
    of_the_operator(stage, grants::operator()?).await
}

pub(crate) async fn each_right_of_the_controller(stage: &Stage) -> Result<()> {
    let (victim, mut lines) = (Victim::installed(names::CONTROLLER), Vec::new());
    for right in &grants::controller()? {
        let scene = Scene::new(stage, &format!("ablation-{}", stage.fresh())).await?;
        lines.push(victim.without(stage, right, controller::life(stage, &scene)).await?);
        scene.clear().await?;
    }
    verdict("the controller", &lines)
}

pub(crate) async fn each_right_of_a_pod(stage: &Stage) -> Result<()> {
    let minted = Minted::new(stage).await?;
    let (victim, mut lines) = (Victim::pod(minted.account(), &minted.scene.name), Vec::new());
    for right in grants::minted(&minted.provider, &minted.class)?.difference(&for_a_namespace()) {
        lines.push(victim.without(stage, right, minted.life(stage)).await?);
    }
    minted.scene.clear().await?;
    verdict("a pod", &lines)
}

pub(crate) async fn each_right_of_a_pod_of_a_namespace(stage: &Stage) -> Result<()> {
    let alone = Alone::new(stage).await?;
    let (victim, mut lines) = (Victim::pod(alone.account(), &alone.scene.name), Vec::new());
    for right in &grants::standalone(&alone.scene.name, Backend::Vsphere)? {
        lines.push(victim.without(stage, right, alone.life(stage)).await?);
    }
    alone.clear(stage).await?;
    verdict("a pod of a namespace", &lines)
}
