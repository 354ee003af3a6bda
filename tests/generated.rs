//! What is generated from the code is not stale.

#[test]
fn the_page_of_phases() {
    let page = include_str!("../docs/phases.md");
    assert!(page == banlieue::fsm::diagram::page(), "stale: run `banlieue phases --format markdown > docs/phases.md`");
}

#[test]
fn the_page_of_conditions() {
    let page = include_str!("../docs/conditions.md");
    let stale = "stale: run `banlieue conditions --format markdown > docs/conditions.md`";
    assert!(page == banlieue::cli::conditions::page(), "{stale}");
}
