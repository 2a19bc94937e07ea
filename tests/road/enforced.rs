//! Programs that go through the whole road and print, under their schedules and random delays, what they print natively.

use schedules::Archive;

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
