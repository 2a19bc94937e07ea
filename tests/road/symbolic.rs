//! `heddle symbolic`: stepping, choosing, states, and why a value is not known.

use crate::workshop::Workshop;

const PROGRAM: &str = "#include <pthread.h>
#include <stdlib.h>
static pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;
static int limit = 3, total;
int main(int argc, char **argv) {
    int rounds = limit * 2;
    if (rounds > 10)
        total = rand();
    pthread_mutex_lock(&gate);
    total += rounds + argc;
    pthread_mutex_unlock(&gate);
    return total;
}
";

fn shop() -> Workshop {
    let shop = Workshop::new();
    shop.write("a.c", PROGRAM);
    shop
}

#[test]
fn an_unknown_input_is_followed_to_where_it_came_from() {
    let commands =
        "run\\ntake 0\\nrun\\npass\\nto 11\\nstate\\nwhy rounds\\nwhy total\\nwhy nothing\\n";
    let shown = shop()
        .shell(&format!(
            "printf '{commands}' | $HEDDLE symbolic a.c --input limit"
        ))
        .exits(0)
        .stdout;
    let lines: Vec<&str> = shown.lines().collect();
    for expected in [
        "  take 0: if limit > 5",
        "  take 1: if limit < 6",
        "  a synchronization call: pass",
        "path: limit > 5",
        "  argc = 1",
        "rounds of a.c:6 = limit << 1",
        "  limit: input limit is read during the epoch",
        "  rand() at a.c:8: rand() at a.c:8 is known only after the call, at a.c:8",
        "nothing called `nothing` has a value here",
    ] {
        assert!(lines.contains(&expected), "no `{expected}` in:\n{shown}");
    }
}

#[test]
fn known_inputs_give_known_values() {
    let shown = shop()
        .shell("printf 'run\\npass\\nrun\\npass\\nrun\\nstate\\n' | $HEDDLE symbolic a.c --word 4")
        .exits(0)
        .stdout;
    let lines: Vec<&str> = shown.lines().collect();
    assert!(lines.contains(&"main has returned"), "{shown}");
    // Twice the limit, and two words.
    assert!(lines.contains(&"  total = 8"), "{shown}");
    assert!(!shown.contains("take"), "{shown}");
}

#[test]
fn wrong_commands_are_refused() {
    let shop = shop();
    shop.shell("echo walk | $HEDDLE symbolic a.c")
        .exits(2)
        .complains(&["`walk` is no command", "[HD0001]"]);
    shop.shell("$HEDDLE symbolic a.c --input nowhere < /dev/null")
        .exits(2)
        .complains(&["`nowhere` is no global variable"]);
    shop.shell("printf 'take 1\\npass\\n' | $HEDDLE symbolic a.c")
        .exits(0)
        .says(&["nothing has to be chosen here", "no synchronization call"]);
}
