//! What one enumeration keeps for the next is used only where the edit cannot matter.

use std::fs;

use crate::workshop::Workshop;

const HEAD: &str = "
#include <pthread.h>
#include <stdlib.h>
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static int x, y, g;
static void hang_if_seven(void) {
    pthread_mutex_lock(&m);
    if (x == 7)
        pthread_mutex_lock(&m);
    pthread_mutex_unlock(&m);
}
static void round_of(void) {
    pthread_mutex_lock(&m);
    y++;
    pthread_mutex_unlock(&m);
}
";

/// Epochs before the edited line, in the middle of it and behind it; `NEW` is what changes.
const BEHIND_OTHER_CODE: &str = "
static void *worker(void *p) {
    for (int i = 0; i < g; i++)
        round_of();
    y = 1;
    x = NEW;
    for (int i = 0; i < g; i++)
        round_of();
    hang_if_seven();
    return p;
}
";

/// Whether the edited line runs at all hangs on a branch that nobody touched.
const BEHIND_A_BRANCH: &str = "
static void *worker(void *p) {
    for (int i = 0; i < g; i++)
        round_of();
    if (g)
        x = NEW;
    for (int i = 0; i < g; i++)
        round_of();
    hang_if_seven();
    return p;
}
";

/// The edited function is called only through a pointer that an untouched one sets.
const BEHIND_A_POINTER: &str = "
static int five(void) { return 5; }
static int number(void) { return NEW; }
static int (*chosen)(void) = five;
static void choose(void) { if (g > 1) chosen = number; }
static void *worker(void *p) {
    for (int i = 0; i < g; i++)
        round_of();
    choose();
    x = chosen();
    hang_if_seven();
    return p;
}
";

/// The number stands in data, not in code.
const IN_DATA: &str = "
static const int table[3] = {5, NEW, 5};
static void *worker(void *p) {
    for (int i = 0; i < g; i++)
        round_of();
    x = table[g & 1];
    hang_if_seven();
    return p;
}
";

const TAIL: &str = "
int main(int argc, char **argv) {
    pthread_t t;
    g = argc > 1 ? atoi(argv[1]) : 0;
    pthread_create(&t, NULL, worker, NULL);
    for (int i = 0; i < g; i++)
        round_of();
    pthread_join(t, NULL);
    return 0;
}
";

fn write(shop: &Workshop, worker: &str, number: &str) {
    let worker = worker.replace("NEW", number);
    fs::write(shop.path("program.c"), [HEAD, &worker, TAIL].concat()).expect("a program");
}

fn archive(shop: &Workshop, more: &[&str]) -> Vec<u8> {
    let words = ["enumerate", "program.c", "-o", "program.heddle"];
    shop.heddle(words.iter().chain(more)).exits(0);
    fs::read(shop.path("program.heddle")).expect("an archive")
}

#[test]
fn an_edit_further_down_or_behind_an_untouched_branch_is_not_missed() {
    for worker in [
        BEHIND_OTHER_CODE,
        BEHIND_A_BRANCH,
        BEHIND_A_POINTER,
        IN_DATA,
    ] {
        let shop = Workshop::new();
        let kept = ["--store", "kept"];
        write(&shop, worker, "5");
        archive(&shop, &kept);
        shop.heddle(["check", "program.heddle"]).exits(0);
        write(&shop, worker, "7");
        let reused = archive(&shop, &kept);
        shop.heddle(["check", "program.heddle"]).exits(1);
        assert_eq!(reused, archive(&shop, &["--store", "fresh"]), "{worker}");
        // And back again, with what both have left.
        write(&shop, worker, "5");
        archive(&shop, &kept);
        shop.heddle(["check", "program.heddle"]).exits(0);
    }
}
