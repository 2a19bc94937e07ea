//! How processes begin and end, and what else they do to their threads.

mod run;

use std::os::unix::process::ExitStatusExt;

use run::{Program, straight};
use schedules::archive::Archive;

/// The worker's turn comes before main's.
fn plain() -> Archive {
    straight(&[
        "create@1=1 lock@20<1.3 unlock@21 join@4<1.4",
        "start@0<0.1 lock@10 unlock@11 exit@0",
    ])
}

#[track_caller]
fn check(name: &str, archive: &Archive, what: &str, expected: &str) {
    let program = Program::build_as(&format!("process_{name}"), "process", &[]).with(archive);
    for seed in 0..5 {
        let text = program.conforming_run(&format!("jitter={seed}"), &[what]);
        assert_eq!(text, expected, "seed {seed}");
    }
}

#[test]
fn a_program_may_have_one_thread() {
    check(
        "alone",
        &straight(&["lock@20 unlock@21"]),
        "alone",
        "alone 1 0",
    );
}

#[test]
fn destructors_small_stacks_jumps_and_children() {
    check("plain", &plain(), "plain", "plain 1 1");
    check("small", &plain(), "small", "small 1 1");
    // Main's first turn comes before the worker's, its second after it.
    let jump = straight(&[
        "create@1=1 lock@20 unlock@21 lock@20<1.3 unlock@21 join@4<1.4",
        "start@0<0.1 lock@10<0.3 unlock@11 exit@0",
    ]);
    check("jump", &jump, "jump", "jump 1 1");
    check(
        "spawn",
        &plain(),
        "spawn",
        "spawned\nstatus 0\nsystem 0\nvfork 4\nspawn 1 1",
    );
}

/// `pthread_exit` unwinds the stack down to the thread's first frame, through ours.
#[test]
fn a_thread_may_end_anywhere() {
    let archive = straight(&[
        "create@1=1 lock@20<1.3 unlock@21 join@4<1.4",
        "start@0<0.1 lock@10 unlock@11 exit@13",
    ]);
    check(
        "cleanup",
        &archive,
        "cleanup",
        "cleaned cleanup\ncleanup\ncleanup 1 1",
    );
}

#[test]
fn signal_handlers_run_while_a_thread_waits() {
    check("alarm", &plain(), "alarm", "interrupted\nalarm 1 1");
}

/// A handler may leave a wait by `siglongjmp`: the thread stands before its node, as if it had not come yet.
#[test]
fn a_handler_may_jump_out_of_a_wait() {
    check("escape", &plain(), "escape", "escaped\nescape 1 1");
}

/// A daemon is a forked child: it goes on by itself.
#[test]
fn a_daemon_is_free() {
    let program = Program::build_as("process_daemon", "process", &[]).with(&plain());
    let output = program.run_with("", &["daemon"]);
    assert!(output.status.success());
    assert_eq!(String::from_utf8_lossy(&output.stdout), "daemon 1 1\n");
}

/// The child goes on by itself; the parent's schedule and trace are untouched.
#[test]
fn a_forked_child_is_free() {
    check("fork", &plain(), "fork", "child\nstatus 0\nfork 1 1");
}

#[test]
fn a_detached_thread_ends_by_itself() {
    let archive = straight(&[
        "create@1=1 detach@3 lock@20<1.3 unlock@21",
        "start@0<0.1 lock@10 unlock@11 exit@0",
    ]);
    let program = Program::build_as("process_detached", "process", &[]).with(&archive);
    for seed in 0..5 {
        let text = program.conforming_run(&format!("jitter={seed}"), &["detached"]);
        assert!(text.starts_with("detached 1 "), "{text}");
    }
}

#[test]
fn main_may_end_before_the_others() {
    let archive = straight(&[
        "create@1=1 lock@20 unlock@21 exit@21",
        "start@0<0.1 lock@10<0.4 unlock@11 exit@0",
    ]);
    check("last", &archive, "last", "worker");
    // Functions of `atexit` run in the last thread, natively.
    let program = Program::build_as("process_last_atexit", "process", &[]).with(&archive);
    let text = program.conforming_run("", &["last", "atexit"]);
    assert_eq!(text, "worker\nat exit");
}

#[test]
fn exit_functions_may_synchronize() {
    let program = Program::build_as("process_atexit", "process", &[]).with(&plain());
    let text = program.conforming_run("jitter=1", &["plain", "atexit"]);
    assert_eq!(text, "plain 1 1\nat exit");
}

/// However the process ends, a thread whose turn never comes does not hold it up.
#[test]
fn threads_at_gates_die_with_the_process() {
    let archive = straight(&[
        "create@1=1 create@2=2 lock@20<1.3 unlock@21",
        "start@0<0.1 lock@10 unlock@11 exit@0",
        "start@0<0.2",
    ]);
    let program = Program::build_as("process_blocked", "process", &[]).with(&archive);
    for what in [
        "blocked-exit",
        "blocked-_exit",
        "blocked-quick",
        "blocked-return",
    ] {
        for seed in 0..3 {
            let output = program.run_with(&format!("jitter={seed}"), &[what]);
            let complaint = String::from_utf8_lossy(&output.stderr);
            assert_eq!(output.status.code(), Some(3), "{what}: {complaint}");
        }
    }
    let output = program.run_with("", &["blocked-abort"]);
    assert_eq!(
        output
            .status
            .code()
            .map(|code| code - 128)
            .or(output.status.signal()),
        Some(6)
    );
    let output = program.run_with("", &["blocked-exec"]);
    assert_eq!(String::from_utf8_lossy(&output.stdout), "another program\n");
    let files = || {
        let folder = program.executable.parent().unwrap();
        let names = std::fs::read_dir(folder).unwrap();
        let names = names.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        names
            .filter(|name| name.starts_with("process_blocked"))
            .count()
    };
    let before = files();
    let output = program.run_with("", &["blocked-kill"]);
    assert!(!output.status.success() && output.stderr.is_empty());
    assert_eq!(files(), before);
    // Another thread than main may end the process.
    let archive = straight(&["create@1=1", "start@0<0.1 lock@10 unlock@11"]);
    let program = Program::build_as("process_inside", "process", &[]).with(&archive);
    let output = program.run_with("jitter=3", &["exit-inside"]);
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(5), "{complaint}");
}
