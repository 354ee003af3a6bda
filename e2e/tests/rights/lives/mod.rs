//! Lives: what each role does, from its start to its end.
pub(crate) mod controller;
pub(crate) mod operator;
pub(crate) mod pod;
pub(crate) mod scene;

use crate::stage::{Stage, user};
use anyhow::{Result, bail, ensure};
use banlieue_e2e::audit::{Entry, Log};
use banlieue_e2e::rights::Right;
use std::collections::BTreeSet;
use std::time::Duration;

/// Between two looks at the audit log.
const LOOK: Duration = Duration::from_millis(50);

/// Whether a role was refused something. A probe of the fence, which is a dry run, is to be: but by a policy, not for want
/// of a right.
fn refused(entry: &Entry) -> bool {
    entry.forbidden() || (entry.code() == 403 && !entry.uri.contains("dryRun="))
}

/// Lives a life of this account, and returns the rights that it used. The first thing refused to it ends it.
pub(crate) async fn live(
    stage: &Stage,
    account: &str,
    life: impl Future<Output = Result<()>>,
) -> Result<BTreeSet<Right>> {
    let (log, user) = (Log::from_now(stage.cluster.audit_log_path())?, user(account));
    let ours = || Ok::<_, anyhow::Error>(log.entries()?.into_iter().filter(|e| e.user.username == user));
    let refusal = || Ok::<_, anyhow::Error>(ours()?.find(refused));
    let watch = async {
        loop {
            match refusal() {
                Ok(None) => tokio::time::sleep(LOOK).await,
                Ok(Some(entry)) => return anyhow::anyhow!("refused: {}", entry.line()),
                Err(error) => return error,
            }
        }
    };
    tokio::select! {
        lived = life => lived?,
        refusal = watch => return Err(refusal),
    }
    if let Some(entry) = refusal()? {
        bail!("refused: {}", entry.line());
    }
    let used: BTreeSet<_> = ours()?.flat_map(|entry| Right::used(&entry)).collect();
    ensure!(!used.is_empty(), "the log shows no request of {user}");
    Ok(used)
}
