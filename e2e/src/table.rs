//! The table of what a machine has and lacks.

use anyhow::{Result, bail};

use crate::progress::Progress;

/// How one row ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// All is well.
    Ok,
    /// It works, in a lesser way.
    Note,
    /// Nothing can start.
    Missing,
}

/// One row of the table.
#[derive(Clone, Debug)]
pub struct Row {
    /// What was looked at.
    pub what: &'static str,
    /// How it ended.
    pub verdict: Verdict,
    /// What was seen, and what to do.
    pub detail: String,
}

/// The table.
#[derive(Clone, Debug, Default)]
pub struct Table {
    /// Its rows.
    pub rows: Vec<Row>,
}

impl Table {
    /// One more row.
    pub fn add(&mut self, what: &'static str, verdict: Verdict, detail: impl Into<String>) {
        self.rows.push(Row { what, verdict, detail: detail.into() });
    }

    /// A row that blocks where it is not good.
    pub fn check(&mut self, what: &'static str, good: bool, seen: impl Into<String>, advice: &str) {
        let seen = seen.into();
        match good {
            true => self.add(what, Verdict::Ok, seen),
            false => self.add(
                what,
                Verdict::Missing,
                if seen.is_empty() { advice.into() } else { format!("{seen}: {advice}") },
            ),
        }
    }

    /// Whether a row keeps everything from starting.
    pub fn blocked(&self) -> bool {
        self.rows.iter().any(|r| r.verdict == Verdict::Missing)
    }

    /// Prints the table where it blocks, and fails.
    pub fn require(&self, progress: Progress) -> Result<()> {
        if self.blocked() {
            progress.say(self);
            let rows: Vec<&str> = self.rows.iter().filter(|r| r.verdict == Verdict::Missing).map(|r| r.what).collect();
            bail!("this machine lacks: {} (see `e2e preflight`)", rows.join(", "));
        }
        Ok(())
    }
}

impl std::fmt::Display for Table {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for row in &self.rows {
            let verdict = match row.verdict {
                Verdict::Ok => "ok",
                Verdict::Note => "note",
                Verdict::Missing => "MISSING",
            };
            writeln!(f, "  {:<12} {verdict:<8} {}", row.what, row.detail)?;
        }
        Ok(())
    }
}
