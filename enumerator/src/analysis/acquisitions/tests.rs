//! Rows of small programs, printed: `function:line lock [held] {threads}`; `!` marks what must be held, `~` what is only read.

use expect_test::{Expect, expect};

use super::{Acquisition, Acquisitions, Named, ThreadKind};
use crate::analysis::locks::Site;
use crate::analysis::{Facts, names};
use crate::model::Module;
use crate::model::testing::compile;

const PRELUDE: &str = r#"
#include <pthread.h>
#include <stdlib.h>
#define lock pthread_mutex_lock
#define unlock pthread_mutex_unlock
pthread_mutex_t a = PTHREAD_MUTEX_INITIALIZER, b = PTHREAD_MUTEX_INITIALIZER, c = PTHREAD_MUTEX_INITIALIZER, l[8]; pthread_cond_t more; int x;
struct node { struct node *next; pthread_mutex_t m; } *head;
"#;

fn line(module: &Module, site: Site) -> u32 {
    let lines = PRELUDE.lines().count() as u32;
    module.functions[site.0].instrs[site.1].position.line - lines
}

fn named(module: &Module, named: &Named) -> String {
    let place =
        |(what, at): &(super::AbstractObject, super::Offset)| names::place(module, *what, *at);
    let mut all: Vec<String> = named.places.iter().map(place).collect();
    if named.unknown {
        all.push("unknown".to_owned());
    }
    all.join("|").replace("test.c:", "")
}

fn thread(module: &Module, all: &Acquisitions, id: super::ThreadId) -> String {
    let thread = &all.threads()[id];
    let name = &module.functions[thread.functions[0]].name;
    let many = if thread.many { "+" } else { "" };
    match thread.kind {
        ThreadKind::First => "main".to_owned(),
        ThreadKind::Created(site) => format!("{name}@{}{many}", line(module, site)),
        ThreadKind::Handler => format!("handler {name}"),
    }
}

fn row(module: &Module, all: &Acquisitions, row: &Acquisition) -> String {
    let held: Vec<String> = row
        .held
        .iter()
        .map(|hold| {
            let must = if hold.must { "!" } else { "" };
            let shared = if hold.shared { "~" } else { "" };
            format!("{}{must}{shared}", named(module, &hold.locks))
        })
        .collect();
    let chains: Vec<String> = row
        .chains
        .iter()
        .map(|(id, chain)| {
            let chain: Vec<String> = chain
                .iter()
                .map(|site| line(module, *site).to_string())
                .collect();
            format!("{}:{}", thread(module, all, *id), chain.join(","))
        })
        .collect();
    format!(
        "{}:{} {}{} [{}] {{{}}}\n",
        module.functions[row.site.0].name,
        line(module, row.site),
        named(module, &row.locks),
        if row.waits { "" } else { "?" },
        held.join(" "),
        chains.join(" ")
    )
}

/// The rows, then the pairs of lines that may be executed in parallel, then the pairs that a gate separates.
#[track_caller]
fn check(source: &str, expected: Expect) {
    let module = compile(&format!("{PRELUDE}{source}"));
    let facts = Facts::of(&module);
    let all = facts.acquisitions(&module);
    let mut text: String = all.rows.iter().map(|one| row(&module, &all, one)).collect();
    let mut pairs = std::collections::BTreeSet::new();
    let mut gates = std::collections::BTreeSet::new();
    for one in &all.rows {
        for other in &all.rows {
            let (from, to) = (line(&module, one.site), line(&module, other.site));
            if from <= to && all.overlap(one, other) {
                pairs.insert((from, to));
            }
            let gate = all.gates(one, other);
            if from < to && !gate.is_empty() {
                let places = Named {
                    places: gate,
                    unknown: false,
                };
                gates.insert(format!("gate {from} {to}: {}\n", named(&module, &places)));
            }
        }
    }
    let pairs: Vec<String> = pairs
        .iter()
        .map(|(from, to)| format!("{from}|{to}"))
        .collect();
    text += &format!("parallel {}\n", pairs.join(" "));
    text.extend(gates);
    expected.assert_eq(&text);
}

#[test]
fn opposite_orders_in_two_threads() {
    check(
        "void *one(void *p) {
            lock(&a);
            lock(&b); unlock(&b); unlock(&a); return p; }
        void *two(void *p) {
            lock(&b);
            lock(&a); unlock(&a); unlock(&b); return p; }
        int main(void) { pthread_t s, t;
            pthread_create(&s, 0, one, 0);
            pthread_create(&t, 0, two, 0); pthread_join(s, 0); pthread_join(t, 0); }",
        expect![[r#"
            one:2 a [] {one@8:}
            one:3 b [a!] {one@8:}
            two:5 b [] {two@9:}
            two:6 a [b!] {two@9:}
            parallel 2|5 2|6 3|5 3|6
        "#]],
    );
}

#[test]
fn a_gate_is_held_on_every_way() {
    check(
        "void *one(void *p) { lock(&c);
            lock(&a);
            lock(&b); unlock(&b); unlock(&a); unlock(&c); return p; }
        int main(int n, char **v) { pthread_t s; pthread_create(&s, 0, one, 0); if (n) lock(&c);
            lock(&b);
            lock(&a); unlock(&a); unlock(&b); if (n) unlock(&c);
            lock(&c);
            lock(&b); }",
        expect![[r#"
            one:1 c [] {one@4:}
            one:2 a [c!] {one@4:}
            one:3 b [c! a!] {one@4:}
            main:4 c [] {main:}
            main:5 b [c!] {main:}
            main:6 a [c! b!] {main:}
            main:5 b [] {main:}
            main:6 a [b!] {main:}
            main:7 c [] {main:}
            main:8 b [c!] {main:}
            parallel 1|4 1|5 1|6 1|7 1|8 2|4 2|5 2|6 2|7 2|8 3|4 3|5 3|6 3|7 3|8
            gate 2 3: c
            gate 2 5: c
            gate 2 6: c
            gate 2 8: c
            gate 3 5: c
            gate 3 6: c
            gate 3 8: c
            gate 5 6: c
            gate 5 8: c
            gate 6 8: c
        "#]],
    );
}

#[test]
fn wrappers_are_told_apart() {
    check(
        "static void take(pthread_mutex_t *m) { if (lock(m))
              abort(); }
        static void give(pthread_mutex_t *m) { unlock(m); }
        static void node_lock(struct node *n) { take(&n->m); }
        static void node_unlock(struct node *n) { give(&n->m); }
        int main(void) { take(&a);
            take(&b);
            give(&a); head = malloc(sizeof *head); node_lock(head);
            take(&c); node_unlock(head); give(&b);
            lock(&l[0]); }",
        expect![[r#"
            main:10 l[0] [c!] {main:}
            take:1 a [] {main:6}
            take:1 b [a!] {main:7}
            take:1 c [b! heap(15)+8!] {main:9}
            take:1 heap(15)+8 [b!] {main:8,4}
            parallel 
        "#]],
    );
}

#[test]
fn an_element_left_locked_in_a_loop_stays() {
    check(
        "int main(int n, char **v) { for (int i = 0; i < n; i++) { lock(&l[i]); if (i & 1) unlock(&l[i]); }
            lock(&b); }",
        expect![[r#"
            main:1 l[*] [l[*]] {main:}
            main:2 b [l[*]] {main:}
            parallel 
        "#]],
    );
}

#[test]
fn creation_and_join_order_threads() {
    check(
        "void *one(void *p) { lock(&a); unlock(&a); return p; }
        void *two(void *p) { lock(&b); unlock(&b); return p; }
        int main(void) { pthread_t s, t;
            lock(&c); unlock(&c);
            pthread_create(&s, 0, one, 0);
            lock(&c); unlock(&c);
            pthread_join(s, 0);
            lock(&c); unlock(&c);
            pthread_create(&t, 0, two, 0); pthread_join(t, 0); }",
        expect![[r#"
            one:1 a [] {one@5:}
            two:2 b [] {two@9:}
            main:4 c [] {main:}
            main:6 c [] {main:}
            main:8 c [] {main:}
            parallel 1|6
        "#]],
    );
}

#[test]
fn threads_of_a_loop_are_many() {
    check(
        "void *one(void *p) { lock(&a); unlock(&a); return p; }
        int main(int n, char **v) { pthread_t t[8];
            for (int i = 0; i < n; i++)
                pthread_create(&t[i], 0, one, 0);
            for (int i = 0; i < n; i++) pthread_join(t[i], 0);
            lock(&a); unlock(&a); }",
        expect![[r#"
            one:1 a [] {one@4+:}
            main:6 a [] {main:}
            parallel 1|1 1|6
        "#]],
    );
}

#[test]
fn grandchildren_count_until_they_are_joined() {
    check(
        "void *low(void *p) { lock(&a); unlock(&a); return p; }
        void *mid(void *p) { pthread_t t; pthread_create(&t, 0, low, 0);
            lock(&b); unlock(&b); pthread_join(t, 0); return p; }
        int main(void) { pthread_t s; pthread_create(&s, 0, mid, 0);
            lock(&c); unlock(&c); pthread_join(s, 0);
            lock(&c); unlock(&c); }",
        expect![[r#"
            low:1 a [] {low@2:}
            mid:3 b [] {mid@4:}
            main:5 c [] {main:}
            main:6 c [] {main:}
            parallel 1|3 1|5 3|5
        "#]],
    );
}

#[test]
fn a_try_takes_only_where_it_succeeds() {
    check(
        "int main(void) { if (pthread_mutex_trylock(&a) == 0) {
              lock(&b); unlock(&b); unlock(&a); } else {
              lock(&c); unlock(&c); } }",
        expect![[r#"
            main:1 a? [] {main:}
            main:2 b [a!] {main:}
            main:3 c [] {main:}
            parallel 
        "#]],
    );
}

#[test]
fn a_wait_takes_its_mutex_again() {
    check(
        "int main(void) { lock(&a); lock(&b); while (x)
              pthread_cond_wait(&more, &b);
            unlock(&b); unlock(&a); }",
        expect![[r#"
            main:1 a [] {main:}
            main:1 b [a!] {main:}
            main:2 b [a!] {main:}
            parallel 
            gate 1 2: a
        "#]],
    );
}

#[test]
fn a_recursive_mutex_stays_until_its_last_release() {
    check(
        "int main(void) { lock(&a); lock(&a); unlock(&a);
              lock(&b); unlock(&b); unlock(&a);
              lock(&c); }",
        expect![[r#"
            main:1 a [] {main:}
            main:1 a [a!] {main:}
            main:2 b [a!] {main:}
            main:3 c [] {main:}
            parallel 
            gate 1 2: a
        "#]],
    );
}

#[test]
fn callers_are_told_apart() {
    check(
        "static void f(void) { lock(&b); unlock(&b); }
        void *one(void *p) { lock(&a);
            f(); unlock(&a); return p; }
        int main(void) { pthread_t s; pthread_create(&s, 0, one, 0);
            f(); }",
        expect![[r#"
            one:2 a [] {one@4:}
            f:1 b [] {main:5}
            f:1 b [a!] {one@4:3}
            parallel 1|1 1|2
        "#]],
    );
}

#[test]
fn a_wrapper_takes_two_elements() {
    // The first is given back, the second stays.
    check(
        "static void take(pthread_mutex_t *m) {
              lock(m); }
        int main(int n, char **v) { pthread_mutex_t *p = &l[n & 3], *q = &l[(n & 3) + 1];
            take(p);
            take(q); unlock(p);
            lock(&b); }",
        expect![[r#"
            main:6 b [l[*]] {main:}
            take:2 l[*] [] {main:4}
            take:2 l[*] [l[*]!] {main:5}
            parallel 
        "#]],
    );
}

#[test]
fn what_is_called_back_may_release() {
    check(
        "int cmp(const void *p, const void *q) { if (x) unlock(&a); return 0; }
        int main(void) { lock(&a); lock(&c);
            qsort(l, 8, sizeof *l, cmp);
            lock(&b); }",
        expect![[r#"
            main:2 a [] {main:}
            main:2 c [a!] {main:}
            main:4 b [a c!] {main:}
            parallel 
        "#]],
    );
}

#[test]
fn many_callers_get_back_what_is_theirs() {
    let locks: Vec<String> = (0..12)
        .map(|n| format!("m{n} = PTHREAD_MUTEX_INITIALIZER"))
        .collect();
    let calls: String = (0..12)
        .map(|n| format!("lock(&m{n}); g(); lock(&c); unlock(&c); unlock(&m{n});"))
        .collect();
    let module = compile(&format!(
        "{PRELUDE} pthread_mutex_t {}; void g(void) {{ lock(&b); unlock(&b); }} int main(void) {{ {calls} }}",
        locks.join(", ")
    ));
    let facts = Facts::of(&module);
    let all = facts.acquisitions(&module);
    let of = |name: &str| -> Vec<&Acquisition> {
        let rows = all.rows.iter();
        rows.filter(|row| named(&module, &row.locks) == name)
            .collect()
    };
    let held: Vec<usize> = of("c").iter().map(|row| row.held.len()).collect();
    assert_eq!(held, [1; 12], "each holds its own lock only");
    let sure = |row: &&Acquisition| row.held.iter().all(|hold| hold.must);
    assert!(of("c").iter().all(sure));
    let most = of("b").iter().map(|row| row.held.len()).max();
    assert_eq!(
        most,
        Some(4),
        "the last four ways into the function are one"
    );
}

#[test]
fn a_try_in_another_function_is_not_this_one() {
    check(
        "static int f(pthread_mutex_t *m) { if (pthread_mutex_trylock(m)) return 0; return 1; }
        int main(void) { if (f(&a)) {
              lock(&b); unlock(&b); unlock(&a); }
            lock(&c); }",
        expect![[r#"
            main:3 b [a] {main:}
            main:4 c [a] {main:}
            f:1 a? [] {main:2}
            parallel 
        "#]],
    );
}
