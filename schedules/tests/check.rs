//! The deadlock checker: each cause is recognized, alike ones are one finding, and the report tells what a person needs.

use expect_test::{Expect, expect};
use schedules::check::{Sources, check, to_json, to_text};
use schedules::text::parse;

const RELOCK: &str = include_str!("archives/relock.txt");

struct Relock;

impl Sources for Relock {
    fn line(&self, file: &str, line: u32) -> Option<String> {
        (file == "relock.c").then(|| format!("\tsource line {line};"))
    }
}

#[test]
fn a_finding_tells_everything() {
    let verdict = check(&parse(RELOCK).unwrap());
    expect![[r#"
        relock.c:5: deadlock 1: a thread locks what it already holds [relock-9a3ad28f, certain]
          thread worker, created at relock.c:21
            waits at relock.c:5 in add: mutex_lock "lock", which it holds itself
                  5 |     source line 5;
              called at relock.c:14 in worker
            holds "lock", taken at relock.c:13
                 13 |     source line 13;
          blocked by this: thread main waits in thread_join "thread created at relock.c:21" at relock.c:22
          happens if: deep != 0
          for example: argc = 2, argv[1] = "1"
          schedule: epoch0/0
            epoch0: deep != 0 (relock.c:20): yes
            thread main: thread_create slot 1 at relock.c:21
            thread worker: thread_start at relock.c:11
            thread worker: mutex_lock "lock" at relock.c:13
            as a picture: heddle inspect --svg 0/0 ARCHIVE
          to fix it: release the lock before, or split off a function that expects it to be held

        relock.c: 1 deadlock (2 schedules in 1 epoch, at most 2 threads)
          assuming: argc < 4
    "#]].assert_eq(&to_text(&verdict, &Relock));
    expect![[r#"
        {
          "version": 2,
          "program": "relock.c",
          "scope": "archive",
          "verdict": "deadlock",
          "complete": true,
          "epochs": 1,
          "schedules": 2,
          "thread_bound": 2,
          "assumptions": ["argc < 4"],
          "gaps": [],
          "explored": null,
          "findings": [
            {
              "id": "relock-9a3ad28f",
              "kind": "relock",
              "message": "a thread locks what it already holds",
              "advice": "release the lock before, or split off a function that expects it to be held",
              "confidence": "certain",
              "unknown": [],
              "suppressed": null,
              "leaves": 1,
              "threads": [
                {
                  "slot": 1,
                  "entry": "worker",
                  "created": {"file": "relock.c", "line": 21, "column": 5},
                  "operation": "mutex_lock",
                  "object": "lock",
                  "waits_for": [1],
                  "stack": [
                    {"function": "add", "file": "relock.c", "line": 5, "column": 5},
                    {"function": "worker", "file": "relock.c", "line": 14, "column": 5}
                  ],
                  "holds": [{"object": "lock", "file": "relock.c", "line": 13, "column": 5}]
                }
              ],
              "others": [
                {
                  "slot": 0,
                  "entry": "main",
                  "created": null,
                  "operation": "thread_join",
                  "object": "thread created at relock.c:21",
                  "waits_for": [1],
                  "stack": [{"function": "main", "file": "relock.c", "line": 22, "column": 5}],
                  "holds": []
                }
              ],
              "signals": [],
              "condition": ["deep != 0"],
              "input": [{"name": "argc", "value": "2"}, {"name": "argv[1]", "value": "\"1\""}],
              "route": [
                {
                  "epoch": 0,
                  "schedule": 0,
                  "decisions": [{"condition": "deep != 0", "place": "relock.c:20", "outcome": "yes"}]
                }
              ],
              "events": [
                {"slot": 0, "what": "thread_create slot 1", "file": "relock.c", "line": 21, "column": 5},
                {"slot": 1, "what": "thread_start", "file": "relock.c", "line": 11, "column": 0},
                {"slot": 1, "what": "mutex_lock \"lock\"", "file": "relock.c", "line": 13, "column": 5}
              ]
            }
          ],
          "warnings": []
        }"#]].assert_eq(&to_json(&verdict).to_string());
}

#[test]
fn no_deadlock_is_said() {
    let clean = include_str!("archives/handover.txt");
    let verdict = check(&parse(clean).unwrap());
    expect![[r#"
        handover.c: deadlock-free (3 schedules in 2 epochs, at most 2 threads)
    "#]]
    .assert_eq(&to_text(&verdict, &()));
    let gap = format!("{clean}\ngap0 \"time limit\"\ngap1 \"recursion is not bounded\" @a.c:31");
    let verdict = check(&parse(&gap).unwrap());
    expect![[r#"
        handover.c: no deadlock found, but the archive is incomplete (3 schedules in 2 epochs, at most 2 threads)
          incomplete: time limit
          incomplete: recursion is not bounded (a.c:31)
    "#]].assert_eq(&to_text(&verdict, &()));
}

/// An archive of two or three threads whose only leaf is this deadlock; `nodes` are those of slot 0.
fn deadlock(nodes: &str, lines: &str) -> String {
    let mut text = String::from("program \"p.c\"\n");
    for line in 0..20 {
        text += &format!("site{line} point in f p.c:{}\n", line + 1);
    }
    for object in ["a", "b", "c", "d"] {
        text += &format!("object{} \"{object}\"\n", object.as_bytes()[0] - b'a');
    }
    for context in 0..20 {
        text += &format!("context{context} @p.c:{}\n", context + 1);
    }
    text += "epoch0 slots 3 root step0 at context0\nstep0\nslot 0\n";
    text + nodes + "\ndeadlock possible\n" + lines
}

/// The causes found, each with the slots that make it and those that only suffer.
#[track_caller]
fn causes(nodes: &str, lines: &str, expected: Expect) {
    let verdict = check(&parse(&deadlock(nodes, lines)).unwrap());
    let mut text = String::new();
    for finding in &verdict.findings {
        let slots = |threads: &[schedules::check::Blocked]| -> Vec<u16> {
            threads.iter().map(|thread| thread.slot).collect()
        };
        let made = slots(&finding.threads);
        let suffered = slots(&finding.others);
        text += &format!(
            "{} by {made:?}, blocks {suffered:?}\n",
            finding.cause.code()
        );
    }
    expected.assert_eq(&text);
}

#[test]
fn causes_are_told_apart() {
    causes(
        "",
        "stuck slot 0 mutex_lock \"a\" in context1 for 1\nholds \"b\" @p.c:3
         stuck slot 1 mutex_lock \"b\" in context2 for 0\nholds \"a\" @p.c:4
         stuck slot 2 mutex_lock \"b\" in context3 for 0",
        expect![[r#"
            lock-cycle by [0, 1], blocks [2]
        "#]],
    );
    causes(
        "",
        "stuck slot 0 thread_join \"c\" in context1 for 1\nholds \"a\" @p.c:3
         stuck slot 1 mutex_lock \"a\" in context2 for 0",
        expect![[r#"
            join-cycle by [0, 1], blocks []
        "#]],
    );
    causes(
        "cond_signal \"c\" @p.c:9",
        "stuck slot 0 thread_join \"d\" in context1 for 1
         stuck slot 1 cond_wait \"c\" in context2",
        expect![[r#"
            lost-wake-up by [1], blocks [0]
        "#]],
    );
    causes(
        "cond_signal \"d\" @p.c:9",
        "stuck slot 1 cond_wait \"c\" in context2",
        expect![[r#"
            nobody-signals by [1], blocks []
        "#]],
    );
    causes(
        "",
        "stuck slot 0 barrier_leave \"a\" in context1
         stuck slot 1 barrier_leave \"a\" in context2
         stuck slot 2 sem_wait \"b\" in context2",
        expect![[r#"
            barrier-never-full by [0, 1], blocks []
            semaphore-starved by [2], blocks []
        "#]],
    );
    causes(
        "",
        "stuck slot 0 mutex_lock \"a\" in context1 for 2",
        expect![[r#"
            owner-ended by [0], blocks []
        "#]],
    );
    causes(
        "",
        "stuck slot 0 rw_write_lock \"a\" in context1\nholds \"a\" @p.c:3",
        expect![[r#"
            relock by [0], blocks []
        "#]],
    );
    causes(
        "",
        "stuck slot 0 thread_join \"a\" in context1 for 0",
        expect![[r#"
            join-cycle by [0], blocks []
        "#]],
    );
    causes(
        "",
        "stuck slot 0 once_enter \"a\" in context1 for 0",
        expect![[r#"
            once-cycle by [0], blocks []
        "#]],
    );
}

#[test]
fn alike_deadlocks_are_one_finding() {
    // The same two threads deadlock alike after two decisions; the certain one with an input is told.
    let text = RELOCK
        .replace("deadlock certain", "deadlock possible")
        .replace("input \"argc\" = \"2\"", "")
        .replace("input \"argv[1]\" = \"\\\"1\\\"\"", "")
        .replace(
            "  step2\n    exit\n",
            "step2\nslot 0\nmutex_lock \"lock\" @relock.c:5\ndeadlock certain
             stuck slot 1 mutex_lock \"lock\" in context2 for 1\nholds \"lock\" @relock.c:13",
        );
    let verdict = check(&parse(&text).unwrap());
    assert_eq!(verdict.findings.len(), 1);
    assert_eq!(verdict.findings[0].leaves, 2);
    assert!(verdict.findings[0].is_certain());
}

/// An archive of `main` and two workers with these lanes; the workers run at the same time unless edges say otherwise.
fn hints(first: &str, second: &str, start: &str, expected: Expect) {
    let mut text = String::from("program \"p.c\"\nthreads 3\n");
    for line in 0..20 {
        text += &format!("site{line} point in f p.c:{}\n", line + 1);
    }
    for object in ["a", "b", "g", "t"] {
        text += &format!("object{} \"{object}\"\n", "abgt".find(object).unwrap());
    }
    text += "context0 @p.c:1\nepoch0 slots 3 root step0 at context0\nstep0\nslot 0\n";
    text += "thread_create slot 1 @p.c:1\nthread_create slot 2 @p.c:2\nthread_join \"t\" @p.c:3 <- 1:99 2:99\n";
    let lane = |slot: u16, edge: &str, nodes: &str| {
        let nodes = nodes.replace(' ', "\n").replace('~', " ");
        format!("slot {slot}\nthread_start @p.c:4 <- {edge}\n{nodes}\nthread_exit @p.c:5\n")
    };
    text += &lane(1, "0:1", first);
    text += &lane(2, start, second);
    text += "exit\n";
    // Joins wait for the last node, wherever that is.
    for (slot, nodes) in [(1, first), (2, second)] {
        let length = nodes.split(' ').filter(|node| !node.is_empty()).count() + 2;
        text = text.replace(&format!("{slot}:99"), &format!("{slot}:{length}"));
    }
    let verdict = check(&parse(&text).unwrap());
    assert_eq!(verdict.findings, []);
    let lines: Vec<String> = verdict
        .warnings
        .iter()
        .map(|w| {
            let notes: Vec<String> = w.notes.iter().map(ToString::to_string).collect();
            format!("{}: {} [{}] {notes:?}\n", w.at, w.message, w.code)
        })
        .collect();
    expected.assert_eq(&lines.concat());
}

const AB: &str = "mutex_lock~\"a\"~@p.c:11 mutex_lock~\"b\"~@p.c:12 mutex_unlock~\"b\"~@p.c:13 mutex_unlock~\"a\"~@p.c:14";
const BA: &str = "mutex_lock~\"b\"~@p.c:15~<-~1:4 mutex_lock~\"a\"~@p.c:16~<-~1:5 mutex_unlock~\"a\"~@p.c:17 mutex_unlock~\"b\"~@p.c:18";

#[test]
fn hidden_lock_orders_are_told() {
    hints(
        AB,
        BA,
        "0:2",
        expect![[r#"
            p.c:12: 2 threads take locks in a cycle: safe under Heddle, can deadlock natively [lock-order] ["\"a\" is taken while holding \"b\" (taken in f), in f at p.c:16", "\"b\" is taken while holding \"a\" (taken in f), in f at p.c:12"]
        "#]],
    );
    // The same order.
    hints(AB, AB, "0:2", expect![[r#""#]]);
    // The second thread begins after the first has ended: they never meet.
    hints(AB, BA, "1:6", expect![[r#""#]]);
    // A lock around both.
    let gate = |inner: &str, edge: &str| {
        format!("mutex_lock~\"g\"~@p.c:6{edge} {inner} mutex_unlock~\"g\"~@p.c:7")
    };
    hints(&gate(AB, ""), &gate(BA, "~<-~1:7"), "0:2", expect![[r#""#]]);
    // Somebody forgets to unlock.
    hints(
        "mutex_lock~\"a\"~@p.c:11",
        "",
        "0:2",
        expect![[r#"
        p.c:11: a thread ends with "a" in its hands, taken here [held-at-end] []
    "#]],
    );
}

#[test]
fn threads_that_nobody_joins_are_told() {
    let text = include_str!("archives/handover.txt");
    let verdict = check(&parse(text).unwrap());
    assert_eq!(
        verdict.warnings,
        [],
        "what happens in later epochs is not known"
    );
    let alone = RELOCK
        .replace("    slot 1\n      1 thread_start @relock.c:11 <- 0:1\n      2 mutex_lock \"lock\" @relock.c:13\n    deadlock certain\n", "exit\n//")
        .lines()
        .filter(|line| !["stuck", "holds", "if ", "input", "//"].iter().any(|word| line.trim().starts_with(word)))
        .collect::<Vec<_>>()
        .join("\n");
    let verdict = check(&parse(&alone).unwrap());
    assert_eq!(verdict.warnings.len(), 1);
    assert_eq!(verdict.warnings[0].code, "never-joined");
    assert_eq!(verdict.warnings[0].at.to_string(), "relock.c:21");
}
