//! Logs: JSON for machines, text for people, always on standard error.
use super::error::Usage;
use std::io::IsTerminal;
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::layer::{Layer, SubscriberExt};
use tracing_subscriber::util::SubscriberInitExt;

/// How a role logs.
#[derive(clap::Args, Clone, Debug)]
#[group(id = "logging")]
pub struct Args {
    /// What is logged: error, warn, info, debug, trace, or a filter such as `info,kube=debug`
    #[arg(long, env = "BANLIEUE_LOG", value_name = "LEVEL", default_value = "info")]
    pub log_level: String,
    /// The form of a line
    #[arg(long, env = "BANLIEUE_LOG_FORMAT", value_name = "FORM", value_enum, default_value_t = Format::Auto)]
    pub log_format: Format,
}

/// The form of a line of the log.
#[derive(clap::ValueEnum, Clone, Copy, Debug, Eq, PartialEq)]
pub enum Format {
    /// JSON in a cluster, text on a terminal
    Auto,
    /// One JSON object a line
    Json,
    /// For people
    Text,
}

impl Args {
    /// Starts the log of this process.
    ///
    /// # Errors
    /// Where the level is none.
    pub fn start(&self) -> Result<(), Usage> {
        start(&self.log_level, "--log-level or BANLIEUE_LOG", self.log_format)
    }
}

/// The log of a command that speaks for itself: only what went wrong.
///
/// # Errors
/// Where `BANLIEUE_LOG` is no level.
pub fn quietly() -> Result<(), Usage> {
    let level = std::env::var("BANLIEUE_LOG").unwrap_or_else(|_| "error".into());
    start(&level, "BANLIEUE_LOG", Format::Text)
}

fn start(level: &str, by: &str, format: Format) -> Result<(), Usage> {
    // kube logs what it also returns, at each try and whole: it is told once, by who asked
    let filter = format!("kube_client=off,kube_runtime=off,{level}").parse::<Targets>();
    // a bare word that is no level would be taken for a module to log everything of
    let sound = level.split(',').all(|part| part.contains('=') || part.trim().parse::<LevelFilter>().is_ok());
    let filter = filter.ok().filter(|_| sound).ok_or_else(|| {
        Usage(format!("the level of the log {level:?}, by {by}, is none: error, warn, info, debug or trace"))
    })?;
    let terminal = std::io::stderr().is_terminal();
    let json = match format {
        Format::Json => true,
        Format::Text => false,
        Format::Auto => !terminal && std::env::var_os("KUBERNETES_SERVICE_HOST").is_some(),
    };
    let log = tracing_subscriber::fmt::layer().with_writer(std::io::stderr).with_ansi(terminal);
    let log = if json { log.json().flatten_event(true).boxed() } else { log.boxed() };
    // a second start, as in tests, keeps the first log
    let _ = tracing_subscriber::registry().with(log.with_filter(filter)).try_init();
    Ok(())
}
