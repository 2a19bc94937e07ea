//! Effects of functions, regions and loops of small programs.

use schedules::ids::Id;

use super::{AbstractObject, Effects, Extent, Facts, SyncEffect};
use crate::model::testing::{compile, func};
use crate::model::{BlockId, Module};

const PRELUDE: &str = r#"
#include <pthread.h>
#include <stdlib.h>
#include <stdio.h>
#include <string.h>
pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER, n = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t c; int x, y, z; int a[100]; struct node { int v; struct node *next; pthread_mutex_t m; } *head;
"#;

const MAIN: &str = "\nint main(int c, char **v) { ((void (*)(int))f)(c); return 0; }";

fn facts(source: &str) -> (Module, Facts) {
    let module = compile(&format!("{PRELUDE}{source}{MAIN}"));
    let facts = Facts::of(&module);
    (module, facts)
}

/// Names of the globals that may be written, with ranges.
fn mods(module: &Module, effects: &Effects) -> String {
    let mut names: Vec<String> = effects
        .mods
        .objects
        .iter()
        .map(|(object, extent)| {
            let name = match object {
                AbstractObject::Global(id) => module.globals[*id].name.clone(),
                AbstractObject::Stack(func, _) => format!("stack:{}", module.functions[*func].name),
                AbstractObject::Heap(..) => "heap".to_owned(),
                AbstractObject::Function(_) => "code".to_owned(),
                AbstractObject::External => "external".to_owned(),
            };
            match extent {
                Extent::All => format!("{name}*"),
                Extent::Ranges(ranges) => format!("{name}{ranges:?}"),
            }
        })
        .collect();
    if effects.mods.everything {
        names.push("everything".to_owned());
    }
    names.join(" ")
}

#[track_caller]
fn check_mods(body: &str, expected: &str) {
    let (module, facts) = facts(body);
    let f = func(&module, "f");
    assert_eq!(mods(&module, facts.effects(f)), expected);
}

/// The branch of `f` whose region is largest, judged.
#[track_caller]
fn check_region(body: &str, sync: SyncEffect, may_end: bool) {
    let (module, facts) = facts(body);
    let f = func(&module, "f");
    let function = &module.functions[f];
    let branch = function
        .blocks
        .ids()
        .filter(|block| function.blocks[*block].succs.len() > 1)
        .max_by_key(|block| facts.cfg(f).between(function, *block).len())
        .expect("a branch");
    let effects = facts.region(f, branch);
    assert_eq!((effects.sync, effects.may_end), (sync, may_end));
}

#[test]
fn writes_reach_through_calls_and_pointers() {
    check_mods(
        "static void set(int *p) { *p = 1; } void f(void) { set(&x); y = 2; }",
        "x[(0, 4)] y[(0, 4)]",
    );
}

#[test]
fn a_function_forgets_its_own_stack() {
    check_mods(
        "void g(int *p) { *p = 1; } void f(void) { int l[4]; g(l); x = l[0]; }",
        "x[(0, 4)]",
    );
}

#[test]
fn library_calls_write_what_they_are_given() {
    check_mods(
        r#"void f(void) { memset(a, 0, 40); printf("%d", x); sscanf("1", "%d", &y); }"#,
        "a[(0, 40)] y[(0, 4)]",
    );
}

#[test]
fn unknown_code_may_write_what_escaped() {
    check_mods(
        "void what(int *); void f(void) { what(&x); y = 1; }",
        "y[(0, 4)] external* everything",
    );
}

#[test]
fn no_synchronization() {
    check_region(
        "void f(int i) { if (i) x = 1; else y = 1; z = 1; }",
        SyncEffect::None,
        false,
    );
}

#[test]
fn a_critical_section_is_balanced() {
    check_region(
        "void f(int i) { if (i) { pthread_mutex_lock(&m); x++; pthread_mutex_unlock(&m); } z = 1; }",
        SyncEffect::Balanced,
        false,
    );
}

#[test]
fn sections_behind_calls_and_pointers_are_balanced() {
    check_region(
        r#"void g(struct node *p) { pthread_mutex_lock(&p->m); p->v++; pthread_mutex_unlock(&p->m); }
        void f(int i) { if (i) { g(head); pthread_mutex_lock(&head->m); x++; pthread_mutex_unlock(&head->m); } z = 1; }"#,
        SyncEffect::Balanced,
        false,
    );
}

#[test]
fn an_address_that_changes_is_not_balanced() {
    check_region(
        "void f(int i) { if (i) { pthread_mutex_lock(&head->m); head = head->next; pthread_mutex_unlock(&head->m); } z = 1; }",
        SyncEffect::Any,
        false,
    );
}

#[test]
fn one_way_without_unlock_is_not_balanced() {
    check_region(
        "void f(int i) { if (i) { pthread_mutex_lock(&m); x++; if (i > 2) { y++; pthread_mutex_unlock(&m); } } z = 1; }",
        SyncEffect::Any,
        false,
    );
}

#[test]
fn loops_around_locks_need_a_constant_bound() {
    let body = |bound: &str| {
        format!(
            "void f(int i) {{ if (i) {{ for (int k = 0; k < {bound}; k++) {{
             pthread_mutex_lock(&m); x++; pthread_mutex_unlock(&m); }} }} z = 1; }}"
        )
    };
    check_region(&body("3"), SyncEffect::Balanced, false);
    check_region(&body("i"), SyncEffect::Any, false);
    check_region(&body("100000"), SyncEffect::Any, false);
}

#[test]
fn waiting_and_creating_are_anything() {
    check_region(
        "void f(int i) { if (i) { pthread_mutex_lock(&m); pthread_cond_wait(&c, &m); pthread_mutex_unlock(&m); } z = 1; }",
        SyncEffect::Any,
        false,
    );
    check_region(
        "void *t(void *p) { return p; } void f(int i) { pthread_t h; if (i) { pthread_create(&h, 0, t, 0); } z = 1; }",
        SyncEffect::Any,
        false,
    );
}

#[test]
fn the_end_of_the_process_is_noticed() {
    check_region(
        "void f(int i) { if (i) { puts(\"no\"); exit(1); } z = 1; }",
        SyncEffect::None,
        true,
    );
    check_region(
        "void f(int i) { if (i) { pthread_mutex_lock(&m); if (i > 3) abort(); pthread_mutex_unlock(&m); } z = 1; }",
        SyncEffect::Any,
        true,
    );
}

#[test]
fn callbacks_count() {
    check_region(
        r#"int cmp(const void *p, const void *q) { pthread_mutex_lock(&m); pthread_mutex_unlock(&m); return 0; }
        void f(int i) { if (i) { qsort(a, 100, 4, cmp); } z = 1; }"#,
        SyncEffect::Any,
        false,
    );
}

#[test]
fn recursion_that_synchronizes_is_anything() {
    let (module, facts) = facts(
        "void f(int i) { if (i) { pthread_mutex_lock(&m); x++; pthread_mutex_unlock(&m); f(i - 1); } }",
    );
    let f = func(&module, "f");
    assert!(facts.is_recursive(f));
    assert_eq!(facts.effects(f).sync, SyncEffect::Any);
}

#[test]
fn declarations_answer_from_the_table() {
    let (module, facts) =
        facts(r#"void f(void) { pthread_mutex_lock(&m); memset(a, 0, 8); puts("x"); exit(0); }"#);
    assert_eq!(
        facts.effects(func(&module, "pthread_mutex_lock")).sync,
        SyncEffect::Any
    );
    assert!(facts.effects(func(&module, "exit")).may_end);
    assert!(facts.effects(func(&module, "puts")).mods.is_empty());
    assert_eq!(facts.effects(func(&module, "f")).sync, SyncEffect::Any);
}

#[test]
fn loops_have_effects_and_bounds() {
    let (module, facts) = facts("void f(void) { for (int i = 0; i < 10; i++) a[i] = 0; }");
    let f = func(&module, "f");
    let id = facts.cfg(f).loops.ids().next().expect("a loop");
    assert_eq!(mods(&module, facts.loop_effects(f, id)), "a[(0, 400)]");
    assert_eq!(facts.trip_bound(f, id), Some(11));
    assert!(
        facts
            .block_effects(f, BlockId::from_index(0))
            .mods
            .is_empty()
    );
}

/// Lines of the program (without the prelude) with markers, and why other loops have none.
fn markers(source: &str) -> String {
    let (module, facts) = facts(source);
    let base = PRELUDE.lines().count() as u32;
    let line = |f: crate::model::FuncId, block: BlockId| {
        let function = &module.functions[f];
        function
            .block_instrs(block)
            .map(|(_, instr)| instr.position.line)
            .find(|line| *line > 0)
            .map_or(0, |line| line - base)
    };
    let mut text = String::new();
    for (f, block, why) in facts.markers() {
        let why = match why {
            super::Why::Loop(_) => "loop",
            super::Why::Recursion => "recursion",
            super::Why::CalledBack => "called back",
        };
        text += &format!("{} {why} {}\n", module.functions[*f].name, line(*f, *block));
    }
    for (f, id, why) in &facts.all_markers().exempt {
        let header = facts.cfg(*f).loops[*id].header;
        text += &format!(
            "{} none {} {why:?}\n",
            module.functions[*f].name,
            line(*f, header)
        );
    }
    text
}

#[test]
fn loops_that_synchronize_have_markers() {
    expect_test::expect![[r#"
        f loop 1
        f none 5 WaitsOnly
        f none 7 CreatesAndJoinsOnly
        f none 8 Bounded(4)
    "#]]
    .assert_eq(&markers(
        "void *t(void *p) { return p; } void f(int i) { for (int k = 0; k < i; k++) {
           pthread_mutex_lock(&m);
           x++;
           pthread_mutex_unlock(&m); }
         while (x) pthread_cond_wait(&c, &m);
         pthread_t h[9];
         for (int k = 0; k < i; k++) pthread_create(&h[k], 0, t, 0);
         for (int k = 0; k < 3; k++) pthread_mutex_lock(&m);
         for (int k = 0; k < i; k++) a[k]++; }",
    ));
}

#[test]
fn covered_loops_have_none() {
    expect_test::expect![[r#"
        g loop 1
        f none 2 Covered
    "#]]
    .assert_eq(&markers(
        "static void g(int i) { do { pthread_cond_signal(&c); } while (x++ < i); }
         void f(int i) { for (int k = 0; k < i; k++) g(k); }",
    ));
}

#[test]
fn a_loop_that_may_skip_the_inner_one_is_not_covered() {
    expect_test::expect![[r#"
        f loop 2
        f loop 2
    "#]]
    .assert_eq(&markers(
        "
         void f(int i) { for (int k = 0; k < i; k++) if (y) while (x++ < k) pthread_cond_signal(&c); }",
    ));
}

#[test]
fn recursion_has_its_marker_at_entry() {
    expect_test::expect![[r#"
        even recursion 2
    "#]]
    .assert_eq(&markers(
        "void even(int i); void odd(int i) { pthread_cond_signal(&c); if (i) even(i - 1); }
         void even(int i) { if (i) odd(i - 1); }
         void f(int i) { even(i); }",
    ));
}

#[test]
fn functions_that_the_library_calls_back() {
    let source = "int up(const void *a, const void *b) { pthread_mutex_lock(&m); pthread_mutex_unlock(&m); return 0; }
         int plain(const void *a, const void *b) { return a < b; }
         int (*by)(const void *, const void *);
         void f(int i) {
           by = i ? up : plain;
           qsort(a, 9, 4, by);
           qsort(a, 9, 4, plain);
           if (i > 1) atexit((void (*)(void))up); }";
    expect_test::expect![[r#"
        up called back 1
    "#]]
    .assert_eq(&markers(source));
    let (module, facts) = facts(source);
    let f = func(&module, "f");
    let calls: Vec<_> = facts.all_called_back().iter().collect();
    let [((caller, _), back)] = calls.as_slice() else {
        panic!("{calls:?}");
    };
    assert_eq!(*caller, f);
    assert_eq!(back.functions, [(3, func(&module, "up"))]);
    assert_eq!(back.silent, [func(&module, "plain")]);
    for (id, instr) in module.functions[f].instrs.iter() {
        if instr.call().is_some() {
            let called_back = facts.called_back(f, id).is_some();
            let registers = instr.call().is_some_and(|call| call.args.len() == 1);
            assert_eq!(facts.is_silent(f, id), !called_back && !registers, "{id}");
        }
    }
}
