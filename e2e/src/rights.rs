//! Asking the API server what an identity may do.
use anyhow::Result;
use k8s_openapi::api::authorization::v1::{ResourceAttributes, SubjectAccessReview, SubjectAccessReviewSpec};
use kube::api::PostParams;
use kube::{Api, Client};

/// Whether `user` may `verb` a (group, resource); a resource may name its subresource after a slash.
pub async fn allowed(
    client: &Client,
    user: &str,
    what: (&str, &str),
    verb: &str,
    namespace: Option<&str>,
) -> Result<bool> {
    let (resource, subresource) = what.1.split_once('/').map_or((what.1, None), |(r, s)| (r, Some(s.to_string())));
    let attributes = ResourceAttributes {
        group: Some(what.0.into()),
        resource: Some(resource.into()),
        subresource,
        verb: Some(verb.into()),
        namespace: namespace.map(Into::into),
        ..Default::default()
    };
    let mut groups = vec!["system:authenticated".to_string(), "system:serviceaccounts".into()];
    groups.extend(user.split(':').nth(2).map(|namespace| format!("system:serviceaccounts:{namespace}")));
    let spec = SubjectAccessReviewSpec {
        user: Some(user.into()),
        groups: Some(groups),
        resource_attributes: Some(attributes),
        ..Default::default()
    };
    let api: Api<SubjectAccessReview> = Api::all(client.clone());
    let review = SubjectAccessReview { spec, ..Default::default() };
    let answer = api.create(&PostParams::default(), &review).await?;
    Ok(answer.status.is_some_and(|s| s.allowed))
}
