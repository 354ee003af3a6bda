//! The product's program: `$BANLIEUE_BIN`, or built from this checkout by cargo.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

use crate::progress::Progress;

/// Static, for an image FROM scratch, and with its relocations packed: they are a twentieth of the program otherwise.
const STATIC: &str = "-C target-feature=+crt-static -C link-arg=-Wl,-z,pack-relative-relocs";

/// The static program that is shipped. It takes minutes to build; of two builds in one target folder, cargo lets one wait.
pub fn release(progress: Progress) -> Result<PathBuf> {
    if let Some(given) = given()? {
        return Ok(given);
    }
    let version = Command::new("rustc").arg("-vV").current_dir(checkout()?).output().context("cannot run rustc")?;
    let version = String::from_utf8_lossy(&version.stdout).into_owned();
    let host = version.lines().find_map(|l| l.strip_prefix("host: ")).context("rustc names no host")?;
    progress.say("building the static release program with cargo (minutes, where something has changed)");
    build(cargo()?.args(["--release", "--target", host]).env("RUSTFLAGS", STATIC))?;
    Ok(target()?.join(host).join("release/banlieue"))
}

/// The program as `cargo build` makes it: quick to build, and it checks its arithmetic.
pub fn debug() -> Result<PathBuf> {
    if let Some(given) = given()? {
        return Ok(given);
    }
    build(&mut cargo()?)?;
    Ok(target()?.join("debug/banlieue"))
}

fn given() -> Result<Option<PathBuf>> {
    let given = std::env::var_os("BANLIEUE_BIN").filter(|v| !v.is_empty()).map(PathBuf::from);
    given.map(|path| path.canonicalize().with_context(|| format!("BANLIEUE_BIN={}", path.display()))).transpose()
}

fn checkout() -> Result<&'static Path> {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().context("no checkout")
}

fn target() -> Result<PathBuf> {
    let checkout = checkout()?;
    Ok(std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| checkout.join("target"), |t| checkout.join(t)))
}

fn cargo() -> Result<Command> {
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| OsString::from("cargo")));
    // What an outer cargo says of this crate would make build scripts run anew, and half of the program with them.
    for (name, _) in std::env::vars_os() {
        let text = name.to_string_lossy();
        if ["CARGO_PKG_", "CARGO_MANIFEST_", "CARGO_BIN_", "CARGO_CRATE_"].iter().any(|p| text.starts_with(p)) {
            cargo.env_remove(&name);
        }
    }
    cargo.args(["build", "--locked", "--package", "banlieue", "--bin", "banlieue"]);
    cargo.current_dir(checkout()?).stdin(Stdio::null());
    Ok(cargo)
}

fn build(cargo: &mut Command) -> Result<()> {
    let status = cargo.status().context("cannot run cargo")?;
    match status.code() {
        Some(0) => Ok(()),
        Some(_) => bail!("the product does not build (see above)"),
        None => bail!("the build was interrupted: {status}"),
    }
}
