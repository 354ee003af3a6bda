//! Images without a registry: one static program FROM scratch, built by buildah and imported into containerd.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context, Result, bail};
use sha2::{Digest, Sha256};

use crate::files::{Cache, Lock, RunDir};
use crate::node::PAUSE_IMAGE;
use crate::progress::{Progress, wait_until};
use crate::tools::Tools;

/// The product's image, without its tag.
pub const REPOSITORY: &str = "localhost/banlieue";

/// The product's version, which is its image's tag.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

/// The archive of the pause image.
pub fn pause(cache: &Cache, tools: &Tools) -> Result<PathBuf> {
    archive(cache, &tools.pause, "pause", PAUSE_IMAGE)
}

/// Makes the image of `program`, and imports it under its version and every further tag. Returns the image's name.
pub fn load(cache: &Cache, run: &RunDir, program: &Path, tags: &[String], progress: Progress) -> Result<String> {
    let start = Instant::now();
    let hash = file_hash(program)?;
    let marks = run.join("images");
    fs::create_dir_all(&marks)?;
    for tag in [VERSION].into_iter().chain(tags.iter().map(String::as_str)) {
        let image = format!("{REPOSITORY}:{tag}");
        let mark = marks.join(tag);
        if fs::read_to_string(&mark).is_ok_and(|known| known == hash) {
            progress.step(&image, "unchanged", start);
            continue;
        }
        import(run, &archive(cache, program, "banlieue", &image)?)?;
        fs::write(&mark, &hash)?;
        progress.step(&image, "loaded", start);
    }
    Ok(format!("{REPOSITORY}:{VERSION}"))
}

/// The archives of the product's image, one for its version and one for every further tag.
pub fn archives(cache: &Cache, program: &Path, tags: &[String]) -> Result<Vec<PathBuf>> {
    let all = [VERSION].into_iter().chain(tags.iter().map(String::as_str));
    all.map(|tag| archive(cache, program, "banlieue", &format!("{REPOSITORY}:{tag}"))).collect()
}

/// Imports an OCI archive into the box's containerd, as soon as that answers.
pub fn import(run: &RunDir, archive: &Path) -> Result<()> {
    let socket = run.containerd_socket();
    let ctr = |args: &[&str]| -> Result<std::process::Output> {
        let mut command = Command::new("ctr");
        command.arg("-a").arg(&socket).args(["-n", "k8s.io"]).args(args);
        command.output().context("cannot run ctr (package containerd)")
    };
    wait_until("containerd", std::time::Duration::from_secs(30), || {
        crate::supervisor::check_parts(run)?;
        Ok((socket.exists() && ctr(&["--connect-timeout=1s", "version"])?.status.success()).then_some(()))
    })?;
    let out = ctr(&["images", "import", &archive.display().to_string()])?;
    if !out.status.success() {
        bail!("cannot import {}: {}", archive.display(), String::from_utf8_lossy(&out.stderr).trim());
    }
    Ok(())
}

/// An OCI archive with `program` as the one file and the entry point, run by uid 65532. Made once for each program and name.
pub fn archive(cache: &Cache, program: &Path, file: &str, image: &str) -> Result<PathBuf> {
    let folder = cache.join("images");
    let key = file_hash(program)?;
    let done = folder.join(format!("{}-{}.tar", image.replace(['/', ':'], "_"), &key[..16]));
    if done.is_file() {
        return Ok(done);
    }
    let _lock = Lock::take(&folder.join("lock"))?;
    if done.is_file() {
        return Ok(done);
    }
    let context = folder.join("context");
    let _ = fs::remove_dir_all(&context);
    fs::create_dir_all(context.join("tmp"))?;
    fs::copy(program, context.join(file)).with_context(|| format!("cannot copy {}", program.display()))?;
    let text = format!("FROM scratch\nCOPY --chmod=0755 {file} /{file}\nUSER 65532:65532\nENTRYPOINT [\"/{file}\"]\n");
    fs::write(context.join("Containerfile"), text)?;
    let part = done.with_extension("part");
    let target = format!("oci-archive:{}:{image}", part.display());
    buildah(&folder, &["bud", "--isolation", "chroot", "-f", "Containerfile", "-t", image, "."])?;
    buildah(&folder, &["push", image, &target])?;
    buildah(&folder, &["rmi", "--all", "--force"])?;
    fs::rename(&part, &done)?;
    let _ = fs::remove_dir_all(&context);
    Ok(done)
}

/// buildah keeps a record of blobs where no option moves it.
const BLOB_RECORD: [&str; 3] =
    ["/var/lib/containers/cache/blob-info-cache-v1.boltdb", "/var/lib/containers/cache", "/var/lib/containers"];

/// Removes that record where it was not there before, its folders only where they are empty.
fn forget_blobs() {
    let _ = fs::remove_file(BLOB_RECORD[0]);
    let _ = fs::remove_dir(BLOB_RECORD[1]);
    let _ = fs::remove_dir(BLOB_RECORD[2]);
}

/// Runs buildah with its storage in the cache, away from the system's.
fn buildah(folder: &Path, args: &[&str]) -> Result<()> {
    let had_record = Path::new(BLOB_RECORD[2]).exists();
    let out = Command::new("buildah")
        .args(["--storage-driver", "vfs", "--root"])
        .arg(folder.join("storage"))
        .arg("--runroot")
        .arg(folder.join("storage-run"))
        .args(args)
        .current_dir(folder.join("context"))
        .env("TMPDIR", folder.join("context/tmp"))
        .stdin(Stdio::null())
        .output()
        .context("cannot run buildah")?;
    if !had_record {
        forget_blobs();
    }
    if !out.status.success() {
        bail!("buildah {}: {}", args[0], String::from_utf8_lossy(&out.stderr).trim());
    }
    Ok(())
}

fn file_hash(path: &Path) -> Result<String> {
    let content = fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
    Ok(Sha256::digest(content).iter().map(|b| format!("{b:02x}")).collect())
}
