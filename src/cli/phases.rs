//! `banlieue phases`: the table of phases and reasons, or the diagram of the edges that are actually taken.
use crate::fsm::{Reason, diagram};
use clap::ValueEnum;
use std::io::Write;

/// Its flags.
#[derive(clap::Args, Debug)]
pub struct Args {
    /// How to print it
    #[arg(long, value_enum, default_value = "table")]
    pub format: Format,
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
pub fn run(args: &Args) -> anyhow::Result<()> {
    let text = match args.format {
        Format::Table => table(),
        Format::Markdown => diagram::page(),
        Format::Mermaid => diagram::mermaid(),
        Format::Dot => diagram::dot(),
    };
    Ok(std::io::stdout().write_all(text.as_bytes())?)
}

fn table() -> String {
    let line = |phase: &str, reason: &str, means: &str| format!("{phase:<14}{reason:<26}{means}\n");
    let mut text = line("PHASE", "REASON", "MEANS / WHAT TO DO");
    for reason in Reason::ALL {
        text += &line(reason.phase().as_str(), reason.as_str(), reason.means());
        text += &line("", "", &format!("→ {}", reason.remedy()));
    }
    text
}
