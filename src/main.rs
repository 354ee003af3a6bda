//! The `banlieue` binary: parse, run, exit code.
use clap::Parser;

#[tokio::main]
async fn main() -> std::process::ExitCode {
    match banlieue::cli::run(banlieue::cli::Cli::parse()).await {
        Ok(()) => std::process::ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            std::process::ExitCode::FAILURE
        }
    }
}
