//! The edges that [`step`] actually takes, as mermaid or dot, and the table of phases and reasons.
use super::{
    Cause, Class, Deletion, Failure, Fault, Fence, Halt, ObjectRef, Observation, Part, Paused, Phase, Place, Reason,
    Rollout, Sight, Wanted, WorkloadStatus, step,
};
use chrono::DateTime;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::time::Duration;

/// An observation that reads as `reason`: the smallest one there is.
pub fn showing(reason: Reason) -> Observation {
    let words = || "…".to_owned();
    let object = |part| ObjectRef { part, namespace: None, name: words() };
    let one = |sight| vec![Wanted { object: object(Part::Role), sight }];
    let base = Observation { finalizer: true, rollout: Rollout::Available, ..Default::default() };
    let differs = |cause| Observation { wanted: one(Sight::Absent), cause, ..base.clone() };
    let rolls = |rollout| Observation { rollout, ..base.clone() };
    let fails = |failure| rolls(Rollout::Failed(failure, words()));
    let class = |class| Observation { class, ..base.clone() };
    match reason {
        Reason::DeletionRequested => Observation { deletion: Deletion::Requested, ..base },
        Reason::ProviderPaused => Observation { paused: Paused::ByProvider, ..base },
        Reason::ClassPaused => Observation { paused: Paused::ByClass, ..base },
        Reason::ClassNotFound => class(Class::Absent),
        Reason::ClassInvalid => class(Class::Invalid(words())),
        Reason::BackendNotCompiled => class(Class::NotCompiled(words())),
        Reason::EndpointInvalid => class(Class::EndpointInvalid(words())),
        Reason::NamespaceNotFound => Observation { place: Place::Missing(words()), ..base },
        Reason::NamespaceTerminating => Observation { place: Place::Terminating(words()), ..base },
        Reason::NameConflict => Observation { wanted: one(Sight::Foreign), ..base },
        Reason::FenceOpen => Observation { fence: Fence::Open, ..differs(Cause::Creating) },
        Reason::Refused => {
            let waiting = Some(Duration::from_secs(1));
            Observation { halt: Some(Halt { fault: Fault::Refused, words: words(), waiting }), ..base }
        }
        Reason::Creating => differs(Cause::Creating),
        Reason::ClassChanged => differs(Cause::ClassChanged),
        Reason::SpecChanged => differs(Cause::SpecChanged),
        Reason::DriftDetected => differs(Cause::Drift),
        Reason::ScaledToZero => rolls(Rollout::ScaledToZero),
        Reason::ImagePullFailed => fails(Failure::ImagePull),
        Reason::CrashLooping => fails(Failure::CrashLoop),
        Reason::Unschedulable => fails(Failure::Unschedulable),
        Reason::PodsRefused => fails(Failure::PodsRefused),
        Reason::ProgressDeadlineExceeded => fails(Failure::Deadline),
        Reason::WaitingForBackend => rolls(Rollout::Waiting(words())),
        Reason::RollingOut => rolls(Rollout::Progressing),
        Reason::WorkloadAvailable => base,
    }
}

/// From, to, and the reasons of the edge; from nothing where no phase was recorded yet.
pub type Edges = BTreeMap<(Option<Phase>, Phase), BTreeSet<Reason>>;

/// The changes of phase that `step` takes, from every recorded phase to every reading. A deletion is never taken back, so
/// nothing that lives is recorded as Terminating.
pub fn edges() -> Edges {
    let mut edges = Edges::new();
    for was in Phase::ALL.map(Some).into_iter().chain([None]) {
        let recorded = was.map(|phase| WorkloadStatus { phase, ..Default::default() });
        let going = |reason: &&Reason| was != Some(Phase::Terminating) || reason.phase() == Phase::Terminating;
        for now in Reason::ALL.iter().filter(going) {
            let plan = step(recorded.as_ref(), &showing(*now), DateTime::UNIX_EPOCH);
            if let Some(edge) = plan.transition().filter(|e| e.entry.from != Some(e.entry.to)) {
                edges.entry((edge.entry.from, edge.entry.to)).or_default().insert(edge.entry.reason);
            }
        }
    }
    edges
}

/// A mermaid state diagram of [`edges`]; from Terminating it goes to the end, which no status tells of.
pub fn mermaid() -> String {
    let end = format!("    {} --> [*]\n", Phase::Terminating);
    draw("stateDiagram-v2\n", &end, |from, to, _| format!("    {} --> {to}\n", from.map_or("[*]", Phase::as_str)))
}

/// A Graphviz digraph of [`edges`], with the reasons on the arrows.
pub fn dot() -> String {
    let end = format!("    {} -> end;\n}}\n", Phase::Terminating);
    draw("digraph phases {\n", &end, |from, to, reasons| {
        let reasons: Vec<&str> = reasons.iter().map(|r| r.as_str()).collect();
        format!("    {} -> {to} [label=\"{}\"];\n", from.map_or("start", Phase::as_str), reasons.join("\\n"))
    })
}

fn draw(head: &str, tail: &str, line: impl Fn(Option<Phase>, Phase, &BTreeSet<Reason>) -> String) -> String {
    let lines: String = edges().iter().map(|((from, to), reasons)| line(*from, *to, reasons)).collect();
    format!("{head}{lines}{tail}")
}

/// The table of phases and reasons in markdown: what each means, and what to do.
pub fn table() -> String {
    let mut text = String::from("| phase | reason | what it means | what to do |\n| --- | --- | --- | --- |\n");
    for reason in Reason::ALL {
        let (means, remedy) = (reason.means(), reason.remedy());
        // writing to a String cannot fail
        let _ = writeln!(text, "| {} | {reason} | {means} | {remedy} |", reason.phase());
    }
    text
}

/// The page `docs/phases.md`: the table, and the diagram under it.
pub fn page() -> String {
    format!(
        "# Phases and reasons\n\n\
         <!-- Generated: `banlieue phases -o markdown`. A test fails when it is stale. -->\n\n\
         `status.workload.phase` is recomputed from what is observed, `reason` says why it is so. Events, metrics and\n\
         the audit line use the same words.\n\n{}\n## Edges\n\nThe changes of phase that the operator takes:\n\n\
         ```mermaid\n{}```\n",
        table(),
        mermaid()
    )
}

#[cfg(test)]
mod tests {
    use super::super::Effect;
    use super::*;

    #[test]
    fn every_reason_can_be_read() {
        for reason in Reason::ALL {
            let plan = step(None, &showing(*reason), DateTime::UNIX_EPOCH);
            assert_eq!(plan.signal().reason, *reason);
            assert!(
                !plan.effects().contains(&Effect::HoldFinalizer),
                "{reason}: the finalizer has nothing to do with it"
            );
        }
    }

    #[test]
    fn the_docs_are_not_stale() {
        let fresh = "stale: run `banlieue phases -o markdown > docs/phases.md` and `-o dot > docs/phases.dot`";
        assert!(page() == include_str!("../../docs/phases.md"), "{fresh}");
        assert!(dot() == include_str!("../../docs/phases.dot"), "{fresh}");
    }

    #[test]
    fn nothing_leaves_terminating() {
        assert!(edges().keys().all(|(from, _)| *from != Some(Phase::Terminating)));
    }
}
