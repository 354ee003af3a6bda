//! What a person hands over: files, or `-` for standard input.
use anyhow::{Context, anyhow, bail};
use serde_json::Value;
use serde_saphyr::UserMessageFormatter;
use std::fs::File;
use std::io::Read;
use std::path::Path;

/// The most that is read of one: a manifest is far smaller, and a device may never end.
const LIMIT: u64 = 16 << 20;

/// The documents of a YAML or JSON file; a `List`, as `kubectl get -o yaml` writes it, is taken apart. With each the name
/// of the file.
///
/// # Errors
/// When it cannot be read, is no text, or is no YAML.
pub(super) fn documents(path: &Path) -> anyhow::Result<Vec<(String, Value)>> {
    let name = name(path);
    let text = text(path, &name)?;
    // a namespace may be called n, and that is no word for false
    let options = serde_saphyr::options! { strict_booleans: true };
    let documents: Vec<Value> = serde_saphyr::from_multiple_with_options(&text, options)
        .map_err(|error| anyhow!("cannot read {}", fault(&name, &error)))?;
    let apart = |document: Value| match document {
        Value::Object(mut object) if object.get("kind").is_some_and(|kind| kind == "List") => {
            object.remove("items").and_then(|items| items.as_array().cloned()).unwrap_or_default()
        }
        other => vec![other],
    };
    let objects = documents.into_iter().filter(|d| !d.is_null()).flat_map(apart);
    Ok(objects.map(|object| (name.clone(), object)).collect())
}

/// What a person calls it.
pub(super) fn name(path: &Path) -> String {
    if path == Path::new("-") { "standard input".to_owned() } else { path.display().to_string() }
}

/// The file, or standard input.
pub(super) fn open(path: &Path) -> std::io::Result<Box<dyn Read>> {
    Ok(if path == Path::new("-") { Box::new(std::io::stdin()) } else { Box::new(File::open(path)?) })
}

/// Which file, where in it, and what is wrong there: the parser's own words draw a picture of several lines.
fn fault(name: &str, error: &serde_saphyr::Error) -> String {
    let words = error.without_snippet().render_with_formatter(&UserMessageFormatter);
    let Some(at) = error.location() else { return format!("{name}: {words}") };
    let (line, column) = (at.line(), at.column());
    let what = words.strip_suffix(&format!(" at line {line}, column {column}")).unwrap_or(&words);
    format!("{name}:{line}:{column}: {what}")
}

fn text(path: &Path, name: &str) -> anyhow::Result<String> {
    let cannot = || format!("cannot read {name}");
    if path.is_dir() {
        bail!("{name} is a folder: name its files, each by a -f of its own")
    }
    let source = open(path).with_context(cannot)?;
    let mut bytes = Vec::new();
    source.take(LIMIT + 1).read_to_end(&mut bytes).with_context(cannot)?;
    if bytes.len() as u64 > LIMIT {
        bail!("{name} has more than {} MiB, which no manifest has", LIMIT >> 20);
    }
    String::from_utf8(bytes).ok().with_context(|| format!("{name} is no text"))
}
