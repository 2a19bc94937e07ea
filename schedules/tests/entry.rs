//! For whom threads wait when they enter an epoch: by what others may have left to do, and by what they do themselves.

use schedules::Archive;
use schedules::conform::conform;
use schedules::text::parse;
use schedules::trace::{Record, RecordKind, Trace};

/// Main and a worker live from epoch 1 on, which leads to epoch 2, which leads to epoch 1. What they do there is given, by line: epoch 1's
/// slots 0 and 1, then epoch 2's. Slots are exchanged each time; `?` behind a node makes it optional.
fn archive(tables: &str, lanes: [&str; 4], early: bool) -> Archive {
    let lane = |slot: usize, text: &str| {
        let nodes = text.split(", ").filter(|node| !node.is_empty());
        let nodes: String = nodes
            .enumerate()
            .map(|(index, node)| {
                let optional = if node.ends_with('?') { " optional" } else { "" };
                let node = node.trim_end_matches('?');
                format!("      {} {node} @a.c:{}{optional}\n", index + 1, 2 + index)
            })
            .collect();
        format!("    slot {slot}\n{nodes}")
    };
    let [a0, a1, b0, b1] = lanes;
    let second = match early {
        false => format!(
            "step2\n{}{}    next epoch1 moves 1 0\n",
            lane(0, b0),
            lane(1, b1)
        ),
        true => format!(
            "step2\n    early @a.c:2 predicate0 yes step3 no step4\nstep3\n{}{}    next epoch1 moves 1 0\nstep4\n    exit\n",
            lane(0, b0),
            lane(1, b1)
        ),
    };
    let text = format!(
        "program \"a.c\"\nthreads 2\norder all\n\
         site0 entry in main a.c:1\nsite1 point in main a.c:2\nsite2 point in main a.c:3\nsite3 point in main a.c:4\nsite4 point in main a.c:5\n\
         {tables}\n\
         context0 @a.c:1\ncontext1 @a.c:2\ncontext2 @a.c:3\n\
         predicate0 \"x\" : const1:1\n\
         epoch0 slots 2 root step0 at context0\nstep0\n    slot 0\n      1 thread_create slot 1 @a.c:2\n    slot 1\n      1 thread_start @a.c:1 <- 0:1\n    next epoch1 moves 0 1\n\
         epoch1 slots 2 root step1 at context1 context2\nstep1\n{}{}    next epoch2 moves 1 0\n\
         epoch2 slots 2 root step2 at context1 context1\n{second}",
        lane(0, a0),
        lane(1, a1),
    );
    parse(&text).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

const APART: &str =
    "object0 \"a\" in \"a\" at 0\nobject1 \"b\" in \"b\" at 0\nobject2 \"c\" in \"c\" at 0";

/// `1: 0<1` thread of slot 0 waits for slot 1 when it enters epoch 1.
#[track_caller]
fn check(archive: &Archive, expected: &str) {
    let mut waits = Vec::new();
    for (number, epoch) in archive.epochs.iter().enumerate() {
        for (slot, row) in epoch.entry.iter().enumerate() {
            for other in (0..32).filter(|other| row >> other & 1 == 1) {
                waits.push(format!("{number}: {slot}<{other}"));
            }
        }
    }
    assert_eq!(waits.join(", "), expected);
}

const LOCK_A: &str = "mutex_lock \"a\", mutex_unlock \"a\"";
const LOCK_B: &str = "mutex_lock \"b\", mutex_unlock \"b\"";

#[test]
fn locks_of_ones_own_keep_nobody_waiting() {
    // Slots are exchanged, so the lock stays with its thread.
    check(&archive(APART, [LOCK_A, LOCK_B, LOCK_B, LOCK_A], false), "");
    check(&archive(APART, [LOCK_A, "", "", LOCK_A], false), "");
}

#[test]
fn a_lock_in_common_does() {
    check(
        &archive(APART, [LOCK_A, LOCK_A, LOCK_B, LOCK_B], false),
        "1: 0<1, 1: 1<0, 2: 0<1, 2: 1<0",
    );
    // Who takes it in one epoch only is waited for in both: who is there may be any number of epochs behind.
    check(
        &archive(APART, [LOCK_A, "", "mutex_lock \"a\"", ""], false),
        "1: 0<1, 2: 0<1",
    );
}

#[test]
fn everybody_is_there_when_an_early_decision_is_taken() {
    check(
        &archive(APART, [LOCK_A, "", "mutex_lock \"a\"", ""], true),
        "1: 0<1",
    );
}

#[test]
fn what_is_not_known_may_be_anything() {
    let unknown = "object0 \"a\"\nobject1 \"b\" in \"b\" at 0";
    check(
        &archive(unknown, [LOCK_A, "", LOCK_B, ""], false),
        "1: 0<1, 2: 0<1",
    );
    check(&archive(APART, ["mutex_lock -", "", "", ""], false), "");
    check(
        &archive(APART, ["mutex_lock -", LOCK_B, "", ""], false),
        "1: 0<1, 1: 1<0",
    );
}

#[test]
fn places_in_one_piece_of_memory_are_told_apart_where_they_are_known() {
    let known = "object0 \"a\" in \"m\" at 0\nobject1 \"b\" in \"m\" at 40";
    check(&archive(known, [LOCK_A, LOCK_B, LOCK_B, LOCK_A], false), "");
    let unknown = "object0 \"a\" in \"m\" at 0\nobject1 \"b\" in \"m\"";
    check(
        &archive(unknown, [LOCK_A, "", LOCK_B, ""], false),
        "1: 0<1, 2: 0<1",
    );
}

#[test]
fn a_wait_is_about_its_mutex_too() {
    let wait = "cond_wait \"c\", cond_wake \"c\"";
    let paired = format!("{APART}\npair \"c\" \"a\"");
    check(&archive(&paired, [wait, LOCK_B, LOCK_B, wait], false), "");
    check(
        &archive(&paired, [wait, LOCK_A, "", ""], false),
        "1: 0<1, 1: 1<0",
    );
    // Without a pair it may be any mutex.
    check(
        &archive(APART, [wait, LOCK_B, "", ""], false),
        "1: 0<1, 1: 1<0",
    );
}

#[test]
fn ends_of_threads_concern_threads_only() {
    let threads = "thread_cancel -";
    check(
        &archive(APART, [threads, LOCK_B, LOCK_B, threads], false),
        "",
    );
    check(
        &archive(APART, [threads, "test_cancel", "", ""], false),
        "1: 0<1, 1: 1<0",
    );
}

fn record(archive: &Archive, sequence: u64, thread: u16, instance: u32, position: u32) -> Record {
    let exchanged = instance > 0 && instance.is_multiple_of(2);
    let slot = if exchanged { 1 - thread } else { thread };
    let step = archive.epochs[instance as usize].root;
    let fragment = archive.steps[step.0 as usize].fragment;
    let (node, _) = archive
        .lane_of(fragment, slot)
        .nth(position as usize)
        .unwrap();
    Record {
        sequence,
        thread: thread.into(),
        instance,
        step: step.0,
        position,
        site: node.site.0,
        what: node.what,
        slot,
        op: node.op,
        kind: RecordKind::Node,
    }
}

/// Thread, instance and position of each node, in the order of a log.
fn judged(archive: &Archive, events: &[(u16, u32, u32)]) -> Result<(), String> {
    let mut records: Vec<Record> = Vec::new();
    let mut begun = 0;
    for (thread, instance, position) in events {
        while begun <= *instance {
            let epoch = RecordKind::Epoch;
            let root = archive.epochs[begun as usize].root.0;
            let mut first = record(archive, records.len() as u64, 0, 0, 0);
            (first.kind, first.what, first.instance, first.step) = (epoch, begun, begun, root);
            records.push(first);
            begun += 1;
        }
        let sequence = records.len() as u64;
        records.push(record(archive, sequence, *thread, *instance, *position));
    }
    let program = archive.built_for();
    let trace = Trace { program, records };
    conform(archive, &trace)
        .map(|_| ())
        .map_err(|error| error.to_string())
}

/// A log in which one thread is an epoch ahead of the other conforms as long as they do not meet.
#[test]
fn a_log_may_be_ahead_where_nothing_is_shared() {
    let begin = [(0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 1, 1)];
    let run = |events: &[(u16, u32, u32)], archive| {
        let all: Vec<_> = begin.iter().chain(events).copied().collect();
        judged(archive, &all)
    };
    let apart = archive(APART, [LOCK_A, LOCK_B, LOCK_B, LOCK_A], false);
    run(
        &[(0, 2, 0), (0, 2, 1), (1, 1, 0), (1, 1, 1), (1, 2, 0)],
        &apart,
    )
    .unwrap();
    let shared = archive(APART, [LOCK_A, LOCK_B, LOCK_A, LOCK_B], false);
    run(&[(1, 1, 0), (1, 1, 1), (0, 2, 0), (1, 2, 0)], &shared).unwrap();
    let early = run(&[(0, 2, 0)], &shared).unwrap_err();
    assert!(
        early.contains("mutex_lock \"b\" at a.c:2 of slot 1"),
        "{early}"
    );
    // A node that may be left out is only noticed when it comes after all.
    let optional = archive(
        APART,
        [
            LOCK_A,
            "arm = 0?, mutex_lock \"b\"?, arms_end",
            LOCK_A,
            LOCK_B,
        ],
        false,
    );
    let late = run(&[(0, 2, 0), (1, 1, 0), (1, 1, 1)], &optional).unwrap_err();
    assert!(late.contains("had to wait for it"), "{late}");
}
