//! What each phase owes, as a function of what is seen: entry actions of the chart.
use super::plan::{Doomed, Effect, Mode};
use super::{Deletion, Observation, Part, Sight, Stray};

/// The finalizer comes before anything that garbage collection cannot reach (I1).
pub(super) fn hold_finalizer(seen: &Observation, effects: &mut Vec<Effect>) {
    if !seen.finalizer && !seen.waiting() {
        effects.push(Effect::HoldFinalizer);
    }
}

/// Make the five objects true. After a halt nothing is sent until the back-off is over.
pub(super) fn provision(seen: &Observation, effects: &mut Vec<Effect>) {
    if seen.waiting() {
        return;
    }
    if seen.moving() {
        // one writer at a time: the old pods end before anything new is made
        effects.extend(seen.strays.iter().filter(|s| s.object.part == Part::Deployment).filter_map(delete));
        return;
    }
    // a grant to an account of that name that is not ours would be a gift to whoever made it, and the pod template carries
    // the account's uid: bindings and Deployment wait until the account has been seen as ours (ADR-0016)
    let account = seen
        .wanted
        .iter()
        .any(|w| w.object.part == Part::ServiceAccount && matches!(w.sight, Sight::Matching | Sight::Drifted(_)));
    for wanted in &seen.wanted {
        let part = wanted.object.part;
        if part.names_account() && !account {
            continue;
        }
        match &wanted.sight {
            Sight::Absent => effects.push(Effect::Apply(part, Mode::Create)),
            Sight::Drifted(_) => effects.push(Effect::Apply(part, Mode::Change)),
            Sight::Unchangeable { uid, .. } => {
                effects.push(Effect::Delete(Doomed { object: wanted.object.clone(), uid: uid.clone() }));
            }
            Sight::Matching | Sight::Foreign | Sight::Earlier | Sight::Terminating => {}
        }
    }
    effects.extend(seen.strays.iter().filter_map(delete));
}

/// Remove what garbage collection cannot reach, grants first, then release the finalizer (I2). Creates nothing (I4).
pub(super) fn terminate(seen: &Observation, effects: &mut Vec<Effect>) {
    if seen.waiting() || seen.deletion == Deletion::Orphaning {
        return;
    }
    // the grant dies first; an account outlives its pods, so that they can say good-bye
    const ORDER: [&[Part]; 4] =
        [&[Part::ClusterRoleBinding], &[Part::Deployment], &[Part::ServiceAccount], &[Part::RoleBinding, Part::Role]];
    for parts in ORDER {
        if parts == [Part::ServiceAccount] && !seen.old_pods.is_empty() {
            return;
        }
        let mut left = seen.strays.iter().filter(|s| !s.owned && parts.contains(&s.object.part)).peekable();
        if left.peek().is_some() {
            effects.extend(left.filter_map(delete));
            return;
        }
    }
    if seen.finalizer {
        effects.push(Effect::ReleaseFinalizer);
    }
}

fn delete(stray: &Stray) -> Option<Effect> {
    (!stray.terminating).then(|| Effect::Delete(Doomed { object: stray.object.clone(), uid: stray.uid.clone() }))
}
