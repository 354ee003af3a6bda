//! The model of the API server against the real one: the same writes by chance, and after each the same answer and, object by
//! object, the same state. What the collector does is waited for.
use crate::real::{Real, Told, collector_is_through};
use crate::stage::{Stage, seed};
use crate::story::{KEYS, Kind, Story, Write};
use anyhow::{Context, Result, bail, ensure};
use banlieue_machine::server::Propagation;
use futures::stream::{self, StreamExt, TryStreamExt};
use std::ops::Range;
use std::time::{Duration, Instant};

/// How long a change of the cluster may take before it counts as not coming.
pub(crate) const SOON: Duration = Duration::from_secs(90);
/// Between two looks.
pub(crate) const PAUSE: Duration = Duration::from_millis(25);
/// How many writes a story has.
const WRITES: usize = 14;
/// How many stories are told at once: they wait more than they work.
const AT_ONCE: usize = 16;

/// These stories go on the real API server as the model says.
pub(crate) async fn agrees(stage: &Stage, numbers: Range<u64>) -> Result<()> {
    let first = numbers.start;
    let each = numbers.map(|number| async move {
        let told = tell(stage, number).await;
        told.with_context(|| format!("story {number} of seed {}", seed()))
    });
    let told: Vec<(Story, Real, usize)> = stream::iter(each).buffer_unordered(AT_ONCE).try_collect().await?;
    // what the collector would still have done is done by now
    collector_is_through(&stage.client, Kind::Role, &format!("last-{first}")).await?;
    for (story, real, _) in &told {
        same(story, real).await.context("after the collector has looked at everything")?;
    }
    let refused: usize = told.iter().map(|(_, _, refused)| refused).sum();
    println!("figure: {} stories of {WRITES} writes, {refused} of them refused, as the model says", told.len());
    // chance that refuses everything, or nothing, tells nothing
    ensure!(refused > told.len() && refused < told.len() * WRITES / 2, "{refused} refusals");
    Ok(())
}

async fn tell(stage: &Stage, number: u64) -> Result<(Story, Real, usize)> {
    let seed = seed().wrapping_mul(1_000_003).wrapping_add(number);
    let mut story = Story::new(seed);
    let mut real = Real::new(stage.client.clone(), format!("story-{number}"));
    let (mut log, mut refused) = (Vec::new(), 0);
    for _ in 0..WRITES {
        let (key, write) = story.next();
        if let Write::Delete { propagation: Propagation::Foreground | Propagation::Orphan, .. } = write {
            // what the collector does not know of yet, it does not wait for
            for kind in story.dependents(key) {
                let name = format!("through-{number}-{}", log.len());
                collector_is_through(&stage.client, kind, &name).await?;
            }
        }
        let before = story.server.clone();
        let said = story.tell(key, &write);
        let answered = real.write(key, &write, &story.owners).await;
        log.push(format!("{key:?} {write:?}: {said:?}"));
        match (&said, &answered) {
            (Ok(Some(uid)), Ok(Some(known))) => real.know(*uid, known.clone()),
            (Ok(_), Ok(_)) => {}
            (Err(said), Err(answered)) if said == answered => refused += 1,
            _ => bail!("the model says {said:?}, the API server {answered:?}\nbefore: {before:#?}\n{}", log.join("\n")),
        }
        let written = story.server.clone();
        story.server.collect();
        if story.server != written {
            same(&story, &real).await.with_context(|| log.join("\n"))?;
        }
    }
    same(&story, &real).await.with_context(|| log.join("\n"))?;
    Ok((story, real, refused))
}

/// Waits until every object is stored as the model says.
async fn same(story: &Story, real: &Real) -> Result<()> {
    let began = Instant::now();
    for key in KEYS {
        let said = story.server.get(&key).map(Told::from);
        loop {
            let stored = real.told(key).await?;
            if stored == said {
                break;
            }
            ensure!(began.elapsed() < SOON, "{key:?}: the model says {said:#?}, stored is {stored:#?}");
            tokio::time::sleep(PAUSE).await;
        }
    }
    Ok(())
}
