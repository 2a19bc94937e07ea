//! Points-to sets of small programs: each program marks values by `mark(name, pointer)`; the answer is printed.

use expect_test::{Expect, expect};

use super::{AbstractObject, Offset};
use crate::analysis::Facts;
use crate::model::testing::compile;
use crate::model::{Const, InitValue, InstrKind, Module, Value};

/// Every call `mark("name", p)` in the program, with what `p` may point to; objects by their source names.
#[track_caller]
fn check(source: &str, expected: Expect) {
    let source = format!("void mark(const char *n, const volatile void *p) {{}}\n{source}");
    let module = compile(&source);
    let facts = Facts::of(&module);
    let mut lines = Vec::new();
    for (func, function) in module.functions.iter() {
        for (_, instr) in function.instrs.iter() {
            let Some(call) = instr.call() else { continue };
            let crate::model::Callee::Direct(target) = call.callee else {
                continue;
            };
            if module.functions[target].name == "mark" {
                let found = facts.points_to(func, &call.args[1]);
                let mut places: Vec<String> = found
                    .places
                    .iter()
                    .map(|(object, offset)| place(&module, *object, *offset))
                    .collect();
                places.sort();
                if found.unknown {
                    places.push("unknown".to_owned());
                }
                lines.push(format!(
                    "{}: {}\n",
                    text(&module, &call.args[0]),
                    places.join(" ")
                ));
            }
        }
    }
    lines.sort();
    expected.assert_eq(&lines.concat());
}

fn text(module: &Module, value: &Value) -> String {
    let Value::Const(Const::Global { global, .. }) = value else {
        panic!("a literal")
    };
    let InitValue::Bytes(bytes) = &module.globals[*global].init[0].value else {
        panic!("a string")
    };
    String::from_utf8_lossy(bytes)
        .trim_end_matches('\0')
        .to_owned()
}

fn place(module: &Module, object: AbstractObject, offset: Offset) -> String {
    let name = match object {
        AbstractObject::Global(id) => module.globals[id].name.clone(),
        AbstractObject::Function(id) => module.functions[id].name.clone(),
        AbstractObject::Stack(func, id) => {
            let instr = &module.functions[func].instrs[id];
            assert!(matches!(
                instr.kind,
                InstrKind::Alloca { .. } | InstrKind::Call(_)
            ));
            instr.variable.clone().unwrap_or("stack".to_owned())
        }
        AbstractObject::Heap(func, id) => {
            format!(
                "heap:{}",
                module.functions[func].instrs[id].position.line - 1
            )
        }
        AbstractObject::External => return "external".to_owned(),
    };
    match offset {
        Offset::Exact(0) => name,
        Offset::Exact(offset) => format!("{name}+{offset}"),
        Offset::Strided { first, stride, .. } => format!("{name}+{first}%{stride}"),
        Offset::Any => format!("{name}+?"),
    }
}

#[test]
fn fields_are_told_apart() {
    check(
        r#"
        struct s { int *a, *b; } g; int x, y;
        void f(void) { g.a = &x; g.b = &y; }
        int main(void) { f(); mark("a", g.a); mark("b", g.b); mark("fb", &g.b); }"#,
        expect![[r#"
            a: x
            b: y
            fb: g+8
        "#]],
    );
}

#[test]
fn a_variable_index_folds_an_array_only() {
    check(
        r#"
        struct s { long lock[5]; int *p[4]; int *last; } g; int x, y, z;
        int main(int c, char **v) {
            g.p[c] = &x; g.p[2] = &y; g.last = &z;
            mark("p0", g.p[0]); mark("last", g.last); mark("lock", &g.lock); mark("pc", &g.p[c]);
        }"#,
        expect![[r#"
            last: z
            lock: g
            p0: x y
            pc: g+40%8
        "#]],
    );
}

#[test]
fn heap_lists_and_arrays_of_structs() {
    check(
        r#"
        void *malloc(unsigned long); int x;
        struct n { struct n *next; int *v; } *head;
        int main(int c, char **v) {
            for (int i = 0; i < c; i++) {
                struct n *n = malloc(16); n->next = head; n->v = &x; head = n;
            }
            for (struct n *n = head; n; n = n->next) { mark("n", n); mark("v", n->v); }
            struct n *a = malloc(c * 16);
            for (int i = 0; i < c; i++) a[i].v = &x;
            mark("av", &a[c].v); mark("avv", a[c].v); mark("an", a[c].next);
        }"#,
        expect![[r#"
            an: 
            av: heap:9+8%16
            avv: x
            n: heap:6
            v: x
        "#]],
    );
}

#[test]
fn threads_get_their_argument_and_return_it() {
    check(
        r#"
        #include <pthread.h>
        int x, y;
        void *run(void *p) { mark("arg", p); return &y; }
        int main(void) {
            pthread_t t; void *r; pthread_create(&t, 0, run, &x); pthread_join(t, &r); mark("r", r);
        }"#,
        expect![[r#"
            arg: x
            r: y
        "#]],
    );
}

#[test]
fn function_pointers_are_resolved_on_the_fly() {
    check(
        r#"
        int x, y; int *fx(void) { return &x; } int *fy(int *p) { mark("p", p); return p; }
        int *(*table[2])() = { fx, fy };
        int main(int c, char **v) { mark("r", table[c](&y)); mark("t", table[c]); }"#,
        expect![[r#"
            p: y
            r: x y
            t: fx fy
        "#]],
    );
}

#[test]
fn structs_are_copied_field_by_field() {
    check(
        r#"
        struct s { int *a; char buffer[64]; int *b; } g, h; int x, y;
        int main(void) { g.a = &x; g.b = &y; h = g; mark("a", h.a); mark("b", h.b); }"#,
        expect![[r#"
            a: x
            b: y
        "#]],
    );
}

#[test]
fn bytes_carry_pointers() {
    check(
        r#"
        int x; int *p, *q;
        int main(void) {
            p = &x;
            for (int i = 0; i < 8; i++) ((char *)&q)[i] = ((char *)&p)[i];
            mark("q", q);
        }"#,
        expect![[r#"
            q: x
        "#]],
    );
}

#[test]
fn unknown_code_sees_what_escapes_and_nothing_else() {
    check(
        r#"
        void unknown(void *); void *other(void); int x, y; int *p = &x, *q = &y;
        int main(int c, char **v) {
            unknown(&p); mark("p", p); mark("q", q); mark("o", other()); mark("argv", v[1]);
        }"#,
        expect![[r#"
            argv: external
            o: external unknown
            p: external x unknown
            q: y
        "#]],
    );
}

#[test]
fn variadic_arguments_arrive() {
    check(
        r#"
        #include <stdarg.h>
        int x, y;
        void f(int n, ...) { va_list l; va_start(l, n); mark("v", va_arg(l, int *)); va_end(l); }
        int main(void) { f(2, &x, &y); }"#,
        expect![[r#"
            v: x y
        "#]],
    );
}

#[test]
fn what_is_passed_by_value_is_copied() {
    check(
        r#"
        struct large { int *p; long rest[7]; }; int x, y;
        void f(struct large s) { mark("in", s.p); s.p = &y; mark("s", &s.p); mark("after", s.p); }
        int main(void) { struct large l = { &x }; f(l); mark("out", l.p); }"#,
        expect![[r#"
            after: x y
            in: x y
            out: x
            s: stack
        "#]],
    );
}

#[test]
fn the_library_returns_what_its_table_says() {
    check(
        r#"
        #include <string.h>
        #include <stdlib.h>
        char text[20]; int cmp(const void *a, const void *b) { mark("a", a); return 0; }
        long keys[9];
        int main(void) {
            char *end; strtol(text, &end, 10); mark("end", end); mark("chr", strchr(text, 'x'));
            qsort(keys, 9, 8, cmp); mark("dup", strdup(text)); mark("env", getenv("HOME"));
            char **grown = realloc(malloc(8), 16); mark("grown", grown);
        }"#,
        expect![[r#"
            a: keys+0%8
            chr: text+0%1
            dup: heap:8
            end: text+?
            env: external
            grown: heap:9
        "#]],
    );
}

#[test]
fn a_member_leads_to_its_container() {
    check(
        r#"
        struct node { struct node *next; }; struct item { long key; struct node link; int *v; } g; int x;
        int main(void) {
            struct node *n = &g.link; g.v = &x;
            struct item *i = (struct item *)((char *)n - 8); mark("item", i); mark("v", i->v);
        }"#,
        expect![[r#"
            item: g
            v: x
        "#]],
    );
}

#[test]
fn a_step_back_in_an_array_stays_in_it() {
    check(
        r#"
        struct s { long head; struct { long k; int *p; } a[4]; } g; int x;
        int main(int c, char **v) {
            g.a[c].p = &x;
            mark("back", &(&g.a[c])[-1]); mark("p", (&g.a[c])[-2].p);
        }"#,
        expect![[r#"
            back: g+8%16
            p: x
        "#]],
    );
}

#[test]
fn an_array_of_one_array_ends() {
    check(
        "struct s { int a[1][4]; int *p; } x; int y;
         int main(int argc, char **argv) { x.p = &y; mark(\"a\", &x.a[argc - 1][argc]); mark(\"p\", x.p); return 0; }",
        expect![[r#"
            a: x+0%4
            p: y
        "#]],
    );
}

#[test]
fn wrappers_of_malloc_are_told_apart_by_their_calls() {
    check(
        r#"
        void *malloc(unsigned long); void exit(int); int x, y; struct box { int *v; } *a, *b, *c; void *last;
        void *xmalloc(unsigned long n) { void *p = malloc(n); if (!p) exit(1); last = p; return p; }
        struct box *new_box(int *v) { struct box *b = xmalloc(sizeof *b); b->v = v; return b; }
        void *(*indirect)(unsigned long) = xmalloc;
        int main(void) {
            a = xmalloc(8); a->v = &x;
            b = xmalloc(8); b->v = &y;
            c = new_box(&x);
            mark("a", a); mark("b", b); mark("c", c); mark("i", indirect(8)); mark("last", last);
            mark("va", a->v); mark("vb", b->v);
        }"#,
        expect![[r#"
            a: heap:7
            b: heap:8
            c: heap:9
            i: heap:3 heap:7 heap:8 heap:9
            last: heap:3 heap:7 heap:8 heap:9
            va: x
            vb: y
        "#]],
    );
}

#[test]
fn elements_of_heap_arrays_keep_their_fields() {
    check(
        r#"
        #include <pthread.h>
        #include <stdlib.h>
        struct slot { pthread_mutex_t m; int *p; pthread_cond_t c; } *slots, *one; int x;
        int main(int n, char **v) {
            slots = malloc(n * sizeof *slots); one = malloc(sizeof *one);
            for (int i = 0; i < n; i++) { slots[i].p = &x; pthread_mutex_init(&slots[i].m, 0); }
            struct slot *s = &slots[n / 2];
            mark("m", &s->m); mark("p", s->p); mark("c", &s->c); mark("one", &one->c); mark("second", &slots[1].c);
        }"#,
        expect![[r#"
            c: heap:6+48%96
            m: heap:6+0%96
            one: heap:6+48
            p: x
            second: heap:6+48%96
        "#]],
    );
}
