//! What the text of small programs lets happen, printed: reason, then for each thread `entry:line operation object [held:line]`.

use expect_test::{Expect, expect};

use schedules::primitives::NodeOp;

use super::monitors::Monitors;
use super::suspect::{Member, Reason, Text, suspects};
use crate::analysis::Facts;
use crate::analysis::locks::{Site, operation};
use crate::model::testing::compile;

const PRELUDE: &str = r#"
#include <pthread.h>
#include <semaphore.h>
#define lock pthread_mutex_lock
#define unlock pthread_mutex_unlock
#define wait pthread_cond_wait
#define signal pthread_cond_signal
static pthread_mutex_t a = PTHREAD_MUTEX_INITIALIZER, b = PTHREAD_MUTEX_INITIALIZER, g = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t c = PTHREAD_COND_INITIALIZER; static sem_t s; static pthread_barrier_t bar; static int ready, x;
#define THREADS(f, h) int main(void) { pthread_t t, u; pthread_create(&t, 0, f, 0); pthread_create(&u, 0, h, 0); pthread_join(t, 0); pthread_join(u, 0); return 0; }
"#;

#[track_caller]
fn check(source: &str, expected: Expect) {
    let module = compile(&format!("{PRELUDE}{source}"));
    let facts = Facts::of(&module);
    let first = PRELUDE.lines().count() as u32;
    let member = |member: &Member| {
        let at = |place: &super::Place| place.line.saturating_sub(first);
        let holds: Vec<String> = member
            .holds
            .iter()
            .map(|(name, place)| format!("{name}:{}", at(place)))
            .collect();
        let op = schedules::text::op_name(member.op);
        let (entry, object) = (&member.entry, &member.object);
        format!("{entry}:{} {op} {object} {holds:?}", at(&member.stack[0]))
    };
    let mut text = String::new();
    for suspect in suspects(&Text::of(&module, &facts)) {
        let reason = match &suspect.reason {
            Reason::LostWakeUp { signals } => {
                let lines = signals.iter().map(|place| place.line - first);
                format!("LostWakeUp signalled at {:?}", lines.collect::<Vec<_>>())
            }
            other => format!("{other:?}"),
        };
        text += &format!("{reason}\n");
        for one in &suspect.members {
            text += &format!("    {}\n", member(one));
        }
    }
    expected.assert_eq(&text);
}

#[test]
fn opposite_orders() {
    check(
        "static void *f(void *p) { lock(&a); lock(&b); unlock(&b); unlock(&a); return p; }
static void *h(void *p) { lock(&b); lock(&a); unlock(&a); unlock(&b); return p; }
THREADS(f, h)",
        expect![[r#"
            LockCycle
                f:1 mutex_lock b ["a:1"]
                h:2 mutex_lock a ["b:2"]
        "#]],
    );
}

#[test]
fn one_order_a_gate_or_phases() {
    check(
        "static void *f(void *p) { lock(&a); lock(&b); unlock(&b); unlock(&a); return p; }
THREADS(f, f)",
        expect![[""]],
    );
    check(
        "static void *f(void *p) { lock(&g); lock(&a); lock(&b); unlock(&b); unlock(&a); unlock(&g); return p; }
static void *h(void *p) { lock(&g); lock(&b); lock(&a); unlock(&a); unlock(&b); unlock(&g); return p; }
THREADS(f, h)",
        expect![[""]],
    );
    check(
        "static void *f(void *p) { lock(&a); lock(&b); unlock(&b); unlock(&a); return p; }
static void *h(void *p) { lock(&b); lock(&a); unlock(&a); unlock(&b); return p; }
int main(void) { pthread_t t; pthread_create(&t, 0, f, 0); pthread_join(t, 0); pthread_create(&t, 0, h, 0); pthread_join(t, 0); return 0; }",
        expect![[""]],
    );
}

#[test]
fn relock_of_a_mutex_that_blocks() {
    check(
        "static void in(void) { lock(&a); x++; unlock(&a); }
static void *f(void *p) { lock(&a); in(); unlock(&a); return p; }
THREADS(f, f)",
        expect![[r#"
            Relock
                f:1 mutex_lock a ["a:2"]
        "#]],
    );
    check(
        "static pthread_mutex_t r;
static void in(void) { lock(&r); x++; unlock(&r); }
static void *f(void *p) { lock(&r); in(); unlock(&r); return p; }
int main(void) { pthread_t t; pthread_mutexattr_t at; pthread_mutexattr_init(&at); pthread_mutexattr_settype(&at, PTHREAD_MUTEX_RECURSIVE); pthread_mutex_init(&r, &at); pthread_create(&t, 0, f, 0); pthread_join(t, 0); return 0; }",
        expect![[""]],
    );
}

#[test]
fn wake_ups_that_are_lost_or_never_come() {
    check(
        "static void *f(void *p) { lock(&a); wait(&c, &a); unlock(&a); return p; }
static void *h(void *p) { lock(&a); signal(&c); unlock(&a); return p; }
THREADS(f, h)",
        expect![[r#"
            LostWakeUp signalled at [2]
                f:1 cond_wait c []
        "#]],
    );
    check(
        "static void *f(void *p) { lock(&a); while (!ready) wait(&c, &a); unlock(&a); return p; }
static void *h(void *p) { ready = 1; signal(&c); return p; }
THREADS(f, h)",
        expect![[r#"
            LostWakeUp signalled at [2]
                f:1 cond_wait c []
        "#]],
    );
    check(
        "static void *f(void *p) { lock(&a); while (!ready) wait(&c, &a); unlock(&a); return p; }
static void *h(void *p) { lock(&a); ready = 1; unlock(&a); signal(&c); return p; }
THREADS(f, h)",
        expect![[""]],
    );
    check(
        "static void *f(void *p) { lock(&a); while (!ready) wait(&c, &a); unlock(&a); return p; }
static void *h(void *p) { lock(&a); ready = 1; unlock(&a); return p; }
THREADS(f, h)",
        expect![[r#"
            NobodySignals
                f:1 cond_wait c []
        "#]],
    );
    check(
        "static void sleepy(void) { wait(&c, &a); }
static void *f(void *p) { lock(&b); lock(&a); while (!ready) sleepy(); unlock(&a); unlock(&b); return p; }
static void *h(void *p) { lock(&b); lock(&a); ready = 1; signal(&c); unlock(&a); unlock(&b); return p; }
THREADS(f, h)",
        expect![[r#"
            MixedCycle
                f:1 cond_wait c ["b:2"]
        "#]],
    );
}

#[test]
fn semaphores_barriers_joins_and_ends() {
    check(
        "static void *f(void *p) { sem_wait(&s); return p; }
int main(void) { pthread_t t; sem_init(&s, 0, 0); pthread_create(&t, 0, f, 0); pthread_join(t, 0); return 0; }",
        expect![[r#"
            SemaphoreStarved
                f:1 sem_wait s []
        "#]],
    );
    check(
        "static void *f(void *p) { sem_wait(&s); return p; }
int main(void) { pthread_t t; sem_init(&s, 0, 1); pthread_create(&t, 0, f, 0); pthread_join(t, 0); return 0; }",
        expect![[""]],
    );
    check(
        "static void *f(void *p) { pthread_barrier_wait(&bar); return p; }
int main(void) { pthread_t t; pthread_barrier_init(&bar, 0, 3); pthread_create(&t, 0, f, 0); pthread_barrier_wait(&bar); pthread_join(t, 0); return 0; }",
        expect![[r#"
            BarrierNeverFull
                f:1 barrier_arrive bar []
            BarrierNeverFull
                main:2 barrier_arrive bar []
        "#]],
    );
    check(
        "static void *f(void *p) { lock(&a); x++; unlock(&a); return p; }
int main(void) { pthread_t t; pthread_create(&t, 0, f, 0); lock(&a); pthread_join(t, 0); unlock(&a); return 0; }",
        expect![[r#"
            JoinCycle
                main:2 thread_join f ["a:2"]
                f:1 mutex_lock a []
        "#]],
    );
    check(
        "static void *f(void *p) { lock(&a); x++; pthread_exit(p); }
static void *h(void *p) { lock(&a); unlock(&a); return p; }
THREADS(f, h)",
        expect![[r#"
            OwnerEnded
                h:2 mutex_lock a []
        "#]],
    );
}

/// Lines of waits and wake-ups that nobody can get in the way of, those with one waiter only in brackets.
#[track_caller]
fn check_monitors(source: &str, expected: &str) {
    let module = compile(&format!("{PRELUDE}{source}"));
    let facts = Facts::of(&module);
    let monitors = Monitors::of(&Text::of(&module, &facts));
    let first = PRELUDE.lines().count() as u32;
    let line = |(func, id): &Site| module.functions[*func].instrs[*id].position.line - first;
    let mut always: Vec<u32> = monitors.always.iter().map(line).collect();
    let mut one: Vec<u32> = monitors.with_one_waiter.iter().map(line).collect();
    always.sort_unstable();
    one.sort_unstable();
    assert_eq!(format!("{always:?} {one:?}"), expected);
}

#[test]
fn waits_and_wake_ups_of_monitors() {
    let waits = "static void *f(void *p) { lock(&a); while (!ready)
wait(&c, &a);
unlock(&a); return p; }\n";
    // Everything with the mutex.
    check_monitors(
        &format!(
            "{waits}static void *h(void *p) {{ lock(&a); ready = 1; signal(&c);
pthread_cond_broadcast(&c); unlock(&a); return p; }} THREADS(f, h)"
        ),
        "[2, 5] [4]",
    );
    // A signal behind the unlock may fall between look and wait; the broadcast still meets only threads that wait.
    check_monitors(
        &format!(
            "{waits}static void *h(void *p) {{ lock(&a); ready = 1;
pthread_cond_broadcast(&c); unlock(&a); signal(&c); return p; }} THREADS(f, h)"
        ),
        "[5] []",
    );
    // One of two ways leads to the signal without the mutex.
    check_monitors(
        &format!(
            "{waits}static void wake(void) {{ signal(&c); }}
static void *h(void *p) {{ lock(&a); ready = 1; wake(); unlock(&a); if (x) wake(); return p; }} THREADS(f, h)"
        ),
        "[] []",
    );
    // A wait that ends by itself, with another mutex, or with one of two mutexes.
    for other in [
        "struct timespec t = {0}; lock(&a); pthread_cond_timedwait(&c, &a, &t); unlock(&a);",
        "lock(&b); wait(&c, &b); unlock(&b);",
        "pthread_mutex_t *m = x ? &a : &b; lock(m); wait(&c, m); unlock(m);",
    ] {
        let source = format!(
            "{waits}static void *h(void *p) {{ lock(&a); pthread_cond_broadcast(&c); unlock(&a); {other} return p; }} THREADS(f, h)"
        );
        let module = compile(&format!("{PRELUDE}{source}"));
        let facts = Facts::of(&module);
        let monitors = Monitors::of(&Text::of(&module, &facts));
        let broadcasts = monitors.always.iter().filter(|(func, id)| {
            let call = &module.functions[*func].instrs[*id];
            operation(&module, call).is_some_and(|(op, _)| op == NodeOp::CondBroadcast)
        });
        assert_eq!(broadcasts.count(), 0, "{source}");
    }
    // Cancellation ends waits.
    check_monitors(
        &format!(
            "{waits}static void *h(void *p) {{ lock(&a); pthread_cond_broadcast(&c); unlock(&a); pthread_cancel(pthread_self()); return p; }} THREADS(f, h)"
        ),
        "[] []",
    );
}
