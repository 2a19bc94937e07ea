//! The outcome of a time-out is decided by the thread that waits: by what it sees, never before the deadline.

mod run;

use run::{Program, maker};
use schedules::archive::{Archive, Next};

/// `timed.c` with a condition: what the waiter can see is that the signaller stands at its lock.
fn condition() -> Archive {
    let mut maker = maker();
    let epoch = maker.epoch(1, 0);
    let done = maker.step(
        &[
            "outcome@8=0 CondWake@8<1.3 unlock@9 join@2<1.4",
            "lock@3 CondSignal@4 unlock@5 exit@0",
        ],
        Next::Exit,
    );
    let timed_out = maker.step(
        &[
            "outcome@8=1 CondWake@8 unlock@9 join@2<1.4",
            "lock@3<0.3 CondSignal@4 unlock@5 exit@0",
        ],
        Next::Exit,
    );
    let late = maker.late(0, 8, &[(0, done), (1, timed_out)]);
    let root = maker.step(&["lock@7 create@1=1 CondWait@8", "start@0<0.2"], late);
    maker.builder.define_epoch(epoch, 2, root, 0);
    maker.finish()
}

/// `timed.c` with a mutex; the holder's unlock lies before the decision, or behind it.
fn mutex(unlock_before: bool) -> Archive {
    let mut maker = maker();
    let epoch = maker.epoch(1, 0);
    let (before, behind) = if unlock_before {
        ("unlock@5", "exit@0")
    } else {
        ("", "unlock@5 exit@0")
    };
    let turn = if unlock_before { "1.0" } else { "1.1" };
    let end = if unlock_before { 1 } else { 2 };
    let done = maker.step(
        &[
            &format!("outcome@8=0<{turn} branch@10=0 unlock@9 join@2<1.{end}"),
            behind,
        ],
        Next::Exit,
    );
    let timed_out = maker.step(
        &[&format!("outcome@8=1 branch@10=1 join@2<1.{end}"), behind],
        Next::Exit,
    );
    let late = maker.late(0, 8, &[(0, done), (1, timed_out)]);
    let root = maker.step(
        &[
            "create@1=1 MutexTimedLock@8",
            &format!("start@0<0.1 lock@3 {before}"),
        ],
        late,
    );
    maker.builder.define_epoch(epoch, 2, root, 0);
    maker.finish()
}

#[track_caller]
fn check(program: &Program, milliseconds: [&str; 2], expected: &str) {
    for options in ["", "jitter=1"] {
        assert_eq!(program.conforming_run(options, &milliseconds), expected);
    }
}

#[test]
fn a_condition_that_is_signalled_in_time_is_not_timed_out() {
    let program = Program::build_as("timed_cond", "timed", &["-DCOND"]).with(&condition());
    check(&program, ["20", "30000"], "ok");
    check(&program, ["600", "30"], "ETIMEDOUT");
}

#[test]
fn a_mutex_that_is_released_in_time_is_taken() {
    let program = Program::build_as("timed_mutex", "timed", &[]).with(&mutex(true));
    check(&program, ["20", "30000"], "ok");
    check(&program, ["600", "30"], "ETIMEDOUT");
}

/// The holder cannot release it before the outcome is known; it waits for the decision, and that is what is seen.
#[test]
fn a_release_behind_the_decision_is_foreseen() {
    let program = Program::build_as("timed_behind", "timed", &[]).with(&mutex(false));
    check(&program, ["20", "30000"], "ok");
    check(&program, ["600", "30"], "ETIMEDOUT");
}

/// Deadlines of a clock that the call names.
#[test]
fn a_named_clock_counts() {
    let program = Program::build_as("timed_cond_clock", "timed", &["-DCOND", "-DMONOTONIC"]);
    let program = program.with(&condition());
    check(&program, ["20", "30000"], "ok");
    check(&program, ["600", "30"], "ETIMEDOUT");
    let program = Program::build_as("timed_mutex_clock", "timed", &["-DMONOTONIC"]);
    let program = program.with(&mutex(true));
    check(&program, ["20", "30000"], "ok");
    check(&program, ["600", "30"], "ETIMEDOUT");
}
