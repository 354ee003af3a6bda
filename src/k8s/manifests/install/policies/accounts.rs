//! ServiceAccounts: identities without rights of their own.
use super::super::Install;
use super::policy::Policy;
use super::stamp::{minted, written};

pub(super) fn fence(install: &Install) -> Policy {
    let comment =
        "The operator makes ServiceAccounts for Providers alone, without Secrets and without a cloud identity.";
    let rules = vec![
        (
            // clouds give identities by annotations; what others have set stays
            written(
                "object.metadata.?annotations.orValue({}).all(k, k.startsWith('banlieue.io/') || (request.operation == 'UPDATE' && \
                 oldObject.metadata.?annotations[?k].orValue('') == object.metadata.annotations[k]))",
            ),
            "the operator gives an account no annotations but its own",
        ),
        (
            written(
                "request.operation == 'CREATE' ? !has(object.secrets) && !has(object.imagePullSecrets) : \
                 object.?secrets == oldObject.?secrets && object.?imagePullSecrets == oldObject.?imagePullSecrets",
            ),
            "the operator gives an account no Secrets",
        ),
    ];
    minted(install, ("", "v1", "serviceaccounts"), comment, rules)
}
