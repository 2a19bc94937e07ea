//! Pictures, JSON and differences of archives.

use expect_test::expect;
use schedules::archive_json::to_json;
use schedules::diff::diff;
use schedules::draw::{dot, pictures, svg};
use schedules::text::parse;

const HANDOVER: &str = include_str!("archives/handover.txt");
const RELOCK: &str = include_str!("archives/relock.txt");

#[test]
fn a_choice_must_exist() {
    let archive = parse(HANDOVER).unwrap();
    let refused = |choice| pictures(&archive, choice).unwrap_err().to_string();
    assert!(refused("x").starts_with("`x` does not choose a schedule"));
    assert!(refused("0/y").starts_with("`0/y` does not choose a schedule"));
    assert_eq!(
        refused("2"),
        "there is no epoch 2; the archive has 2, numbered from 0"
    );
    assert_eq!(
        refused("0/2"),
        "epoch 0 has no schedule 2; it has 2, numbered from 0"
    );
    assert_eq!(pictures(&archive, "0").unwrap().len(), 2);
    assert_eq!(pictures(&archive, "0/1").unwrap().len(), 1);
    assert_eq!(pictures(&archive, "epoch1").unwrap().len(), 1);
}

#[test]
fn nodes_stand_below_what_they_wait_for() {
    let archive = parse(HANDOVER).unwrap();
    for picture in ["0/0", "0/1", "1/0"].map(|choice| pictures(&archive, choice).unwrap()) {
        let picture = &picture[0];
        assert!(!picture.arrows.is_empty());
        for (from, to) in &picture.arrows {
            assert!(picture.marks[*from].row < picture.marks[*to].row);
            assert_ne!(picture.marks[*from].slot, picture.marks[*to].slot);
        }
    }
    let marks = &pictures(&archive, "0/0").unwrap()[0].marks;
    let nodes = archive
        .lanes_of(archive.steps[0].fragment)
        .chain(archive.lanes_of(archive.steps[1].fragment));
    assert_eq!(marks.len(), nodes.map(|lane| lane.len()).sum::<usize>());
}

#[test]
fn a_deadlock_as_a_graph() {
    let archive = parse(RELOCK).unwrap();
    expect![[r#"
        digraph schedules {
          rankdir=TB; newrank=true; compound=true;
          node [shape=box, fontname="monospace", fontsize=10, margin="0.08,0.03"];
          edge [fontname="monospace", fontsize=9];
          subgraph cluster_0 {
            label="relock.c: schedule epoch0/0 (2 in all)\ndeep != 0 (relock.c:20): yes\ndeadlock";
            subgraph cluster_0_0 {
              label="0: main";
              n0_0 [label="thread_create slot 1\nrelock.c:21"];
              s0_0 [label="waits: thread_join \"thread created at relock.c:21\"\nrelock.c:22", color=red];
              n0_0 -> s0_0;
            }
            subgraph cluster_0_1 {
              label="1: worker";
              n0_1 [label="thread_start\nrelock.c:11"];
              n0_2 [label="mutex_lock \"lock\"\nrelock.c:13"];
              n0_1 -> n0_2 [weight=10];
              s0_1 [label="waits: mutex_lock \"lock\"\nrelock.c:5", color=red];
              n0_2 -> s0_1;
            }
            n0_0 -> n0_1 [color=blue];
          }
        }
    "#]].assert_eq(&dot(&pictures(&archive, "0/0").unwrap()));
}

#[test]
fn a_deadlock_as_svg() {
    let archive = parse(
        &RELOCK
            .replace("object0 \"lock\"", "object0 \"a<b\"")
            .replace("\"lock\" ", "\"a<b\" "),
    )
    .unwrap();
    let text = svg(&pictures(&archive, "0/0").unwrap());
    for part in [
        "0: main",
        "1: worker",
        "waits: mutex_lock &quot;a&lt;b&quot;",
        "relock.c:13",
        "deadlock",
    ] {
        assert!(text.contains(part), "{part} in {text}");
    }
    assert!(!text.contains("a<b"));
    assert_eq!(text.matches("<circle").count(), 3);
    assert_eq!(text.matches("class=\"arrow\"").count(), 1);
}

#[test]
fn json_has_everything() {
    let archive = parse(include_str!("archives/everything.txt")).unwrap();
    expect_test::expect_file!["archives/everything.json"]
        .assert_eq(&format!("{}\n", to_json(&archive)));
}

#[test]
fn differences_are_told() {
    let old = parse(HANDOVER).unwrap();
    assert_eq!(diff(&old, &old), []);
    // Lines that moved are no change.
    let moved = HANDOVER.replace("a.c:3", "a.c:93");
    assert_eq!(diff(&old, &parse(&moved).unwrap()), []);
    let text = HANDOVER
        .replace("threads 2", "threads 3")
        .replace(
            "2 mutex_lock \"m\" @a.c:13 <- 1:2",
            "2 mutex_lock \"m\" @a.c:13",
        )
        .replace("      1 -> step2\n", "      1 -> step2\n      2 -> step2\n")
        .replace("exit\n", "next epoch0 moves - 0\n");
    let lines: String = diff(&old, &parse(&text).unwrap())
        .iter()
        .map(|d| format!("{d}\n"))
        .collect();
    expect![[r#"
        ~ thread bound: 2 -> 3
        ~ schedules: 3 -> 4
        ~ schedule epoch0/1 (getchar() == 'y': outcome 1)
        -     slot 0: mutex_lock "m" at a.c:13 <- 1:3
        +     slot 0: mutex_lock "m" at a.c:13
        + schedule epoch0/2 (getchar() == 'y': outcome 2)
        ~ schedule epoch1/0
        -     then exit
        +     then epoch0 (threads at a.c:10)
    "#]]
    .assert_eq(&lines);
    let other = parse(RELOCK).unwrap();
    let lines: String = diff(&old, &other)
        .iter()
        .map(|d| format!("{d}\n"))
        .collect();
    expect![[r#"
        ~ program: handover.c -> relock.c
        + assumption: argc < 4
        ~ epochs: 2 -> 1
        ~ schedules: 3 -> 2
        ~ deadlocks: 0 -> 1
        - schedule epoch0/0 (getchar() == 'y': outcome 0)
        - schedule epoch0/1 (getchar() == 'y': outcome 1)
        + schedule epoch0/1 (deep != 0: no)
        + schedule epoch0/0 (deep != 0: yes)
        - epoch1 (threads at a.c:33, a.c:15)
    "#]]
    .assert_eq(&lines);
}

#[test]
fn epochs_that_begin_alike_are_compared_one_by_one() {
    let (before, after) = HANDOVER.rsplit_once("next epoch1").unwrap();
    let end = "epoch2 slots 2 root step4 at context2 context1\n  step4 as step3\n    exit\n";
    let text = format!("{before}next epoch2{after}\n{end}");
    let old = parse(&text).unwrap();
    assert_eq!(diff(&old, &old), []);
    let changed = text.replacen("    exit\n", "    next epoch0 moves - 0\n", 1);
    let lines: String = diff(&old, &parse(&changed).unwrap())
        .iter()
        .map(|d| format!("{d}\n"))
        .collect();
    expect![[r#"
        ~ schedule epoch1/0
        -     then exit
        +     then epoch0 (threads at a.c:10)
    "#]]
    .assert_eq(&lines);
}
