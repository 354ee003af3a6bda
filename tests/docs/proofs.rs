//! The page of proofs: each row has one, and each test that a row names is in the sources.
use super::root;

/// What `docs/proofs.md` gives as the proof of a promise: the last cell of each row.
fn proofs(page: &str) -> Vec<&str> {
    let rows = page.lines().filter_map(|line| line.strip_prefix("| ")?.strip_suffix(" |")?.rsplit_once(" | "));
    rows.map(|(_, proof)| proof).filter(|cell| *cell != "---" && *cell != "where it is proven").collect()
}

/// The tests that a proof names: all that is between backquotes.
fn named(proof: &str) -> impl Iterator<Item = &str> {
    proof.split('`').skip(1).step_by(2)
}

/// Whether there is such a test: `suite module::name` is a live one, `path::name` another.
fn is_there(test: &str) -> bool {
    let Some((module, name)) = test.rsplit_once("::") else { return false };
    let files = match module.split_once(' ') {
        Some((suite, module)) => ["", "/mod"].map(|folder| format!("e2e/tests/{suite}/{module}{folder}.rs")).to_vec(),
        None => vec![module.to_owned()],
    };
    let mut texts = files.iter().filter_map(|file| std::fs::read_to_string(root().join(file)).ok());
    texts.any(|text| text.contains(&format!("fn {name}(")))
}

/// What is wrong with a proof: a test that is not there; or no test, no decision, and no word of that.
fn faults(proof: &str) -> Vec<String> {
    let missing: Vec<_> =
        named(proof).filter(|test| !is_there(test)).map(|test| format!("{test} is not there")).collect();
    let told = ["`", "](adr/", "not tested: ", "read only"].iter().any(|word| proof.contains(word));
    if told { missing } else { vec![format!("{proof:?} is no proof")] }
}

#[test]
fn every_test_that_is_named_is_there() {
    let page = std::fs::read_to_string(root().join("docs/proofs.md")).unwrap();
    let proofs = proofs(&page);
    let tests = proofs.iter().flat_map(|proof| named(proof)).count();
    let faults: Vec<_> = proofs.iter().flat_map(|proof| faults(proof)).collect();
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    assert!(proofs.len() > 90 && tests > 180, "only {} rows and {tests} tests were seen", proofs.len());
}

#[test]
fn a_test_that_is_not_there_is_seen() {
    let good = "`lifecycle pause::paused_from_the_start`, `tests/docs/main.rs::every_link_leads_somewhere` (long)";
    let page = format!(
        "| what | where it is proven |\n| --- | --- |\n| a | {good} |\n| `b::c` | `tests/docs/proofs.rs::nowhere` |\n"
    );
    assert_eq!(proofs(&page), [good, "`tests/docs/proofs.rs::nowhere`"]);
    assert_eq!(faults(good), [""; 0]);
    assert_eq!(faults("`lifecycle matrix::a_sample`; not tested: more"), [""; 0]);
    for wrong in [
        "`lifecycle pause::paused_from_the`",
        "`lifecycle paused::paused_from_the_start`",
        "`installer pause::paused_from_the_start`",
        "`tests/docs/nowhere.rs::every_link_leads_somewhere`",
        "`every_link_leads_somewhere`",
        "somebody has seen it",
        "",
    ] {
        assert_eq!(faults(wrong).len(), 1, "{wrong}");
    }
}
