//! `heddle build` of a binary that `heddle cc` made, and what debuggers and sanitizers make of the result.
//!
//! Under hand-made archives: nothing here depends on the enumerator.

use std::process::Command;

use crate::handmade::LockOrder;
use crate::workshop::Workshop;

/// Builds `native` with `heddle cc`, then `prog` from it.
fn rebuilt(flags: &str) -> LockOrder {
    let made = LockOrder::prepared_by(&format!(
        "$HEDDLE cc {flags} -c lock_order.c && $HEDDLE cc {flags} lock_order.o -lpthread -lm -o native && ./native && rm lock_order.o"
    ));
    made.workshop
        .heddle([
            "build",
            "./native",
            "--archive",
            "hand.heddle",
            "-o",
            "prog",
        ])
        .exits(0);
    made
}

#[test]
fn a_binary_is_enough_to_build_the_enforced_program() {
    let made = rebuilt("-O2");
    for seed in 0..10 {
        let run = made.workshop.run("prog", &[], &format!("jitter={seed}"));
        assert_eq!(run.exits(0).stdout, "a=80 b=120\n");
    }
}

/// The project's own level and libraries: the record of how `native` was linked decides.
#[test]
fn the_projects_own_flags_are_used() {
    let needed = |made: &LockOrder| {
        made.workshop
            .shell("objdump -p prog | grep NEEDED")
            .exits(0)
            .stdout
    };
    let made = rebuilt("-O1 -Wl,--no-as-needed");
    assert!(needed(&made).contains("libm.so.6"), "{}", needed(&made));
    // At -O0 the workers' bodies keep a frame and their calls; at -O3 -fomit-frame-pointer they do not.
    let frames = |level: &str| {
        let made = rebuilt(level);
        let text = made
            .workshop
            .shell("objdump -d prog --disassemble=a_to_b | grep -c 'push.*%rbp' || true");
        text.stdout.trim().parse::<u32>().expect("a number")
    };
    assert_eq!((frames("-O0"), frames("-O3 -fomit-frame-pointer")), (1, 0));
}

#[test]
fn gdb_breaks_on_the_users_lines() {
    if Command::new("gdb").arg("--version").output().is_err() {
        println!("skipped: no gdb on this machine (scripts/setup tests installs it)");
        return;
    }
    let made = rebuilt("-g -O1");
    let run = made.workshop.shell(
        "gdb -batch -nx -ex 'set debuginfod enabled off' -ex 'break lock_order.c:14' -ex run -ex bt -ex 'print balance_a' -ex continue ./prog",
    );
    run.exits(0).says(&[
        "a_to_b (unused=",
        "lock_order.c:14",
        "balance_a -= 30;",
        "$1 = 100",
        "exited normally",
    ]);
}

#[test]
fn addresses_resolve_to_the_users_lines() {
    let made = rebuilt("-g -O2");
    let resolved = made.workshop.shell(
        "nm prog | awk '$3 == \"a_to_b\" || $3 == \"b_to_a\" { print $1 }' | llvm-addr2line-19 -f -e prog; \
         for a in $(objdump -d prog --disassemble=b_to_a | awk '/call.*heddle_pthread_mutex_lock/ { sub(\":\", \"\", $1); print $1 }'); do llvm-addr2line-19 -e prog 0x$a; done",
    );
    resolved.exits(0).says(&[
        "a_to_b\n",
        "lock_order.c:10",
        "lock_order.c:23",
        "lock_order.c:24",
    ]);
}

/// A program whose threads spend their time on line 6.
const HOT: &str = "#include <pthread.h>
#include <stdio.h>
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static unsigned long total;
static unsigned long grind(unsigned long seed) {
    for (unsigned long i = 0; i < 400000000; i++) seed = seed * 6364136223846793005UL + i;
    return seed;
}
static void *work(void *argument) {
    unsigned long mine = grind((unsigned long)argument);
    pthread_mutex_lock(&lock);
    total += mine;
    pthread_mutex_unlock(&lock);
    return NULL;
}
int main(void) {
    pthread_t thread;
    pthread_create(&thread, NULL, work, (void *)1);
    pthread_join(thread, NULL);
    printf(\"%lu\\n\", total);
    return 0;
}
";

#[test]
fn perf_finds_the_users_lines() {
    let shop = Workshop::new();
    let may_record = shop.shell("perf record -q -e task-clock:u -o /dev/null true");
    if !may_record.status.success() {
        println!("skipped: perf is not there or may not record here");
        return;
    }
    shop.write("hot.c", HOT);
    shop.shell("$HEDDLE cc -g -O2 hot.c -o native -lpthread && $HEDDLE build ./native -o prog")
        .exits(0);
    shop.shell(
        "perf record -q -e task-clock:u -F 499 -o samples ./prog > enforced && ./native > plain && cmp enforced plain && \
         perf report -i samples --stdio --no-children -s sym,srcline > report && grep -v '^#' report | sed '/^$/d' > lines && head -1 lines",
    )
    .exits(0)
    .says(&["[.] work", "hot.c:6"]);
}

#[test]
fn address_sanitizer_builds_work() {
    let made = rebuilt("-g -O1 -fsanitize=address");
    let run = made.workshop.run("prog", &[], "").exits(0);
    assert_eq!(run.stdout, "a=80 b=120\n");
    made.workshop
        .shell("nm prog | grep -c __asan_init")
        .exits(0);
    // And it still finds what it is for.
    let shop = &made.workshop;
    shop.write(
        "overflow.c",
        "#include <stdlib.h>\nint main(int argc, char **argv) {\n    char *p = malloc(4);\n    p[argc + 3] = 1;\n    return p[0];\n}\n",
    );
    shop.heddle([
        "cc",
        "-g",
        "-O1",
        "-fsanitize=address",
        "overflow.c",
        "-o",
        "overflow",
    ])
    .exits(0);
    shop.run("overflow", &[], "")
        .complains(&["heap-buffer-overflow", "overflow.c:4"]);
}
