//! Programs follow their schedules, whatever the delays.

mod run;

use run::{Program, straight};

/// The workers of `two_locks.c`, in an order given by edges between their locks.
#[test]
fn locks_are_taken_in_the_order_given() {
    let main = "create@1=1 create@2=2 join@5<1.8 join@6<2.8";
    let alternating = straight(&[
        main,
        "start@0<0.1 lock@3 unlock@4 lock@3<2.3 unlock@4 lock@3<2.5 unlock@4 exit@0",
        "start@0<0.2 lock@3<1.3 unlock@4 lock@3<1.5 unlock@4 lock@3<1.7 unlock@4 exit@0",
    ]);
    Program::build_as("alternating", "two_locks", &[])
        .with(&alternating)
        .always_prints("ababab");
    let second_first = straight(&[
        main,
        "start@0<0.1 lock@3<2.7 unlock@4 lock@3 unlock@4 lock@3 unlock@4 exit@0",
        "start@0<0.2 lock@3 unlock@4 lock@3 unlock@4 lock@3 unlock@4 exit@0",
    ]);
    Program::build_as("second_first", "two_locks", &[])
        .with(&second_first)
        .always_prints("bbbaaa");
}

/// Instrumentation gives a call that the archive does not know the site `u32::MAX`; that is never the one expected.
#[test]
fn an_unknown_call_is_a_divergence() {
    let program = Program::build_as("unknown", "two_locks", &["-DFIRST_LOCK=4294967295u"]).with(
        &straight(&[
            "create@1=1 create@2=2 join@5<1.8 join@6<2.8",
            "start@0<0.1 lock@3 unlock@4 lock@3 unlock@4 lock@3 unlock@4 exit@0",
            "start@0<0.2 lock@3<1.7 unlock@4 lock@3 unlock@4 lock@3 unlock@4 exit@0",
        ]),
    );
    let output = program.run("");
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success());
    assert!(
        complaint.contains("is at: MutexLock at site4294967295 (not in the archive)"),
        "{complaint}"
    );
}
