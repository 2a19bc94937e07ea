//! Enumerations that are killed, limited, spread over threads or refused, and what the archive then says.

use std::time::Duration;

use crate::workshop::{Finished, Workshop};

/// Takes a second or two: many epochs, several passes.
const LONG: &str = "../../bench/corpus/taskqueue.c";
const ASSUMED: [&str; 2] = ["--assume", "argv[1]==\"2\""];

fn enumerate(shop: &Workshop, output: &str, more: &[&str]) -> Finished {
    let words = ["enumerate", "program.c", "-o", output];
    shop.heddle(words.iter().chain(&ASSUMED).chain(more))
}

fn long_program() -> Workshop {
    let shop = Workshop::new();
    let source = crate::workshop::program(LONG);
    std::fs::copy(source, shop.path("program.c")).expect("program is there");
    std::fs::create_dir(shop.path("a")).expect("folder");
    std::fs::create_dir(shop.path("b")).expect("folder");
    shop
}

#[test]
fn the_archive_does_not_depend_on_the_number_of_jobs_nor_on_kills() {
    let shop = long_program();
    enumerate(&shop, "a/p.heddle", &["--jobs", "1"]);
    let expected = std::fs::read(shop.path("a/p.heddle")).expect("archive");
    enumerate(&shop, "b/p.heddle", &["--jobs", "3"]);
    assert_eq!(
        std::fs::read(shop.path("b/p.heddle")).ok(),
        Some(expected.clone())
    );
    std::fs::remove_file(shop.path("b/p.heddle")).expect("archive");
    // Killed again and again, later each time; what was done is not lost, so it ends.
    for wait in [100, 200, 400, 700, 1000, 1500] {
        let mut words = vec!["enumerate", "program.c", "-o", "b/p.heddle", "--jobs", "2"];
        words.extend(ASSUMED);
        shop.heddle_killed(words, Duration::from_millis(wait));
    }
    enumerate(&shop, "b/p.heddle", &[]);
    assert_eq!(std::fs::read(shop.path("b/p.heddle")).ok(), Some(expected));
    assert!(
        !shop.path("b/p.heddle.store").exists(),
        "removed in the end"
    );
}

#[test]
fn limits_end_in_a_valid_archive_that_says_what_is_missing() {
    let shop = long_program();
    for (limit, value, said) in [
        (
            "--time",
            "0",
            "the time limit was reached; --time raises it",
        ),
        (
            "--memory",
            "1M",
            "the memory limit was reached; --memory raises it",
        ),
    ] {
        let store = ["--store", "kept"];
        let words = [limit, value, store[0], store[1]];
        let run = enumerate(&shop, "a/p.heddle", &words).exits(1);
        run.complains(&["is incomplete", said]);
        shop.heddle(["inspect", "--verify", "a/p.heddle"]).exits(0);
    }
}

#[test]
fn what_cannot_be_ordered_is_named_with_its_place_and_a_way_past_it() {
    let shop = Workshop::with(&[
        "spin_on_plain.c",
        "spin_on_own_counter.c",
        "cancel_async.c",
        "many_threads.c",
    ]);
    let run = |words: &[&str]| shop.heddle(["enumerate"].iter().chain(words));
    run(&["spin_on_plain.c"]).exits(1).complains(&[
        "spin_on_plain.c:17:",
        "waits until another thread writes `ready`",
        "Wait with a condition variable",
    ]);
    run(&["spin_on_own_counter.c"]).exits(0);
    run(&["cancel_async.c"]).exits(2).complains(&[
        "cancel_async.c:5:5: error: `pthread_setcanceltype`",
        "tell it to end by a flag that it tests under a mutex",
    ]);
    run(&["many_threads.c"]).exits(0);
    run(&["many_threads.c", "--threads", "5"])
        .exits(1)
        .complains(&[
            "more than 5 threads live at once with the one created at many_threads.c:17;",
            "--threads raises the bound",
        ]);
}

#[test]
fn a_decision_says_why_it_is_one() {
    let shop = Workshop::with(&["loop_by_input.c", "two_locks_by_input.c"]);
    shop.heddle(["enumerate", "loop_by_input.c"]).exits(0);
    shop.heddle(["explain", "loop_by_input.heddle", "epoch1/1"])
        .exits(0)
        .says(&[
            "epoch1/1: loop_by_input.c:10:5 in `worker`",
            "for (int i = 0; i < rounds; i++) {",
            "when the epoch begins (early)",
            "condition    i < rounds",
            "not elastic  it decides how often a loop that synchronizes goes round",
        ]);
    shop.heddle(["enumerate", "two_locks_by_input.c"]).exits(0);
    shop.heddle(["explain", "two_locks_by_input.heddle", "0"])
        .exits(0)
        .says(&[
            "if (use_left) {",
            "by the thread in slot 1 when it gets there (late)",
            "why late     atoi(argv[1]) is known only after the call",
            "not elastic  every way through it synchronizes",
        ]);
    shop.heddle(["explain", "two_locks_by_input.heddle", "9"])
        .exits(2)
        .complains(&["there is no epoch 9"]);
}

#[test]
fn a_decision_without_a_difference_disappears() {
    let shop = Workshop::with(&["same_either_way.c"]);
    shop.heddle(["build", "same_either_way.c", "-o", "same"])
        .exits(0);
    shop.heddle(["inspect", "same.heddle"])
        .exits(0)
        .says(&["statistic \"decisions that disappeared\" "]);
    let archive = schedules::Archive::read(&shop.path("same.heddle")).expect("archive");
    let early = |step: &schedules::Step| match step.next {
        schedules::Next::Early { predicate, .. } => {
            let text = archive.predicates[predicate.0 as usize].text;
            Some(archive.texts[text.0 as usize].clone())
        }
        _ => None,
    };
    let conditions: Vec<String> = archive.steps.iter().filter_map(early).collect();
    assert!(
        conditions.iter().all(|text| !text.contains("step")),
        "which amount is added changes no schedule: {conditions:?}"
    );
    for arguments in [&["3", "2"], &["3", "5"], &["0", "1"], &["7", "4"]] {
        let run = shop.run("same", arguments, "trace=run.trace").exits(0);
        let rounds: i32 = arguments[0].parse().expect("a number");
        let step: i32 = arguments[1].parse().expect("a number");
        let amount = if step > 3 { step } else { -step };
        assert_eq!(run.stdout, format!("{}\n", 2 * rounds * amount));
        shop.heddle(["conform", "same.heddle", "run.trace"])
            .exits(0);
    }
}

fn stored(shop: &Workshop) -> usize {
    let entries = std::fs::read_dir(shop.path("kept")).expect("store");
    entries.count()
}

#[test]
fn after_an_edit_only_what_it_concerns_is_explored_again() {
    let shop = Workshop::with(&["edited_end.c"]);
    let enumerate = |output: &str, store: &str| {
        let words = ["enumerate", "edited_end.c", "-o", output, "--store", store];
        shop.heddle(words).exits(0);
        std::fs::read(shop.path(output)).expect("archive")
    };
    let before = enumerate("p.heddle", "kept");
    let first = stored(&shop);
    assert_eq!(enumerate("p.heddle", "kept"), before);
    assert_eq!(stored(&shop), first, "nothing is explored twice");
    let text = std::fs::read_to_string(shop.path("edited_end.c")).expect("source");
    shop.write("edited_end.c", text.replace("sum + 1", "sum * 2 + 1"));
    let after = enumerate("p.heddle", "kept");
    assert_ne!(after, before, "the program is another");
    let again = stored(&shop) - first;
    assert!(again > 0 && again < first, "{again} of {first} again");
    assert_eq!(after, enumerate("p.heddle", "other"), "as from scratch");
}
