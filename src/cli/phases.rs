//! `banlieue phases`: the table of phases and reasons, or the diagram of the edges that are actually taken.
use super::output::{glossary, print};
use crate::fsm::{Reason, diagram};
use clap::ValueEnum;

/// Its flags.
#[derive(clap::Args, Debug)]
pub struct Args {
    /// How to print it
    #[arg(short, long, alias = "format", value_enum, default_value = "table")]
    pub output: Format,
}

/// How to print the phases.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum Format {
    /// A table for people
    Table,
    /// The page of the docs: table and diagram
    Markdown,
    /// The diagram for mermaid
    Mermaid,
    /// The diagram for Graphviz
    Dot,
}

/// Prints it. Needs no cluster.
///
/// # Errors
/// When standard output cannot be written.
pub fn run(args: &Args) -> anyhow::Result<()> {
    let text = match args.output {
        Format::Table => table(),
        Format::Markdown => diagram::page(),
        Format::Mermaid => diagram::mermaid(),
        Format::Dot => diagram::dot(),
    };
    print(&text)
}

fn table() -> String {
    let words = Reason::ALL.iter().map(|r| ([r.phase().as_str(), r.as_str()], r.means(), r.remedy()));
    glossary(["PHASE", "REASON"], &words.collect::<Vec<_>>())
}
