//! Programs that go through the whole road and print, under their schedules and random delays, what they print natively.

use schedules::Archive;
use schedules::paths::Paths;

use crate::workshop::Workshop;

/// Builds `NAME.c`; for each input, enforced runs with different delays print what is expected, and conform.
#[track_caller]
fn check(name: &str, runs: &[(&[&str], &str)]) -> Archive {
    let source = format!("{name}.c");
    let shop = Workshop::with(&[&source]);
    shop.heddle(["build", &source, "-o", name]).exits(0);
    let file = format!("{name}.heddle");
    shop.heddle(["inspect", "--verify", &file]).exits(0);
    for (arguments, expected) in runs {
        for seed in 1..=3 {
            let options = format!("jitter={seed}:trace=run.trace");
            let run = shop.run(name, arguments, &options).exits(0);
            assert_eq!(run.stdout, *expected, "{arguments:?}, jitter {seed}");
            shop.heddle(["conform", &file, "run.trace"]).exits(0);
        }
    }
    Archive::read(&shop.path(&file)).expect("written by the command")
}

#[test]
fn threads_of_c11() {
    let archive = check("c11_threads", &[(&[], "103 3\n")]);
    assert_eq!(archive.steps.len(), 1, "one schedule");
}

#[test]
fn thread_specific_data_and_its_destructors() {
    let archive = check("thread_data", &[(&[], "23 4\n")]);
    assert_eq!(archive.steps.len(), 1, "one schedule");
    assert!(archive.gaps.is_empty());
}

#[test]
fn a_lock_that_a_thread_kept_for_itself() {
    let runs: &[(&[&str], &str)] = &[
        (&["0", "0"], "0 0\n"),
        (&["3", "0"], "3 3\n"),
        (&["20", "1"], "0 40\n"),
    ];
    check("thread_data_by_input", runs);
    let runs: &[(&[&str], &str)] = &[
        (&[], "20000000 2\n"),
        (&["8", "0", "1", "1"], "00200000 0\n"),
    ];
    check("thread_data_in_loop", runs);
}

#[test]
fn a_forked_child_and_its_handler() {
    let archive = check("forks", &[(&[], "7 1\n")]);
    assert!(archive.gaps.is_empty());
}

#[test]
fn deferred_cancellation_and_cleanup_handlers() {
    let archive = check("cancelled", &[(&[], "3 111 1\n")]);
    assert!(archive.gaps.is_empty());
}

#[test]
fn waits_by_a_named_clock_and_signal_masks() {
    let archive = check("clock_waits", &[(&[], "1 -1 0 1 1\n")]);
    assert!(archive.gaps.is_empty());
}

/// Nobody could say where in the call the request arrives: said with both places, and a run stops there.
#[test]
fn cancellation_in_a_system_call_is_not_explored() {
    let shop = Workshop::with(&["cancel_in_call.c"]);
    let built = shop.heddle(["build", "cancel_in_call.c", "-o", "prog"]);
    // Incomplete.
    let built = built.exits(1);
    assert!(
        built.stderr.contains("cancel_in_call.c:16") && built.stderr.contains("cancel_in_call.c:7"),
        "{}",
        built.stderr
    );
    let run = shop.run("prog", &[], "");
    assert!(
        run.stderr.contains("may be in a system call"),
        "{}",
        run.stderr
    );
}

#[test]
fn asynchronous_cancellation_is_refused() {
    let shop = Workshop::new();
    let text = "#include <pthread.h>\nint main(void) {\n  pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, 0);\n  return 0;\n}\n";
    shop.write("any_time.c", text);
    let built = shop.heddle(["build", "any_time.c", "-o", "prog"]);
    assert!(
        built.stderr.contains("any_time.c:3") && built.stderr.contains("asynchronous"),
        "{}",
        built.stderr
    );
    assert!(!shop.path("prog").exists());
}

#[test]
fn entries_from_a_table() {
    check("entry_table", &[(&[], "11\n")]);
}

#[test]
fn a_loop_by_input_is_an_epoch_per_round() {
    let archive = check(
        "loop_by_input",
        &[(&["0"], "0\n"), (&["1"], "0\n"), (&["50"], "2450\n")],
    );
    assert_eq!(archive.epochs.len(), 2);
}

#[test]
fn barriers_in_a_loop_that_floating_point_ends() {
    let archive = check(
        "barrier_by_float",
        &[(&[], "7\n"), (&["0.5"], "6\n"), (&["100"], "14\n")],
    );
    let stuck = |next: &schedules::Next| matches!(next, schedules::Next::Deadlock { .. });
    assert!(
        !archive.steps.iter().any(|step| stuck(&step.next)),
        "all threads leave together"
    );
}

#[test]
fn order_by_atomics_is_named_as_missing() {
    let shop = Workshop::with(&["atomic_flag.c"]);
    shop.heddle(["build", "atomic_flag.c", "-o", "atomic_flag"])
        .exits(1)
        .complains(&["atomic_flag.c:19", "incomplete", "atomic operation"]);
}

/// No leaf of the archive is a deadlock.
#[track_caller]
fn never_stuck(archive: &Archive) {
    let stuck = |next: &schedules::Next| matches!(next, schedules::Next::Deadlock { .. });
    assert!(!archive.steps.iter().any(|step| stuck(&step.next)));
}

#[test]
fn threads_that_count_alike_agree() {
    let archive = check(
        "rounds_by_count",
        &[
            (&["1", "2"], "2\n"),
            (&["9", "3"], "4\n"),
            (&["1000", "2"], "20\n"),
        ],
    );
    never_stuck(&archive);
}

#[test]
fn a_bounded_queue_keeps_its_bounds() {
    let archive = check(
        "bounded_queue",
        &[(&[], "0\n"), (&["1"], "1\n"), (&["40"], "820\n")],
    );
    never_stuck(&archive);
}

#[test]
fn semaphores_are_asked_for_their_counts() {
    check(
        "counting_semaphores",
        &[(&[], "0\n"), (&["3"], "3\n"), (&["30"], "435\n")],
    );
}

#[test]
fn wrong_arguments_need_no_schedule() {
    let archive = check("bad_arguments", &[(&["3", "7"], "5\n")]);
    assert_eq!(archive.steps.len(), 1, "one schedule");
}

/// How often a function of the library calls back is decided late, each time.
#[test]
fn a_walk_that_locks_at_each_file() {
    let shop = Workshop::with(&["walk_locks.c"]);
    shop.heddle(["build", "walk_locks.c", "-o", "walk"])
        .exits(0);
    let archive = Archive::read(&shop.path("walk.heddle")).expect("written by the command");
    assert_eq!(archive.epochs.len(), 2, "the walk and what is before it");
    assert!(archive.gaps.is_empty());
    assert_eq!(archive.plan.callbacks.len(), 1);
    std::fs::create_dir(shop.path("files")).expect("a folder");
    for count in 0..5 {
        for seed in 1..=2 {
            let options = format!("jitter={seed}:trace=run.trace");
            let run = shop.run("walk", &["files"], &options).exits(0);
            assert_eq!(run.stdout, format!("0 {count} 3\n"));
            shop.heddle(["conform", "walk.heddle", "run.trace"])
                .exits(0);
        }
        shop.write(&format!("files/{count}"), "");
    }
    assert_eq!(shop.run("walk", &[], "").exits(0).stdout, "0 0 3\n");
    let none = shop.run("walk", &["none"], "").exits(0);
    assert_eq!(none.stdout, "-1 0 3\n");
}

#[test]
fn a_branch_after_which_all_is_the_same_is_not_decided() {
    let runs: &[(&[&str], &str)] = &[
        (&[], "21 0\n"),
        (&["1"], "21 1\n"),
        (&["3"], "joined early\n"),
    ];
    let archive = check("alike", runs);
    let decisions = archive.steps.iter().filter(|step| !step.next.is_leaf());
    assert_eq!(decisions.count(), 1, "only the switch");
    assert_eq!(Paths::of(&archive).total(&archive), 5);
}
