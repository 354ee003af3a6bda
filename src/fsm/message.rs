//! The sentence that goes with a reason: it names the object and keeps the API's own words.
use super::{Class, Deletion, Observation, Part, Place, Reason, Rollout, Sight};

/// The longest message that the CRD takes, in characters.
pub const MAX: usize = 2048;

/// What to tell a person about `reason` in the light of what is seen.
pub fn of(reason: Reason, seen: &Observation) -> String {
    let text = match reason {
        Reason::DeletionRequested => leaving(seen),
        Reason::ProviderPaused | Reason::ClassPaused => {
            let held = if seen.nothing_runs() { "nothing runs" } else { "what runs is left as it is" };
            format!("{}; {held}", reason.means().trim_end_matches('.'))
        }
        Reason::ClassNotFound => format!("ProviderClass {} does not exist", seen.made.class.name),
        Reason::ClassInvalid | Reason::BackendNotCompiled | Reason::EndpointInvalid => match &seen.class {
            Class::Invalid(words) | Class::NotCompiled(words) | Class::EndpointInvalid(words) => words.clone(),
            Class::Absent | Class::Usable => String::new(),
        },
        Reason::NamespaceNotFound | Reason::NamespaceTerminating => match &seen.place {
            Place::Missing(name) => format!("namespace {name} does not exist"),
            Place::Terminating(name) => format!("namespace {name} is being deleted"),
            Place::There => String::new(),
        },
        Reason::NameConflict => named(seen, |s| *s == Sight::Foreign)
            .map(|o| format!("{o} exists and is not ours: delete or rename it, and this goes on by itself"))
            .unwrap_or_default(),
        Reason::Refused => {
            let rest = if seen.nothing_runs() { "; nothing runs" } else { "" };
            format!("{}{rest}", seen.halt.as_ref().map_or("", |h| &h.words))
        }
        Reason::Creating => match waited(seen) {
            words if words.is_empty() => reason.means().to_owned(),
            words => words.join("; "),
        },
        Reason::ClassChanged | Reason::SpecChanged | Reason::DriftDetected => diverged(seen),
        Reason::ImagePullFailed
        | Reason::CrashLooping
        | Reason::Unschedulable
        | Reason::PodsRefused
        | Reason::ProgressDeadlineExceeded
        | Reason::WaitingForBackend => match &seen.rollout {
            Rollout::Failed(_, words) | Rollout::Waiting(words) => words.clone(),
            _ => String::new(),
        },
        Reason::FenceOpen | Reason::RollingOut | Reason::ScaledToZero | Reason::WorkloadAvailable => {
            reason.means().to_owned()
        }
    };
    cut(text)
}

fn named(seen: &Observation, test: impl Fn(&Sight) -> bool) -> Option<String> {
    seen.wanted.iter().find(|w| test(&w.sight)).map(|w| w.object.to_string())
}

fn leaving(seen: &Observation) -> String {
    if seen.deletion == Deletion::Orphaning {
        return "waiting for the garbage collector to release the dependents".into();
    }
    let left: Vec<String> = seen.strays.iter().filter(|s| !s.owned).map(|s| s.object.to_string()).collect();
    match (left.is_empty(), seen.old_pods.is_empty()) {
        (true, true) => "nothing is left that garbage collection cannot reach".into(),
        (true, false) => format!("waiting for the end of pod {}", seen.old_pods.join(", ")),
        (false, _) => format!("still there: {}", left.join(", ")),
    }
}

/// What has to end before an object can be made.
fn waited(seen: &Observation) -> Vec<String> {
    if let Some(old) = seen.strays.iter().find(|s| s.object.part == Part::Deployment) {
        return vec![format!("moving: {} goes first", old.object)];
    }
    if !seen.old_pods.is_empty() {
        return vec![format!("moving: nothing runs until pod {} is gone", seen.old_pods.join(", "))];
    }
    let going = |w: &super::Wanted| match w.sight {
        Sight::Earlier => Some(format!("{} of an earlier Provider of this name is going", w.object)),
        Sight::Terminating => Some(format!("{} is being deleted", w.object)),
        _ => None,
    };
    seen.wanted.iter().filter_map(going).collect()
}

fn diverged(seen: &Observation) -> String {
    let mut words = waited(seen);
    if !seen.moving() {
        words.extend(seen.wanted.iter().filter_map(|w| match &w.sight {
            Sight::Absent => Some(format!("{} is missing", w.object)),
            Sight::Drifted(fields) | Sight::Unchangeable { fields, .. } => {
                Some(format!("{} differs in {}", w.object, fields.join(", ")))
            }
            _ => None,
        }));
        words.extend(seen.strays.iter().map(|s| format!("{} is no longer wanted", s.object)));
    }
    words.join("; ")
}

/// At most [`MAX`] characters, whole ones.
fn cut(mut text: String) -> String {
    if let Some((at, _)) = text.char_indices().nth(MAX) {
        text.truncate(at);
    }
    text
}
