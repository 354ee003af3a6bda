//! `banlieue controller`.

/// Its flags.
#[derive(clap::Args, Debug)]
pub struct Args {}

/// Runs until it is told to stop.
pub async fn run(_args: Args) -> anyhow::Result<()> {
    anyhow::bail!("`banlieue controller` is not there yet")
}
