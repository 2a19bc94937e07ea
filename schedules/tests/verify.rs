//! The verifier: sound archives pass, and each rule catches what breaks it.

use expect_test::{Expect, expect};
use schedules::text::parse;
use schedules::verify::verify;
use schedules::{Archive, Node, ObjectId, WaitPair};

const HANDOVER: &str = include_str!("archives/handover.txt");

#[track_caller]
fn problems(archive: &Archive) -> String {
    let found = verify(archive);
    let lines: Vec<String> = found.iter().map(ToString::to_string).collect();
    lines.join("\n")
}

/// The problems of [`HANDOVER`] with one replacement.
#[track_caller]
fn with(from: &str, to: &str, expected: Expect) {
    assert!(HANDOVER.contains(from), "{from}");
    let text = HANDOVER.replacen(from, to, 1);
    expected.assert_eq(&problems(&parse(&text).unwrap()));
}

#[test]
fn sound_archives_pass() {
    assert_eq!(problems(&parse(HANDOVER).unwrap()), "");
    let relock = include_str!("archives/relock.txt");
    assert_eq!(problems(&parse(relock).unwrap()), "");
}

#[test]
fn tables() {
    let id = format!("{HANDOVER}\nidentity site3 0x3\n");
    expect!["rule 1: site2 and site3 have the same stable id"]
        .assert_eq(&problems(&parse(&id).unwrap()));
    let mut archive = parse(HANDOVER).unwrap();
    archive.contexts[1].hash ^= 1;
    expect!["rule 1: the hash of context1 is not that of its frames"]
        .assert_eq(&problems(&archive));
    with(
        "context1 @a.c:10 @a.c:15",
        "context1 @a.c:10",
        expect!["rule 1: context0 and context1 have the same hash"],
    );
    with(
        "at context2 context1",
        "at context0",
        expect![[r#"
        rule 8: step1 of epoch0: the slots it moves to are not those of the next epoch's threads
        rule 8: step2 of epoch0: the slots it moves to are not those of the next epoch's threads
        rule 7: step3 of epoch1: slot 1 acts before its thread is created
        rule 7: step3 of epoch1: slot 1 does not begin with a start that waits for its creation"#]],
    );
    with(
        "threads 2",
        "threads 1",
        expect!["rule 2: epoch1 begins with 2 threads; the bound is 1"],
    );
    let lost = format!("{HANDOVER}\nstep4 as step3\nexit\n");
    expect!["rule 3: step4 belongs to no epoch"].assert_eq(&problems(&parse(&lost).unwrap()));
    with(
        "plan marker @a.c:15",
        "plan marker @a.c:33",
        expect![[r#"
        rule 4: the plan has site9 twice
        rule 4: the plan lacks site5, which a marker needs"#]],
    );
    with(
        "plan decision @a.c:12",
        "",
        expect![[r#"
        rule 4: the plan lacks site2, which a branch needs
        rule 4: the plan lacks site2, which a late decision needs"#]],
    );
    with(
        "plan elastic @a.c:34 join 4",
        "",
        expect!["rule 4: the plan lacks site10, which an elastic branch needs"],
    );
    with(
        "plan marker @a.c:15",
        "plan marker @a.c:15\nplan callback @a.c:15 argument 3 f\nplan callback @a.c:15",
        expect!["rule 4: the plan has site5 twice"],
    );
    with(
        "plan decision @a.c:12",
        "plan decision @a.c:12\nplan decision @a.c:34",
        expect!["rule 4: the plan has site10 twice"],
    );
}

#[test]
fn trees() {
    with("epoch1 slots 2", "epoch1 slots 3", expect![""]);
    with("exit\n", "next epoch0 moves - 0\n", expect![""]);
    with(
        "exit\n",
        "next epoch0 moves 0 -\n",
        expect!["rule 8: step3 of epoch1: a thread moves that may have ended"],
    );
    with(
        "exit\n",
        "next epoch1 moves 0 0\n",
        expect![[r#"
        rule 8: step3 of epoch1: a thread moves that may have ended
        rule 8: step3 of epoch1: two threads move to one slot
        rule 8: step3 of epoch1: the slots it moves to are not those of the next epoch's threads"#]],
    );
    with(
        "1 branch = 0",
        "1 branch = 1",
        expect!["rule 6: step1 does not begin with what its late decision at site2 decides"],
    );
    with(
        "thread_start @a.c:30 <- 0:1",
        "thread_start @a.c:30",
        expect![
            "rule 7: step0 of epoch0: slot 1 does not begin with a start that waits for its creation"
        ],
    );
    with(
        "1 thread_create slot 1 @a.c:11",
        "1 thread_create slot 0 @a.c:11",
        expect![[r#"
            rule 7: step0 of epoch0: slot 0 is given to a new thread, but is not free
            rule 7: step0 of epoch0: slot 1 acts before its thread is created
            rule 7: step1 of epoch0: slot 1 acts before its thread is created
            rule 8: step1 of epoch0: a thread moves that may not have been created
            rule 7: step2 of epoch0: slot 1 acts before its thread is created
            rule 8: step2 of epoch0: a thread moves that may not have been created"#]],
    );
    with(
        "exit\n",
        "deadlock certain\n",
        expect!["rule 9: step3 is a deadlock of nobody, or names somebody twice"],
    );
}

#[test]
fn lanes() {
    with(
        "<- 0:1\n",
        "<- 0:2\n",
        expect![
            "rule 10: fragment0, slot 1, node 1: it waits for a node that the fragment does not have"
        ],
    );
    with(
        "<- 0:1\n",
        "<- 0:0\n",
        expect!["rule 10: fragment0, slot 1, node 1: it waits for a node before the epoch's first"],
    );
    with(
        "<- 0:1\n",
        "<- 0:1 1:0\n",
        expect![[r#"
        rule 10: fragment0, slot 1, node 1: it waits for its own slot
        rule 10: fragment0, slot 1, node 1: it waits for a node before the epoch's first"#]],
    );
    with(
        "2 mutex_lock \"m\" @a.c:13\n",
        "2 mutex_lock \"m\" @a.c:13 <- 1:1\n",
        expect!["rule 10: fragment1: nodes wait for each other in a cycle"],
    );
    with(
        "5 mutex_lock \"m\" @a.c:35 optional",
        "5 mutex_lock \"m\" @a.c:35",
        expect!["rule 11: fragment3, slot 0, node 5: it is in an arm, but not optional"],
    );
    with(
        "7 arms_end @a.c:34",
        "7 arms_end @a.c:34 optional",
        expect!["rule 11: fragment3, slot 0, node 7: it is optional, but in no arm"],
    );
    with(
        "4 arm = 1",
        "4 arm = 0",
        expect!["rule 11: fragment3, slot 0, node 4: an arm has the outcome of another"],
    );
    with(
        "      7 arms_end @a.c:34\n      8",
        "      7",
        expect![[r#"
        rule 11: fragment3, slot 0, node 7: it is in an arm, but not optional
        rule 11: fragment3, slot 0, node 7: the lane ends before the arms do
        rule 10: fragment3, slot 1, node 1: it waits for a node that the fragment does not have"#]],
    );
    with(
        "8 thread_exit @a.c:30",
        "8 mutex_unlock \"m\" @a.c:31",
        expect!["rule 12: fragment3, slot 0, node 8: its operation does not fit its site"],
    );
    with(
        "8 thread_exit @a.c:30",
        "8 thread_exit @a.c:30 serial",
        expect!["rule 12: fragment3, slot 0, node 8: only a barrier has a serial thread"],
    );
    let mut archive = parse(HANDOVER).unwrap();
    archive.nodes[0].flags ^= Node::PUBLISHES;
    archive.nodes[2].flags ^= Node::PUBLISHES;
    expect![[r#"
        rule 13: node 0 of the table is waited for and does not publish
        rule 13: node 2 of the table publishes and nobody waits for it"#]]
    .assert_eq(&problems(&archive));
}

#[test]
fn order() {
    with(
        "1 mutex_lock \"m\" @a.c:31 <- 0:3",
        "1 mutex_lock \"m\" @a.c:31",
        expect![[
            r#"rule 14: epoch0, schedule 0: mutex_unlock "m" of slot 0 at a.c:14 and mutex_lock "m" of slot 1 at a.c:31 are not ordered"#
        ]],
    );
    // The join orders the lock already; without it the lock has to wait itself, and not only for the first arm.
    let waiting_for = |position: &str| {
        let join = "@a.c:16 <- 0:8\n      2 mutex_lock \"m\" @a.c:13";
        let lock = format!("@a.c:16\n      2 mutex_lock \"m\" @a.c:13 <- 0:{position}");
        assert!(HANDOVER.contains(join));
        HANDOVER.replace(join, &lock)
    };
    assert_eq!(problems(&parse(&waiting_for("6")).unwrap()), "");
    let text = waiting_for("3");
    expect![[r#"rule 14: epoch1, schedule 0: mutex_unlock "m" of slot 0 at a.c:36 and mutex_lock "m" of slot 1 at a.c:13 are not ordered"#]].assert_eq(&problems(&parse(&text).unwrap()));
}

#[test]
fn edges_are_reduced() {
    let lock = "2 mutex_lock \"m\" @a.c:13\n";
    let implied = HANDOVER.rfind(lock).unwrap();
    let (before, after) = HANDOVER.split_at(implied);
    let text = before.to_owned() + &after.replacen("@a.c:13", "@a.c:13 <- 0:6", 1);
    expect!["rule 15: fragment3, slot 1, node 1: has an edge that the others imply"]
        .assert_eq(&problems(&parse(&text).unwrap()));
}

#[test]
fn what_is_learned_in_an_arm_counts_in_it_alone() {
    // Both slots pass an elastic branch; the lock in the second arm waits, so its unlock need not.
    let arms = "      1 arm = 0 @a.c:34 optional
      2 mutex_lock \"m\" @a.c:35 optional <- 0:6
      3 mutex_unlock \"m\" @a.c:36 optional
      4 arms_end @a.c:34
      5 mutex_lock \"m\" @a.c:13 <- 0:6
";
    let join = "      1 thread_join \"thread created at a.c:11\" @a.c:16 <- 0:8
      2 mutex_lock \"m\" @a.c:13
";
    let inside = HANDOVER.replace(join, arms);
    assert_eq!(problems(&parse(&inside).unwrap()), "");
    // Behind the arm nothing is known of it: it may have been skipped.
    let behind = inside.replace(
        "5 mutex_lock \"m\" @a.c:13 <- 0:6",
        "5 mutex_lock \"m\" @a.c:13",
    );
    expect![[r#"rule 14: epoch1, schedule 0: mutex_unlock "m" of slot 0 at a.c:36 and mutex_lock "m" of slot 1 at a.c:13 are not ordered"#]]
        .assert_eq(&problems(&parse(&behind).unwrap()));
}

#[test]
fn entries() {
    let mut archive = parse(HANDOVER).unwrap();
    assert_eq!(archive.epochs[1].entry, [0b10, 0b01]);
    archive.epochs[1].entry[0] = 0;
    expect!["rule 16: epoch1 does not say for whom its threads wait when they enter it"]
        .assert_eq(&problems(&archive));
    let mut archive = parse(HANDOVER).unwrap();
    let pair = WaitPair {
        condition: ObjectId(1),
        mutex: ObjectId(0),
    };
    archive.pairs = vec![pair, pair];
    expect!["rule 16: the pairs of conditions and mutexes do not ascend"]
        .assert_eq(&problems(&archive));
}
