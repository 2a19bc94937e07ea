//! The examples that must work, each from its C source to enforced runs, with the archive's text as golden file.

use std::collections::BTreeSet;
use std::time::Duration;

use schedules::ids::Id as _;
use schedules::trace::{RecordKind, Trace};
use schedules::{Archive, Next};

use crate::workshop::{Workshop, finish_within, golden, program};

/// Builds `NAME.c` as `NAME`, compares `heddle inspect` with `NAME.inspect`, and hands out the archive.
#[track_caller]
fn build(name: &str) -> (Workshop, Archive) {
    let source = format!("{name}.c");
    let shop = Workshop::with(&[&source]);
    shop.heddle(["build", &source, "-o", name]).exits(0);
    let archive = format!("{name}.heddle");
    shop.heddle(["inspect", "--verify", &archive]).exits(0);
    let text = shop
        .heddle(["inspect", "--without-identity", &archive])
        .exits(0)
        .stdout;
    golden(&format!("{name}.inspect"), &text);
    let archive = Archive::read(&shop.path(&archive)).expect("written by the command");
    assert!(archive.gaps.is_empty(), "complete: {:?}", archive.gaps);
    (shop, archive)
}

/// Leaves of all decision trees, by step.
fn leaves(archive: &Archive) -> Vec<&Next> {
    let next = archive.steps.iter().map(|step| &step.next);
    next.filter(|next| next.is_leaf()).collect()
}

/// Runs with a trace that must conform; the steps that the run went through.
#[track_caller]
fn steps(shop: &Workshop, name: &str, arguments: &[&str], expected: &str) -> BTreeSet<u32> {
    let run = shop.run(name, arguments, "trace=run.trace").exits(0);
    assert_eq!(run.stdout, expected);
    let archive = format!("{name}.heddle");
    shop.heddle(["conform", &archive, "run.trace"]).exits(0);
    let bytes = std::fs::read(shop.path("run.trace")).expect("trace");
    let trace = Trace::parse(&bytes).expect("whole trace");
    let entered = |kind| kind == RecordKind::Epoch || kind == RecordKind::Decision;
    trace
        .records
        .iter()
        .filter(|record| entered(record.kind))
        .map(|record| record.step)
        .collect()
}

#[test]
fn an_input_chooses_between_two_locks() {
    let name = "two_locks_by_input";
    let (shop, archive) = build(name);
    assert_eq!(leaves(&archive).len(), 2, "exactly two schedules");
    shop.heddle(["check", "two_locks_by_input.heddle"]).exits(0);
    let left = steps(&shop, name, &["1"], "left 111\n");
    let right = steps(&shop, name, &["-1"], "right 111\n");
    assert_ne!(left, right, "the trace shows which schedule was followed");
    assert_eq!(steps(&shop, name, &["77"], "left 111\n"), left);
    assert_eq!(steps(&shop, name, &[], "right 111\n"), right);
    let is_leaf = |step: &&u32| archive.steps[**step as usize].next.is_leaf();
    assert_eq!(left.iter().filter(is_leaf).count(), 1);
    assert_eq!(right.iter().filter(is_leaf).count(), 1);
}

#[test]
fn data_that_does_not_synchronize_has_one_schedule() {
    let name = "locked_sum";
    let (shop, archive) = build(name);
    assert_eq!(leaves(&archive).len(), 1, "one schedule, whatever the data");
    shop.heddle(["check", "locked_sum.heddle"]).exits(0);
    shop.shell("clang-19 -O2 locked_sum.c -o native -lpthread")
        .exits(0);
    let mut followed = BTreeSet::new();
    for seed in ["1", "2", "12345", "0"] {
        let native = shop.run("native", &[seed], "").exits(0);
        followed.insert(steps(&shop, name, &[seed], &native.stdout));
    }
    assert_eq!(followed.len(), 1);
}

/// How long a program that does a few microseconds' work may take before it counts as hanging.
const HANGS: Duration = Duration::from_secs(5);

#[test]
fn lock_order_cannot_deadlock_under_its_schedule() {
    let (shop, archive) = build("lock_order");
    assert!(
        !leaves(&archive)
            .iter()
            .any(|next| matches!(next, Next::Deadlock { .. }))
    );
    shop.heddle(["check", "lock_order.heddle"]).exits(0);
    delayed_runs(&shop, "lock_order");
}

/// The same delays make the native program hang and leave 1,000 enforced runs alone.
pub(crate) fn delayed_runs(shop: &Workshop, enforced: &str) {
    std::fs::copy(program("delays.c"), shop.path("delays.c")).expect("program");
    shop.shell(
        "clang-19 -O2 -shared -fPIC delays.c -o delays.so -ldl
         clang-19 -O2 lock_order.c -o native -lpthread",
    )
    .exits(0);
    let delayed = |name: &str, seed: u32| {
        let mut command = shop.command(shop.path(name));
        command
            .env("LD_PRELOAD", shop.path("delays.so"))
            .env("DELAYS_SEED", seed.to_string())
            .env("HEDDLE_OPTIONS", format!("jitter={seed}"));
        command
    };
    let hang = (0..200).find(|&seed| {
        finish_within(&mut delayed("native", seed), Duration::from_secs(1)).is_none()
    });
    assert!(hang.is_some(), "no delay made the native program hang");
    for seed in 0..1000 {
        let run = finish_within(&mut delayed(enforced, seed), HANGS);
        let run = run.unwrap_or_else(|| panic!("hangs under delays {seed}"));
        assert_eq!(run.exits(0).stdout, "a=80 b=120\n", "delays {seed}");
    }
}

#[test]
fn every_schedule_deadlocks() {
    let (shop, archive) = build("relock");
    let leaves = leaves(&archive);
    assert!(!leaves.is_empty());
    assert!(
        leaves
            .iter()
            .all(|next| matches!(next, Next::Deadlock { .. }))
    );
    shop.heddle(["check", "relock.heddle"])
        .exits(1)
        .says(&["relock.c:9:5: error", "16 |     pthread_mutex_lock(&lock);"]);
    // Under the runtime the deadlock is reported, not waited for.
    let run = finish_within(&mut shop.command(shop.path("relock")), HANGS).expect("reports");
    assert_eq!(run.status.code(), None, "ends by SIGABRT");
    run.complains(&["relock.c:9"]);
}

#[test]
fn a_deadlock_comes_with_its_input() {
    let (shop, archive) = build("relock_on_input");
    let deadlocks: Vec<_> = leaves(&archive)
        .into_iter()
        .filter_map(|next| match next {
            Next::Deadlock { input, .. } => Some(input),
            _ => None,
        })
        .collect();
    assert_eq!(deadlocks.len(), 1);
    let shown: Vec<String> = deadlocks[0]
        .iter()
        .map(|value| format!("{}={}", archive.texts[value.name.index()], value.value))
        .collect();
    assert!(shown.contains(&"argv[1]=\"7\"".to_owned()), "{shown:?}");
    shop.heddle(["check", "relock_on_input.heddle"])
        .exits(1)
        .says(&[
            "relock_on_input.c:12:9: error",
            "10 |     pthread_mutex_lock(&lock);",
            "argv[1] = \"7\"",
        ]);
    assert_eq!(
        shop.run("relock_on_input", &["6"], "").exits(0).stdout,
        "in\n"
    );
    let mut seven = shop.command(shop.path("relock_on_input"));
    let run = finish_within(seven.arg("7"), HANGS).expect("reports");
    assert_eq!(run.status.code(), None, "ends by SIGABRT");
}

/// The same program gives the same archive, byte for byte.
#[test]
fn archives_do_not_depend_on_the_run() {
    let shop = Workshop::with(&["two_locks_by_input.c"]);
    for name in ["one.heddle", "two.heddle"] {
        shop.heddle(["enumerate", "two_locks_by_input.c", "-o", name]);
    }
    let mut archives =
        ["one.heddle", "two.heddle"].map(|name| Archive::read(&shop.path(name)).expect("archive"));
    for archive in &mut archives {
        archive.program.name.clear();
    }
    assert!(archives[0].to_bytes() == archives[1].to_bytes());
}

/// More threads than the bound: the archive says what it does not cover, and where; a run that gets there is stopped.
#[test]
fn an_incomplete_archive_says_what_is_missing() {
    let shop = Workshop::with(&["locked_sum.c"]);
    shop.heddle(["build", "locked_sum.c", "-o", "prog", "--threads", "3"])
        .exits(1)
        .complains(&[
            "prog.heddle is incomplete",
            "locked_sum.c:",
            "more than 3 threads live at once with the one created at",
        ]);
    shop.heddle(["inspect", "--verify", "prog.heddle"]).exits(0);
    let run = finish_within(&mut shop.command(shop.path("prog")), HANGS).expect("is stopped");
    assert_eq!(run.status.code(), None, "ends by SIGABRT");
    assert_eq!(run.stdout, "");
    run.complains(&["more than 3 threads live at once"]);
}
