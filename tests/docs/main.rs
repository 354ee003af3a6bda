//! The pages: every link to a file or a heading of this checkout leads somewhere, the book has every page, and each test
//! that the page of proofs names is there.
#![allow(clippy::unwrap_used)]
mod page;
mod proofs;

use page::Page;
use std::collections::BTreeSet;
use std::path::{Component, Path, PathBuf};

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Every Markdown file of the checkout, by its path in it.
fn pages() -> Vec<PathBuf> {
    let mut found = Vec::new();
    for folder in ["", "docs", "docs/adr", "e2e", "examples"] {
        for entry in std::fs::read_dir(root().join(folder)).unwrap() {
            let path = Path::new(folder).join(entry.unwrap().file_name());
            if path.extension().is_some_and(|e| e == "md") {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

fn read(path: &Path) -> Page {
    Page::new(&std::fs::read_to_string(root().join(path)).unwrap())
}

/// Whether a link of a page of `docs/` leads to what the book does not have: what is beside `docs/`, its contents, and a README
/// by that name, as it is the index of its folder there.
fn leaves_the_book(page: &Path, file: &str) -> bool {
    let Ok(within) = page.strip_prefix("docs") else { return false };
    let ups = Path::new(file).components().take_while(|part| *part == Component::ParentDir).count();
    let contents = within == Path::new("SUMMARY.md");
    ups >= within.components().count() || !contents && (file.ends_with("README.md") || file.ends_with("SUMMARY.md"))
}

/// What is wrong with a link of a page: nothing where it leads out, or to what is there, in the checkout and in the book.
fn fault(page: &Path, link: &str) -> Option<String> {
    if link.contains("://") || link.starts_with("mailto:") {
        return None;
    }
    let (file, heading) = link.split_once('#').map_or((link, None), |(file, heading)| (file, Some(heading)));
    let target = if file.is_empty() { page.to_owned() } else { page.parent().unwrap().join(file) };
    let what = |problem| Some(format!("{}: {link} {problem}", page.display()));
    match heading {
        _ if !root().join(&target).exists() => what("is not there"),
        _ if leaves_the_book(page, file) => what("is not in the book"),
        Some(heading) if !read(&target).anchors.contains(heading) => what("names no heading there"),
        _ => None,
    }
}

#[test]
fn every_link_leads_somewhere() {
    let (mut links, mut faults) = (0, Vec::new());
    for path in pages() {
        let page = read(&path);
        links += page.links.len();
        faults.extend(page.links.iter().filter_map(|link| fault(&path, link)));
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    assert!(links > 60, "only {links} links were seen");
}

#[test]
fn a_link_that_leads_nowhere_is_seen() {
    let page = Path::new("docs/install.md");
    assert!(fault(page, "nowhere.md").is_some() && fault(page, "security.md#no-such-heading").is_some());
    assert!(fault(page, "#no-such-heading").is_some() && fault(page, "adr/").is_none());
    assert!(fault(page, "../examples").is_some() && fault(Path::new("README.md"), "examples").is_none());
    assert!(fault(Path::new("docs/adr/README.md"), "../../deploy").is_some());
    assert!(fault(page, "adr/README.md").is_some() && fault(page, "SUMMARY.md").is_some());
    assert!(fault(page, "security.md#the-fence").is_none() && fault(page, "https://example.com/nowhere").is_none());
}

/// mdBook leaves a page out that the contents do not name, and builds all the same.
#[test]
fn the_book_has_every_page_once() {
    let summary = Path::new("docs/SUMMARY.md");
    let named = read(summary).links;
    let once: BTreeSet<PathBuf> = named.iter().map(|link| Path::new("docs").join(link)).collect();
    assert_eq!(once.len(), named.len(), "a page is named twice");
    let there = pages().into_iter().filter(|page| page.starts_with("docs") && page != summary).collect();
    assert_eq!(once, there);
}

/// The page has them word for word: a link from it to a file would lead out of the book.
#[test]
fn the_page_of_examples_has_every_file() {
    let page = std::fs::read_to_string(root().join("docs/examples.md")).unwrap();
    let mut files = 0;
    for entry in std::fs::read_dir(root().join("examples")).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        if name.ends_with(".yaml") {
            files += 1;
            let text = std::fs::read_to_string(root().join("examples").join(&name)).unwrap();
            let section = format!("\n## {name}\n\n```yaml\n{text}```\n");
            assert!(page.contains(&section), "docs/examples.md does not have examples/{name} as it is:\n{section}");
        }
    }
    assert_eq!(page.matches("\n## ").count(), files, "it has more than the files");
}
