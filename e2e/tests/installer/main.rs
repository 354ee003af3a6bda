//! The installer's verbs on a real API server: install, look, remove, and what is there before and after.
//!
//! One cluster without a node; each test begins and ends on an empty one, so they run one after the other.
mod alone;
mod beside;
mod check;
mod classes;
mod deploy;
mod dry_run;
mod elsewhere;
mod examples;
mod halfway;
mod lost;
mod refused;
mod remove;
mod stage;
mod standalone;
mod stream;
mod things;
mod upgrade;

use banlieue_suite::{deploy as files, grants, lab, operator, tests, until};
use lab::Lab;
use stage::Stage;
use std::process::ExitCode;
use std::sync::Arc;

fn main() -> ExitCode {
    let lab = Arc::new(Lab::<Stage>::new(env!("CARGO_CRATE_NAME")));
    let trials = tests!(lab, Alone:
        deploy::the_files_are_what_the_installer_installs,
        deploy::the_gitops_trees_are_taken,
        remove::a_cluster_is_as_it_was,
        remove::providers_stay_and_nothing_of_ours_does,
        remove::a_namespace_that_was_there_stays,
        remove::who_is_held_by_another_is_named,
        dry_run::it_asks_nobody,
        halfway::a_person_without_all_rights,
        halfway::the_api_server_goes_away_in_the_middle,
        refused::a_kind_of_another_project,
        refused::a_namespace_that_is_being_deleted,
        refused::what_is_not_there,
        refused::a_limit_that_would_be_lifted,
        standalone::one_process_serves_a_namespace,
        standalone::not_beside_an_operator,
        stream::it_is_the_installation,
        upgrade::in_place,
        alone::nobody_may_mint,
        alone::a_secret_is_read_here_and_nowhere_else,
        alone::an_upgrade_is_the_same_command,
        beside::an_operator_and_its_sweep_leave_it_alone,
        beside::one_writes_and_the_other_waits,
        check::a_cluster_without_it,
        check::a_role_that_is_scaled_to_nothing,
        check::a_provider_that_is_not_well,
        classes::one_that_differs_is_kept,
        elsewhere::an_operator_leads_where_it_is_installed,
        examples::each_is_taken,
        lost::with_its_namespace,
        lost::with_its_namespace_and_what_is_in_it,
    );
    let afterwards = tests!(lab, Alone: standalone::nothing_but_what_is_granted_was_used);
    lab.play(1, trials, afterwards)
}
