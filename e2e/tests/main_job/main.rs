//! The main job on a real cluster: a `Provider` becomes five objects and a pod that logs in; deleted, it leaves nothing.
//!
//! One cluster serves the whole suite, started when the first test needs it and ended at the end. The product is installed by its own
//! installer, or from `deploy/` where `INSTALL=deploy`, and every role runs under its own ServiceAccount. Most tests run beside each
//! other, each in namespaces of its own; those that stop the operator or measure something run alone. After a failure the logs of every
//! component are in one folder.
//!
//! A test is an `async fn(&Stage) -> Result<()>`. It waits for conditions ([`watch`]), never for time.
mod backend;
mod figures;
mod host;
mod input;
mod install;
mod latency;
mod removal;
mod rights;
mod shape;

use banlieue_e2e::kind::Kind;
use banlieue_e2e::{audit, watch};
use banlieue_suite::lab::Lab;
use banlieue_suite::{grants, place, stage, tests, until, workload};
use libtest_mimic::Trial;
use stage::Stage;
use std::process::ExitCode;
use std::sync::Arc;

/// How many tests run beside each other: they wait more than they work.
const AT_ONCE: usize = 8;

fn trials(lab: &Arc<Lab<Stage>>, kind: Kind) -> Vec<Trial> {
    // those that need no backend that answers, no audit log, and no part of the cluster to stop
    let mut all = tests!(lab, Beside:
        shape::five_objects_in_the_install_namespace,
        shape::five_objects_in_another_namespace,
        backend::an_unreachable_backend_keeps_the_contract,
        removal::a_provider_without_a_class_can_be_deleted,
        rights::the_operator_cannot_escalate,
        input::an_endpoint_with_a_password,
        input::a_kubeconfig_that_is_not_there,
        input::an_api_server_that_does_not_answer,
    );
    all.extend(tests!(lab, Alone: install::a_second_run_changes_nothing));
    if kind == Kind::Kind {
        return all;
    }
    all.extend(tests!(lab, Beside:
        shape::two_writers_of_one_status_never_meet,
        backend::a_simulated_vcenter_becomes_ready,
        backend::a_wrong_password_is_said_and_not_repeated,
        host::a_libvirt_host_becomes_ready_and_its_certificate_is_the_login,
        host::a_secret_of_another_backend_is_said_so,
        removal::nothing_is_left,
        removal::nothing_is_left_in_a_workload_namespace,
        rights::a_pod_reads_one_secret_and_writes_one_status,
        input::a_class_that_is_not_there,
    ));
    all.extend(tests!(lab, Alone:
        removal::what_was_deleted_while_the_operator_was_away,
        latency::five_objects_in_eight_requests,
        figures::ten_providers_within_30_mb,
        figures::no_write_at_rest,
    ));
    all.extend(tests!(lab, Long: figures::no_write_at_rest_for_ten_minutes));
    all
}

fn main() -> ExitCode {
    let lab = Arc::new(Lab::new(env!("CARGO_CRATE_NAME")));
    match Kind::found() {
        // kind keeps no audit log for us
        Ok((Kind::Kind, _)) => lab.play(AT_ONCE, trials(&lab, Kind::Kind), vec![]),
        Ok((kind, _)) => {
            let afterwards = tests!(lab, Beside: rights::nothing_but_what_is_granted_was_used);
            lab.play(AT_ONCE, trials(&lab, kind), afterwards)
        }
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}
