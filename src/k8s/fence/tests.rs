//! What the answers mean.
#![allow(clippy::unwrap_used)]
use super::probe::{Probe, Verdict, verdict};
use kube::core::Status;
use rstest::rstest;
use std::collections::BTreeSet;

fn answer(code: u16, message: &str) -> Result<(), kube::Error> {
    Err(kube::Error::Api(Box::new(Status { code, message: message.into(), ..Default::default() })))
}

const OURS: &str = "roles.rbac.authorization.k8s.io \"banlieue-probe\" is forbidden: ValidatingAdmissionPolicy 'banlieue-fence-roles' with binding 'banlieue-fence-roles' denied request: fence: no";

#[rstest]
#[case::denied(answer(403, OURS), Some(Verdict::Denied))]
#[case::passed(Ok(()), Some(Verdict::Passed))]
#[case::gone(answer(404, "providers \"p\" not found"), None)]
#[case::busy(answer(429, "too many requests"), None)]
#[case::broken(answer(500, "etcd"), None)]
#[case::another(answer(403, "a webhook says no"), Some(Verdict::Hidden("a webhook says no".into())))]
#[case::of_another_name(
    answer(403, "ValidatingAdmissionPolicy 'banlieue-fence-roles-old' with binding 'x' denied request"),
    Some(Verdict::Hidden("ValidatingAdmissionPolicy 'banlieue-fence-roles-old' with binding 'x' denied request".into()))
)]
fn what_an_answer_means(#[case] answer: Result<(), kube::Error>, #[case] means: Option<Verdict>) {
    assert_eq!(verdict("banlieue-fence-roles", answer), means);
}

#[test]
fn only_a_denial_closes_the_fence() {
    assert_eq!(Verdict::Denied.open(), None);
    for verdict in [Verdict::Unasked, Verdict::Passed, Verdict::Hidden("no".into())] {
        assert!(verdict.open().is_some(), "{verdict:?}");
    }
}

#[test]
fn each_policy_of_the_fence_is_probed() {
    let install = crate::k8s::manifests::install::Install::new("n", "v", "r").unwrap();
    let installed: BTreeSet<_> = install
        .objects()
        .unwrap()
        .into_iter()
        .filter(|o| o.resource.kind == "ValidatingAdmissionPolicy" && o.name.starts_with("banlieue-fence-"))
        .map(|o| o.name)
        .collect();
    let probed: BTreeSet<_> = Probe::ALL.into_iter().map(Probe::policy).collect();
    assert_eq!(installed, probed);
}
