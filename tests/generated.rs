//! What is generated from the code is not stale.

#[test]
fn the_page_of_phases() {
    let page = include_str!("../docs/phases.md");
    assert!(page == banlieue::fsm::diagram::page(), "stale: run `banlieue phases --format markdown > docs/phases.md`");
}
