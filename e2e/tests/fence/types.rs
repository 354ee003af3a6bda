//! The API server's own check of the policies' types: silent as they are, and not silent about a typo.
use crate::scene::SOON;
use crate::stage::Stage;
use anyhow::{Context, Result, ensure};
use banlieue::k8s::manifests::install::Install;
use banlieue::k8s::manifests::names;
use k8s_openapi::api::admissionregistration::v1::{
    ExpressionWarning, ValidatingAdmissionPolicy, ValidatingAdmissionPolicySpec, Validation,
};
use kube::api::{Api, DeleteParams, ListParams, PostParams};
use kube::{Client, ResourceExt};
use std::collections::{BTreeMap, BTreeSet};

/// The policies as the installer builds them, with a list of images, so that every rule is there.
fn policies() -> Result<Vec<ValidatingAdmissionPolicy>> {
    let install = Install::new(names::DEFAULT_NAMESPACE, "1", "localhost")?.allow_images(vec!["localhost".into()])?;
    let objects = install.objects()?.into_iter().filter(|o| o.resource.kind == "ValidatingAdmissionPolicy");
    objects.map(|o| Ok(serde_json::from_value(o.body)?)).collect()
}

/// Waits until the API server has checked all policies with this label, and returns what it warns of.
async fn warnings(client: &Client, label: &str) -> Result<BTreeMap<String, Vec<ExpressionWarning>>> {
    let api: Api<ValidatingAdmissionPolicy> = Api::all(client.clone());
    crate::until::until("every policy is checked", SOON, async || {
        let all = api.list(&ListParams::default().labels(label)).await?.items;
        let checked = |p: &&ValidatingAdmissionPolicy| {
            let status = p.status.as_ref().filter(|s| s.observed_generation == p.metadata.generation);
            status.is_none_or(|s| s.type_checking.is_none())
        };
        if let Some(waits) = all.iter().find(checked) {
            return Ok(Err(format!("{} is not checked", waits.name_any())));
        }
        let warnings = |p: &ValidatingAdmissionPolicy| {
            let found = p.status.as_ref().and_then(|s| s.type_checking.as_ref());
            found.and_then(|t| t.expression_warnings.clone()).unwrap_or_default()
        };
        Ok(Ok(all.iter().map(|p| (p.name_any(), warnings(p))).collect()))
    })
    .await
}

/// As installed, and with every rule that there can be.
pub(crate) async fn no_policy_has_a_warning(stage: &Stage) -> Result<()> {
    let api: Api<ValidatingAdmissionPolicy> = Api::all(stage.client.clone());
    let mut created = 0;
    for policy in policies()? {
        let name = format!("whole-{}", policy.name_any());
        create(&api, &name, "whole", policy.spec.unwrap_or_default()).await?;
        created += 1;
    }
    let whole = warnings(&stage.client, "test=whole").await?;
    let installed = warnings(&stage.client, "app.kubernetes.io/part-of=banlieue").await?;
    ensure!(
        whole.len() == created && installed.len() == created,
        "{} and {} of {created}",
        whole.len(),
        installed.len()
    );
    for (name, warnings) in whole.iter().chain(&installed) {
        ensure!(warnings.is_empty(), "{name}: {warnings:#?}");
    }
    clear(&api, "test=whole").await
}

/// Each field that a rule reads of an object is misspelt in turn.
pub(crate) async fn a_typo_is_caught(stage: &Stage) -> Result<()> {
    let api: Api<ValidatingAdmissionPolicy> = Api::all(stage.client.clone());
    let mut planted = BTreeMap::new();
    for policy in policies()? {
        let spec = policy.spec.clone().unwrap_or_default();
        for rule in spec.validations.iter().flatten() {
            let typos = typos(&rule.expression);
            let name = format!("typo-{}", planted.len());
            let wrong = typos.iter().map(|expression| Validation { expression: expression.clone(), ..rule.clone() });
            let spec = ValidatingAdmissionPolicySpec { validations: Some(wrong.collect()), ..spec.clone() };
            if !typos.is_empty() {
                create(&api, &name, "typo", spec).await.with_context(|| format!("{typos:#?}"))?;
                planted.insert(name, typos);
            }
        }
    }
    let found = warnings(&stage.client, "test=typo").await?;
    let mut missed = Vec::new();
    for (name, typos) in &planted {
        let told: BTreeSet<_> = found[name].iter().map(|w| w.field_ref.as_str()).collect();
        let silent = |at: &usize| !told.contains(format!("spec.validations[{at}].expression").as_str());
        missed.extend((0..typos.len()).filter(silent).map(|at| &typos[at]));
    }
    println!("figure: {} typos, {} missed", planted.values().map(Vec::len).sum::<usize>(), missed.len());
    clear(&api, "test=typo").await?;
    ensure!(missed.is_empty(), "not caught: {missed:#?}");
    Ok(())
}

/// The rule with one field misspelt, for each of its fields: identifiers after a dot, outside of strings, that are no calls.
/// Those of the request itself are left out: with one of them misspelt no policy is even taken.
fn typos(rule: &str) -> Vec<String> {
    let mut ends = BTreeMap::new();
    let (bytes, mut quoted, mut at) = (rule.as_bytes(), false, 0);
    while at < bytes.len() {
        match bytes[at] {
            b'\'' => quoted = !quoted,
            b'.' if !quoted => {
                let start = at + 1 + usize::from(bytes.get(at + 1) == Some(&b'?'));
                let length = bytes[start..].iter().take_while(|b| b.is_ascii_alphanumeric()).count();
                let (end, asks) = (start + length, rule[..at].ends_with("request"));
                if length > 0 && bytes.get(end) != Some(&b'(') && !asks {
                    ends.entry(&rule[start..end]).or_insert(end);
                }
                at = end - 1;
            }
            _ => {}
        }
        at += 1;
    }
    ends.into_values().map(|end| format!("{}x{}", &rule[..end], &rule[end..])).collect()
}

async fn create(
    api: &Api<ValidatingAdmissionPolicy>,
    name: &str,
    label: &str,
    spec: ValidatingAdmissionPolicySpec,
) -> kube::Result<()> {
    let mut policy = ValidatingAdmissionPolicy { spec: Some(spec), ..Default::default() };
    policy.metadata.name = Some(name.into());
    policy.labels_mut().insert("test".into(), label.into());
    api.create(&PostParams::default(), &policy).await.map(drop)
}

async fn clear(api: &Api<ValidatingAdmissionPolicy>, label: &str) -> Result<()> {
    api.delete_collection(&DeleteParams::default(), &ListParams::default().labels(label)).await?;
    Ok(())
}
