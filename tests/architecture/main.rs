//! Holds the house together: which module may name which, who may say `kube`, what the core must not know, how long a file may be.
//!
//! The rules are data in [`rules`]; [`tokens`] turns a source file into the paths it names, wherever they stand (uses, types, macros),
//! with comments and strings out of the way; the second half of this file proves that each rule can fail.
mod rules;
mod tokens;

use rstest::rstest;
use rules::{Fault, check, check_shape};
use std::path::{Path, PathBuf};

fn files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display())) {
        let path = entry.expect("a readable folder").path();
        if path.is_dir() {
            files(&path, found);
        } else if path.extension().is_some_and(|e| e == "rs") {
            found.push(path);
        }
    }
}

/// Every Rust file below `folder` of the checkout, with its path from there and its text.
fn sources(folder: &str) -> Vec<(String, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
    let mut found = Vec::new();
    files(&root, &mut found);
    found.sort();
    found
        .into_iter()
        .map(|path| {
            let name = path.strip_prefix(&root).expect("below the root").to_string_lossy().replace('\\', "/");
            let text = std::fs::read_to_string(&path).expect("a readable file");
            (name, text)
        })
        .collect()
}

fn report(folder: &str, faults: Vec<Fault>) {
    let list: Vec<String> = faults.iter().map(|f| format!("  {folder}/{f}")).collect();
    assert!(list.is_empty(), "the house rules are broken in {} places:\n{}", list.len(), list.join("\n"));
}

#[test]
fn the_product_keeps_its_arrows() {
    let sources = sources("src");
    assert!(sources.len() > 10, "the product is not where this test looks for it");
    report("src", sources.iter().flat_map(|(name, text)| check(name, text)).collect());
}

#[rstest]
#[case("src")]
#[case("tests")]
#[case("e2e/src")]
#[case("e2e/suite/src")]
#[case("e2e/tests")]
fn every_file_has_one_noun_and_fits_on_a_few_screens(#[case] folder: &str) {
    let tests = folder.ends_with("tests");
    report(folder, sources(folder).iter().flat_map(|(name, text)| check_shape(name, text, tests)).collect());
}

/// A planted fault in a file of the product, and the words its report must contain.
#[rstest]
#[case::core_names_adapter("fsm/plan.rs", "use crate::k8s::crd::Backend;", "fsm may not name k8s")]
#[case::core_names_hands("fsm/plan.rs", "fn f(_: crate::effects::Port) {}", "fsm may not name effects")]
#[case::in_a_group("fsm/plan.rs", "use crate::{fsm::Phase, k8s::{crd, manifests}};", "fsm may not name k8s")]
#[case::by_super("fsm/plan.rs", "use super::super::k8s::crd;", "fsm may not name k8s")]
#[case::by_super_from_a_folder("fsm/tests/table.rs", "use super::super::super::cli;", "fsm may not name cli")]
#[case::by_super_from_mod_rs("effects/mod.rs", "use super::k8s;", "effects may not name k8s")]
#[case::in_an_inline_module("fsm/plan.rs", "mod a { use super::super::super::backends; }", "fsm may not name backends")]
#[case::in_a_macro(
    "effects/walk.rs",
    "fn f() { tracing::info!(x = %crate::k8s::look::X) }",
    "effects may not name k8s"
)]
#[case::in_a_visibility("effects/walk.rs", "pub(in crate::k8s) struct A;", "effects may not name k8s")]
#[case::by_the_crates_own_name("effects/walk.rs", "use banlieue::k8s::crd;", "effects may not name k8s")]
#[case::renamed("effects/walk.rs", "use crate::k8s as fsm;", "effects may not name k8s")]
#[case::raw_name("effects/walk.rs", "use crate::r#k8s::crd;", "effects may not name k8s")]
#[case::adapter_names_cli("k8s/look.rs", "use crate::cli::operator;", "k8s may not name cli")]
#[case::backend_names_all_of_k8s(
    "backends/vsphere/soap.rs",
    "use crate::k8s::look;",
    "backends may not name k8s::look"
)]
#[case::backend_names_k8s_whole("backends/mod.rs", "use crate::k8s;", "backends may not name k8s")]
#[case::glob_of_the_crate("fsm/plan.rs", "use crate::*;", "names everything at once")]
#[case::glob_by_super("fsm/mod.rs", "use super::*;", "names everything at once")]
#[case::reexport_of_the_root("fsm/plan.rs", "use crate::Client;", "crate::Client is no module of the house")]
#[case::kube_in_cli("cli/operator.rs", "use kube::Client;", "only k8s says kube")]
#[case::kube_in_main("main.rs", "fn f() -> kube::Result<()> { todo!() }", "only k8s says kube")]
#[case::kube_leading_colons("effects/mod.rs", "use ::kube::Client;", "only k8s says kube")]
#[case::kube_whole("effects/mod.rs", "use kube;", "only k8s says kube")]
#[case::kube_extern("effects/mod.rs", "extern crate kube as k;", "only k8s says kube")]
#[case::kube_in_a_group("backends/mod.rs", "use {kube::Client, std::fmt};", "only k8s says kube")]
#[case::openapi_in_backends(
    "backends/mod.rs",
    "fn f(_: k8s_openapi::api::core::v1::Pod) {}",
    "only k8s says k8s_openapi"
)]
#[case::kube_in_an_attribute("cli/mod.rs", "#[derive(kube::CustomResource)] struct A;", "only k8s says kube")]
#[case::clock("fsm/plan.rs", "use std::time::{Duration, Instant};", "the core has no Instant")]
#[case::clock_by_module("fsm/plan.rs", "fn f() { time::SystemTime::now(); }", "the core has no SystemTime")]
#[case::utc_now("fsm/plan.rs", "fn f() { chrono::Utc::now(); }", "the core has no Utc::now")]
#[case::async_word("fsm/plan.rs", "async fn f() {}", "the core has no async")]
#[case::await_word("fsm/plan.rs", "fn f() { g().await; }", "the core has no await")]
#[case::tokio("fsm/plan.rs", "use tokio::sync::mpsc;", "the core has no tokio")]
#[case::files("fsm/plan.rs", "use std::{collections::BTreeMap, fs};", "the core has no std::fs")]
#[case::network("fsm/plan.rs", "fn f(_: std::net::IpAddr) {}", "the core has no std::net")]
#[case::environment("fsm/plan.rs", "fn f() { std::env::var(\"A\"); }", "the core has no std::env")]
#[case::borrowed_file("fsm/plan.rs", "#[path = \"../k8s/look.rs\"] mod look;", "a file is where its name says")]
#[case::a_back_off_by_the_time_of_day("k8s/memory.rs", "use chrono::{DateTime, Utc};", "tells the time of day")]
#[case::a_lease_by_the_time_of_day(
    "k8s/lease/election.rs",
    "fn f() { jiff::Timestamp::now(); }",
    "tells the time of day"
)]
#[case::a_watch_by_the_time_of_day("k8s/vigil/mod.rs", "fn f(_: std::time::SystemTime) {}", "tells the time of day")]
#[case::new_room("net/http.rs", "", "net is no module of the house")]
fn a_planted_fault_is_found(#[case] name: &str, #[case] text: &str, #[case] words: &str) {
    let found = check(name, text);
    assert!(found.iter().any(|f| f.to_string().contains(words)), "wanted {words:?}, got {found:?}");
}

#[rstest]
#[case::downwards("k8s/look.rs", "use crate::{effects::Port, fsm::{self, Plan}}; use kube::Client;")]
#[case::its_own_room(
    "k8s/crd/provider.rs",
    "use super::backend::Backend; use super::super::manifests; use crate::k8s::look;"
)]
#[case::top_to_all("cli/provider.rs", "use crate::{backends, effects, fsm, k8s};")]
#[case::backend_to_crd("backends/vsphere/mod.rs", "use crate::k8s::crd::{Backend, Provider}; use super::Session;")]
#[case::backend_to_crd_whole("backends/mod.rs", "use crate::k8s::crd;")]
#[case::comments("fsm/plan.rs", "//! Not like [`crate::k8s`].\n/* use kube::Client; */ // tokio::spawn\nfn f() {}")]
#[case::strings(
    "fsm/plan.rs",
    "const A: &str = \"crate::k8s::look kube::Client async\"; const B: &str = r#\"tokio::x\"#;"
)]
#[case::a_word_alone("effects/mod.rs", "fn f(kube: u8) -> u8 { kube }")]
#[case::longer_words("effects/mod.rs", "use kubelet::x; fn f() { my_kube::g() }")]
#[case::time_as_input("fsm/plan.rs", "use chrono::{DateTime, Utc}; use std::time::Duration;")]
#[case::monotonic("k8s/memory.rs", "use std::time::{Duration, Instant};")]
#[case::time_of_day_for_people("k8s/lease/elector.rs", "use k8s_openapi::jiff::Timestamp;")]
#[case::super_star_in_tests("fsm/plan.rs", "mod tests { use super::*; }")]
fn what_is_allowed_passes(#[case] name: &str, #[case] text: &str) {
    assert_eq!(check(name, text), Vec::new());
}

#[rstest]
#[case("k8s/look.rs", 301, false, "301 lines, at most 300")]
#[case("fsm/tests/sweep.rs", 601, false, "601 lines, at most 600")]
#[case("main_job.rs", 601, true, "601 lines, at most 600")]
#[case("k8s/utils.rs", 1, false, "names no noun")]
#[case("k8s/util/mod.rs", 1, false, "names no noun")]
fn a_planted_shape_is_found(#[case] name: &str, #[case] lines: usize, #[case] tests: bool, #[case] words: &str) {
    let found = check_shape(name, &"\n".repeat(lines), tests);
    assert!(found.iter().any(|f| f.to_string().contains(words)), "wanted {words:?}, got {found:?}");
}

#[rstest]
#[case("k8s/look.rs", 300, false)]
#[case("fsm/tests/sweep.rs", 600, false)]
#[case("fsm/tests.rs", 600, false)]
fn a_file_at_its_limit_passes(#[case] name: &str, #[case] lines: usize, #[case] tests: bool) {
    assert_eq!(check_shape(name, &"\n".repeat(lines), tests), Vec::new());
}
