//! Ends of threads: destructors, cleanup handlers and cancellation are part of the thread's lane, before its last node.

mod run;

use run::{Program, straight};

const KEYS: &str = "KeyCreate@1 KeyCreate@2 KeyDelete@3 KeyCreate@4 KeyCreate@5";

#[track_caller]
fn check(what: &str, main: &str, worker: &str, expected: &str) {
    let archive = straight(&[&format!("{KEYS} {main}"), worker]);
    let program = Program::build_as(&format!("ends_{what}"), "ends", &[]).with(&archive);
    program.always_prints_for(&[what], expected);
    // When a request arrives natively is anybody's guess.
    if main.contains("ThreadCancel") {
        return;
    }
    // Without a schedule the C library does the same (destructors by number of the key, which is their age here, too).
    let native = program.run_with("archive=none", &[what]);
    assert_eq!(String::from_utf8_lossy(&native.stdout).trim_end(), expected);
}

/// By the age of their keys, in rounds, each lock in its turn.
#[test]
fn destructors_run_before_the_last_node() {
    check(
        "destructors",
        "create@6=1 join@8<1.8",
        "start@0<0.6 lock@30 unlock@31 lock@32 unlock@33 lock@32 unlock@33 exit@0",
        "first\nsecond\nagain\ndestructors",
    );
}

#[test]
fn destructors_stop_after_four_rounds() {
    check(
        "rounds",
        "create@6=1 join@8<1.2",
        "start@0<0.6 exit@0",
        "third\nthird\nthird\nthird\nrounds",
    );
}

#[test]
fn handlers_come_before_destructors() {
    check(
        "exit",
        "create@6=1 join@8<1.12",
        "start@0<0.6 lock@26 unlock@27 lock@26 unlock@27 lock@30 unlock@31 lock@32 unlock@33 lock@32 unlock@33 exit@20",
        "inner\nouter\nfirst\nsecond\nagain\nvalue",
    );
}

/// The handler of a thread that was cancelled in a condition wait holds the mutex.
#[test]
fn a_waiting_thread_is_cancelled() {
    check(
        "cond",
        "create@6=1 ThreadCancel@7<1.3 join@8<1.6",
        "start@0<0.6 lock@21 CondWait@22 ThreadCancelled@22<0.7 unlock@24 exit@0",
        "waited\ncancelled",
    );
}

/// Natively the request may come before the thread has got anywhere; here it ends where the schedule says.
#[test]
fn a_thread_is_cancelled_at_its_gate() {
    check(
        "sem",
        "create@6=1 ThreadCancel@7 join@8<1.5",
        "start@0<0.6 ThreadCancelled@22<0.7 lock@26 unlock@27 exit@0",
        "posted\ncancelled",
    );
    check(
        "test",
        "create@6=1 ThreadCancel@7<1.2 join@8<1.4",
        "start@0<0.6 TestCancel@21 ThreadCancelled@22<0.7 exit@0",
        "cancelled",
    );
}

/// A thread that the schedule does not end goes on, whatever was asked of it.
#[test]
fn a_request_alone_ends_nobody() {
    let archive = straight(&[
        &format!("{KEYS} create@6=1 ThreadCancel@7<1.0 join@8<1.4"),
        "start@0<0.6 TestCancel@21<0.7 TestCancel@22 exit@0",
    ]);
    let program = Program::build_as("ends_request", "ends", &[]).with(&archive);
    program.always_prints_for(&["test"], "not reached\ntest");
}
