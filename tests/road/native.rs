//! The program without Heddle: what `heddle check --native` says of the corpus, what `heddle replay` and `heddle run --explore-native` show.

use heddle_bench::soundness::trial::Heddle;
use heddle_bench::verdicts;

use crate::workshop::Workshop;

/// All 30 programs, at 3, 5 and 7 threads, are `heddle-bench deadlocks _3_ _5_ _7_`.
#[test]
fn verdicts_on_the_corpus_are_right() {
    let words = [
        "_3_",
        "gate_lock",
        "ordered_locks",
        "phases",
        "semaphore_gate",
        "lock_",
        "count",
        "lost",
        "exit_locked",
    ];
    let words: Vec<String> = words.iter().map(ToString::to_string).collect();
    let heddle = Heddle(env!("CARGO_BIN_EXE_heddle").into());
    let workshop = Workshop::new();
    let mut wrong = String::new();
    let programs = verdicts::programs(&words).unwrap();
    assert!(programs.len() >= 24, "the corpus has more");
    for program in &programs {
        let row = verdicts::ask(&heddle, program, workshop.folder()).unwrap();
        println!("{}", verdicts::line(&row));
        if !row.is_right() {
            wrong += &format!(
                "{}\n{}{}",
                verdicts::line(&row),
                row.archive.problem,
                row.native.problem
            );
        }
    }
    assert!(wrong.is_empty(), "\n{wrong}");
}

/// Inputs that nobody assumed: orders of every length. What is found is certain; what is not is never called free.
#[test]
fn orders_without_end_are_given_up() {
    let workshop = Workshop::new();
    let relock = corpus("deadlock/relock.c");
    let found = workshop
        .heddle(["check", "--native", "--json", &relock])
        .exits(1);
    let id = only_id(&found.stdout);
    assert!(id.starts_with("relock-"), "{id}");
    assert!(found.stdout.contains(r#""confidence": "certain""#));
    // An input that people can type, and it happens.
    assert!(
        found.stdout.contains(r#""name": "argc", "value": "2""#),
        "{}",
        found.stdout
    );
    workshop.heddle(["replay", id.as_str(), &relock]).exits(0);
    let fixed = workshop
        .heddle([
            "check",
            "--native",
            "--json",
            "--states=2000",
            &relock,
            "--",
            "-DFIXED",
        ])
        .exits(0);
    assert!(
        fixed.stdout.contains(r#""verdict": "incomplete""#)
            && fixed.stdout.contains("orders beyond"),
        "{}",
        fixed.stdout
    );
    workshop
        .heddle([
            "check",
            "--native",
            "--fail-on=incomplete",
            "--states=2000",
            &relock,
            "--",
            "-DFIXED",
        ])
        .exits(1);
}

fn corpus(name: &str) -> String {
    format!("{}/bench/corpus/{name}", env!("CARGO_MANIFEST_DIR"))
}

/// A cycle behind more rounds than are followed: the program's text shows it, as possible.
#[test]
fn what_orders_do_not_reach_the_text_shows() {
    let workshop = Workshop::new();
    workshop.write("late.c", LATE);
    let report = workshop
        .heddle(["check", "--native", "--json", "--states=300", "late.c"])
        .exits(1)
        .stdout;
    for said in [
        r#""kind": "lock-cycle""#,
        r#""confidence": "possible""#,
        r#""complete": false"#,
        r#""leaves": 0"#,
    ] {
        assert!(report.contains(said), "{said}\n{report}");
    }
    workshop
        .heddle([
            "check",
            "--native",
            "--fail-on=certain",
            "--states=300",
            "late.c",
        ])
        .exits(0)
        .says(&["1 possible deadlock without Heddle"]);
    let id = only_id(&report);
    workshop
        .heddle(["replay", id.as_str(), "late.c"])
        .exits(2)
        .complains(&["comes from the program's text"]);
}

/// Opposite orders, but one of them only in the last of many rounds.
const LATE: &str = r#"
#include <pthread.h>
#include <stdlib.h>
static pthread_mutex_t a = PTHREAD_MUTEX_INITIALIZER, b = PTHREAD_MUTEX_INITIALIZER;
static int rounds, done;
static void *forth(void *p) {
    for (int i = 0; i < rounds; i++) { pthread_mutex_lock(&a); done++; pthread_mutex_unlock(&a); }
    pthread_mutex_lock(&a);
    pthread_mutex_lock(&b);
    pthread_mutex_unlock(&b);
    pthread_mutex_unlock(&a);
    return p;
}
static void *back(void *p) {
    for (int i = 0; i < rounds; i++) { pthread_mutex_lock(&a); done++; pthread_mutex_unlock(&a); }
    pthread_mutex_lock(&b);
    pthread_mutex_lock(&a);
    pthread_mutex_unlock(&a);
    pthread_mutex_unlock(&b);
    return p;
}
int main(int argc, char **argv) {
    pthread_t one, two;
    rounds = 1000 + (argc > 1 ? atoi(argv[1]) & 1023 : 0);
    pthread_create(&one, 0, forth, 0);
    pthread_create(&two, 0, back, 0);
    pthread_join(one, 0);
    pthread_join(two, 0);
    return 0;
}
"#;

/// Two workers take two locks in opposite orders if the input says so.
const OPPOSITE: &str = r#"
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
static pthread_mutex_t a = PTHREAD_MUTEX_INITIALIZER, b = PTHREAD_MUTEX_INITIALIZER;
static int swapped;
static void *forth(void *p) {
    pthread_mutex_lock(&a);
    pthread_mutex_lock(&b);
    pthread_mutex_unlock(&b);
    pthread_mutex_unlock(&a);
    return p;
}
static void *back(void *p) {
    pthread_mutex_t *first = &a, *second = &b;
    if (swapped) { first = &b; second = &a; }
    pthread_mutex_lock(first);
    pthread_mutex_lock(second);
    pthread_mutex_unlock(second);
    pthread_mutex_unlock(first);
    return p;
}
int main(int argc, char **argv) {
    pthread_t one, two;
    swapped = argc > 1 && atoi(argv[1]) == 42;
    pthread_create(&one, 0, forth, 0);
    pthread_create(&two, 0, back, 0);
    pthread_join(one, 0);
    pthread_join(two, 0);
    puts("ok");
    return 0;
}
"#;

/// The id of the only finding of a JSON report.
#[track_caller]
fn only_id(json: &str) -> String {
    let ids: Vec<&str> = json
        .split("\"id\": \"")
        .skip(1)
        .filter_map(|rest| rest.split('"').next())
        .collect();
    let [id] = ids.as_slice() else {
        panic!("not one finding: {ids:?}\n{json}");
    };
    (*id).to_owned()
}

#[test]
fn a_finding_is_replayed_and_provoked() {
    let workshop = Workshop::new();
    workshop.write("opposite.c", OPPOSITE);
    let report = workshop
        .heddle(["check", "--native", "--json", "opposite.c"])
        .exits(1);
    let id = only_id(&report.stdout);
    assert!(id.starts_with("lock-cycle-"), "{id}");
    assert!(
        report.stdout.contains(r#""value": "\"42\"""#),
        "{}",
        report.stdout
    );
    // The same every time, with the input that the solver found.
    for _ in 0..3 {
        workshop
            .heddle(["replay", id.as_str(), "opposite.c"])
            .exits(0)
            .complains(&[
                "has reached a deadlock that its archive knows",
                "it happened",
            ]);
    }
    workshop
        .heddle(["replay", "lock-cycle-00000000", "opposite.c"])
        .exits(2)
        .complains(&["no such finding; there are", &id]);
    // Without Heddle, only delayed: it hangs with the input that matters and ends with another.
    workshop
        .heddle(["run", "--explore-native", "opposite.c", "42"])
        .exits(1)
        .complains(&["the program hangs: its 3 threads"]);
    workshop
        .heddle(["run", "--explore-native", "opposite.c", "41"])
        .exits(0)
        .complains(&["no deadlock is known for these arguments: in every order it ends"]);
}

#[test]
fn gdb_stops_in_the_deadlock() {
    if std::process::Command::new("gdb")
        .arg("--version")
        .output()
        .is_err()
    {
        return;
    }
    let workshop = Workshop::new();
    workshop.write("opposite.c", OPPOSITE);
    let report = workshop
        .heddle(["check", "--native", "--json", "opposite.c"])
        .exits(1);
    let id = only_id(&report.stdout);
    let shown = workshop.heddle(["replay", "--stacks", id.as_str(), "opposite.c", "--", "-g"]);
    let all = format!("{}{}", shown.stdout, shown.stderr);
    assert!(all.contains("SIGABRT"), "{all}");
    for function in ["forth", "back", "main"] {
        assert!(
            all.contains(&format!("in {function} (")),
            "no {function} in\n{all}"
        );
    }
}

#[test]
fn suppressions_and_fail_on_decide_the_status() {
    let workshop = Workshop::new();
    workshop.write("opposite.c", OPPOSITE);
    let native = |more: &[&str]| {
        let mut words = vec!["check", "--native", "opposite.c"];
        words.extend(more);
        workshop.heddle(words)
    };
    let id = only_id(&native(&["--json"]).exits(1).stdout);
    native(&["--fail-on", "nothing"]).exits(0);
    native(&["--fail-on", "certain"]).exits(1);
    workshop.write(
        "known",
        format!("# known\n{id} until 9999-12-31 fixed in the next release\n"),
    );
    native(&["--suppressions", "known"]).exits(0);
    workshop.write(
        "old",
        format!("{id} until 2001-01-01 fixed long ago\nfile:other.c not ours\n"),
    );
    native(&["--suppressions", "old"]).exits(1).complains(&[
        "old: line 1: expired on 2001-01-01 and no longer suppresses",
        "old: line 2: matches nothing",
    ]);
    workshop.write("bad", id);
    native(&["--suppressions", "bad"])
        .exits(2)
        .complains(&["bad: line 1: say why"]);
    // Beside the program it is read by itself.
    workshop.write("heddle.suppressions", "function:forth the vendor's\n");
    native(&[]).exits(0);
}

/// A page of the unconstrained program: each deadlock has the picture of its own order, and nothing is said of an archive.
#[test]
fn each_deadlock_on_a_page_has_its_own_picture() {
    let shop = Workshop::new();
    shop.write(
        "two.c",
        "#include <pthread.h>
static pthread_mutex_t a = PTHREAD_MUTEX_INITIALIZER, b = PTHREAD_MUTEX_INITIALIZER, c = PTHREAD_MUTEX_INITIALIZER;
static void *one(void *p) { pthread_mutex_lock(&a); pthread_mutex_lock(&b); pthread_mutex_unlock(&b); pthread_mutex_unlock(&a); return p; }
static void *two(void *p) { pthread_mutex_lock(&b); pthread_mutex_lock(&a); pthread_mutex_unlock(&a); pthread_mutex_unlock(&b);
    pthread_mutex_lock(&c); pthread_mutex_lock(&c); return p; }
int main(void) { pthread_t t, u; pthread_create(&t, 0, one, 0); pthread_create(&u, 0, two, 0); pthread_join(t, 0); pthread_join(u, 0); return 0; }
",
    );
    shop.heddle(["check", "--native", "two.c", "--html", "two.html"])
        .exits(1);
    let page = std::fs::read_to_string(shop.path("two.html")).expect("page");
    let cards: Vec<&str> = page.split("<article").skip(1).collect();
    let of = |headline: &str| {
        let mut cards = cards.iter().filter(|card| card.contains(headline));
        let card = cards.next().expect("a card");
        let picture = card.split_once("<svg").expect("a picture").1;
        picture.split_once("</svg>").expect("its end").0.to_owned()
    };
    let (cycle, relock) = (
        of("threads wait in a cycle"),
        of("locks what it already holds"),
    );
    assert!(cycle.contains("waits: mutex_lock &quot;a&quot;"), "{cycle}");
    assert!(
        relock.contains("waits: mutex_lock &quot;c&quot;"),
        "{relock}"
    );
    assert!(!page.contains("id=\"epochs\"") && !page.contains("id=\"decisions\""));
}
