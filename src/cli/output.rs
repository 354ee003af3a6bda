//! What a verb prints. Whoever has ceased to listen changes neither what is done nor how it ends.
use anyhow::Context;
use serde::Serialize;
use std::fmt::Display;
use std::io::{self, ErrorKind, Write};
use std::sync::OnceLock;

/// How to print what was found.
#[derive(clap::ValueEnum, Clone, Copy, Debug)]
pub enum Output {
    /// For people
    Table,
    /// One JSON document
    Json,
    /// One YAML document
    Yaml,
}

impl Output {
    /// Prints it so; `table` is how people read it.
    pub(super) fn print<T: Serialize>(self, found: &[T], table: impl FnOnce(&[T]) -> String) -> anyhow::Result<()> {
        print(&match self {
            Output::Table => table(found),
            Output::Json => format!("{}\n", serde_json::to_string_pretty(found)?),
            Output::Yaml => serde_saphyr::to_string(&found)?,
        })
    }
}

/// Prints a stream. Whoever reads only its head ends it early, and that is no failure.
pub(super) fn print(text: &str) -> anyhow::Result<()> {
    let mut out = io::stdout().lock();
    taken(out.write_all(text.as_bytes()).and_then(|()| out.flush()))
}

/// The first line of progress that could not be written.
static LOST: OnceLock<io::Error> = OnceLock::new();

/// A line of progress. Whoever closed standard output does not want it, and still wants the installation; nor does a disk
/// that is full end it.
pub(super) fn say(line: &str) {
    if let Err(error) = writeln!(io::stdout(), "{line}") {
        let _ = LOST.set(error);
    }
}

/// Fails where a line of progress was lost, once all is done.
pub(super) fn said() -> anyhow::Result<()> {
    LOST.get().map_or(Ok(()), |error| taken(Err(error.kind().into())))
}

/// Whether standard output took what was written. Nobody is missed who has left.
pub(super) fn taken(written: io::Result<()>) -> anyhow::Result<()> {
    match written {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => Err(error).context("cannot write standard output"),
        _ => Ok(()),
    }
}

/// A fault, as a line on standard error. Nobody is left to tell where even that cannot be written.
pub(super) fn complain(fault: impl Display) {
    let _ = writeln!(io::stderr(), "error: {fault}");
}

/// A line on standard error that somebody should know, where nothing failed.
pub(super) fn warn(said: impl Display) {
    let _ = writeln!(io::stderr(), "warning: {said}");
}

/// A table of words that people look up: what each means, and below it what to do, where there is anything to do.
pub(super) fn glossary<const N: usize>(names: [&str; N], words: &[([&str; N], &str, &str)]) -> String {
    let width =
        |column: usize| words.iter().map(|(cells, ..)| cells[column].len()).fold(names[column].len(), usize::max);
    let line = |cells: [&str; N], told: &str| {
        let cells = cells.iter().enumerate().map(|(at, cell)| format!("{cell:<0$}  ", width(at)));
        format!("{}{told}\n", cells.collect::<String>())
    };
    let mut text = line(names, "MEANS / WHAT TO DO");
    for (cells, means, remedy) in words {
        text += &line(*cells, means);
        if !remedy.is_empty() {
            text += &line([""; N], &format!("→ {remedy}"));
        }
    }
    text
}
