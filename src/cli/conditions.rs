//! `banlieue conditions`: the conditions of a Provider, their reasons, what each means and what to do.
use super::output::{glossary, print};
use crate::k8s::crd::FindingReason;
use clap::ValueEnum;

/// Its flags.
#[derive(clap::Args, Debug)]
pub struct Args {
    /// How to print it
    #[arg(short, long, alias = "format", value_enum, default_value = "table")]
    pub output: Format,
}

/// How to print the conditions.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum Format {
    /// A table for people
    Table,
    /// The page of the docs
    Markdown,
}

/// Prints it. Needs no cluster.
///
/// # Errors
/// When standard output cannot be written.
pub fn run(args: &Args) -> anyhow::Result<()> {
    let text = match args.output {
        Format::Table => table(),
        Format::Markdown => page(),
    };
    print(&text)
}

fn table() -> String {
    let words = FindingReason::ALL.iter().map(|reason| {
        let cells = [reason.aspect().as_str(), reason.status().as_str(), reason.as_str()];
        (cells, reason.means(), reason.remedy())
    });
    glossary(["CONDITION", "STATUS", "REASON"], &words.collect::<Vec<_>>())
}

/// The page of the docs.
fn page() -> String {
    let mut page = String::from(
        "# Conditions and reasons\n\n\
         <!-- Generated: `banlieue conditions -o markdown`. A test fails when it is stale. -->\n\n\
         The pod of a Provider writes `status.conditions`: what the backend said. Each reason belongs to one condition; `Ready` repeats the\n\
         one that keeps it from being True, and what was not looked at because of it is Unknown with `NotChecked`.\n\n\
         | condition | status | reason | what it means | what to do |\n| --- | --- | --- | --- | --- |\n",
    );
    for reason in FindingReason::ALL {
        let (condition, name) = (reason.aspect().as_str(), reason.as_str());
        let remedy = if reason.remedy().is_empty() { "Nothing." } else { reason.remedy() };
        page += &format!("| {condition} | {} | {name} | {} | {remedy} |\n", reason.status().as_str(), reason.means());
    }
    page
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_docs_are_not_stale() {
        let fresh = "stale: run `banlieue conditions -o markdown > docs/conditions.md`";
        assert!(super::page() == include_str!("../../docs/conditions.md"), "{fresh}");
    }
}
