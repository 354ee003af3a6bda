//! The operator is killed with SIGKILL at each of its writes, before it is sent, after the API server has done it, and
//! after the answer; another one goes on. How a story ends, and how often it creates and deletes, is as without a fault.
mod gate;
mod outcome;
mod rig;
mod story;

use crate::stage::Stage;
use anyhow::{Context, Result, ensure};
use gate::{Kill, Moment};
use rig::Rig;
use story::{Layout, Story};

/// One kill of each story in each layout: another write and another moment each time.
pub(crate) async fn a_sample(stage: &Stage) -> Result<()> {
    Rig::with(stage, async |rig| {
        let mut moments = Moment::ALL.into_iter().cycle();
        for (nth, story) in Story::ALL.into_iter().enumerate() {
            for layout in Layout::ALL {
                let free = rig.play(story, layout, None).await?;
                let write = 1 + (2 * nth + layout as usize) % free.writes.len();
                let kill = moments.next().map(|moment| Kill { write, moment });
                rig.play(story, layout, kill)
                    .await?
                    .like(&free)
                    .with_context(|| format!("{story:?} in {layout:?}, {kill:?}"))?;
            }
        }
        Ok(())
    })
    .await
}

/// Every kill of every story in the Provider's own namespace.
pub(crate) async fn whole_in_the_own_namespace(stage: &Stage) -> Result<()> {
    whole(stage, Layout::Own).await
}

/// Every kill of every story with the pods in a `workloadNamespace`.
pub(crate) async fn whole_in_a_workload_namespace(stage: &Stage) -> Result<()> {
    whole(stage, Layout::Away).await
}

async fn whole(stage: &Stage, layout: Layout) -> Result<()> {
    Rig::with(stage, async |rig| {
        let mut unlike = Vec::new();
        for story in Story::ALL {
            let free = rig.play(story, layout, None).await?;
            let mut reached = 0;
            // numbers that pods change for a moment make a story one write longer or shorter
            for write in 1.. {
                let before = reached;
                for moment in Moment::ALL {
                    let kill = Kill { write, moment };
                    let killed = rig.play(story, layout, Some(kill)).await?;
                    reached += usize::from(killed.reached);
                    unlike.extend(killed.like(&free).err().map(|error| format!("{story:?}, {kill:?}: {error:#}")));
                }
                if reached == before {
                    break;
                }
            }
            println!(
                "figure: {story:?} in {layout:?}: {} writes, {reached} kills: {:?}",
                free.writes.len(),
                free.counts
            );
            let least = Moment::ALL.len() * (free.writes.len() - 1);
            ensure!(reached >= least, "{reached} kills in a story of these writes: {:#?}", free.writes);
        }
        ensure!(unlike.is_empty(), "{} stories end otherwise:\n{}", unlike.len(), unlike.join("\n\n"));
        Ok(())
    })
    .await
}
