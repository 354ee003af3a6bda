//! etcd is put back to an earlier time under a running operator, as after a disaster. A cluster of its own: a controller
//! that goes on watching after that sees nothing, whoever wrote it.
use crate::faults::PATIENT;
use crate::five::SOON;
use crate::lab::{Stage as _, end};
use crate::place::{Place, workload};
use crate::stage::Stage;
use anyhow::{Result, ensure};
use banlieue::fsm::{Part, Phase};
use banlieue_e2e::Cluster;
use std::process::Command;
use std::sync::Arc;

/// In this order they are started; in the other one they are stopped.
const PARTS: [&str; 3] = ["etcd", "kube-apiserver", "kube-controller-manager"];

/// Leader and candidate notice, and end; what starts then takes the cluster as it is.
pub(crate) async fn an_older_etcd(_: &Stage) -> Result<()> {
    let stage = Arc::new(Stage::start(&format!("restore-{}", std::process::id())).await?);
    let tested = restored(&stage).await;
    end(stage, tested.is_err());
    tested
}

async fn restored(stage: &Stage) -> Result<()> {
    let place = Place::new(stage, "restore").await?;
    let old = place.registered("old").await?;
    stage.stop_operator().await?;
    let data = stage.cluster.run_dir().join("etcd");
    let backup = stage.cluster.run_dir().join("etcd-backup");
    meanwhile(&stage.cluster, || copy(&data, &backup)).await?;

    let leader = stage.operator_by(&stage.kubeconfig, "leader", &PATIENT)?;
    leader.leads().await?;
    let candidate = stage.operator_by(&stage.kubeconfig, "candidate", &PATIENT)?;
    candidate.ready().await?;
    place.register("young").await?;
    place.says("young", "its workload is made", |w| w.phase == Phase::Provisioning).await?;
    meanwhile(&stage.cluster, || {
        std::fs::remove_dir_all(&data)?;
        copy(&backup, &data)
    })
    .await?;

    for (who, operator) in [("leader", leader), ("candidate", candidate)] {
        let status = operator.ends(SOON).await?;
        let log = std::fs::read_to_string(stage.cluster.run_dir().log(who))?;
        ensure!(
            status.code() == Some(1) && log.contains("was etcd restored?"),
            "the {who} ended with {status}:\n{log}"
        );
    }
    stage.start_operator().await?;
    ensure!(place.providers.get_opt("young").await?.is_none(), "etcd knows a Provider of its future");
    let new = place.register("young").await?;
    place.says("young", "its workload is made", |w| w.phase == Phase::Provisioning).await?;
    let five = place.five("young");
    crate::until::until("the five are there", SOON, async || {
        let there = five.find(Part::Deployment).await?.is_some();
        Ok(if there { Ok(()) } else { Err("no Deployment".into()) })
    })
    .await?;
    five.stamped(&new).await?;
    let kept = place.providers.get("old").await?;
    ensure!(workload(&kept).map(|w| w.phase) == Some(Phase::Ready) && kept.metadata.uid == old.metadata.uid);
    place.five("old").stamped(&kept).await
}

/// Does something while the control plane is down.
async fn meanwhile(cluster: &Cluster, what: impl FnOnce() -> Result<()>) -> Result<()> {
    for part in PARTS.iter().rev() {
        cluster.stop_component(part)?;
    }
    what()?;
    for part in PARTS {
        cluster.start_component(part)?;
    }
    cluster.wait_ready().await
}

fn copy(from: &std::path::Path, to: &std::path::Path) -> Result<()> {
    let done = Command::new("cp").arg("-a").args([from, to]).status()?;
    ensure!(done.success(), "cannot copy {}", from.display());
    Ok(())
}
