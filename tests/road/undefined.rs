//! Undefined behaviour: what is told, how sure it is, and what is not told.

use schedules::Archive;

use crate::workshop::Workshop;

/// One line for each row of the archive: kind, line, certainty, what, condition, example.
fn told(source: &str) -> Vec<String> {
    let shop = Workshop::new();
    shop.write("a.c", source);
    shop.heddle(["enumerate", "--quiet", "a.c", "-o", "a.heddle"])
        .exits(0);
    let archive = Archive::read(&shop.path("a.heddle")).expect("written by the command");
    let text = |id: schedules::TextId| archive.texts[id.0 as usize].as_str();
    let rows = archive.undefined.iter().map(|row| {
        assert_eq!(text(row.place.file), "a.c");
        let sure = if row.certain { "certain" } else { "possible" };
        let condition: Vec<&str> = row.condition.iter().map(|id| text(*id)).collect();
        let input = row.input.iter();
        let input: Vec<String> = input
            .map(|value| format!("{}={}", text(value.name), value.value))
            .collect();
        format!(
            "{} line {} {sure} {} if [{}] as [{}]",
            row.kind.code(),
            row.place.line,
            text(row.what),
            condition.join("; "),
            input.join("; ")
        )
    });
    rows.collect()
}

#[test]
fn what_goes_wrong_is_told() {
    let source = r#"#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
static pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;
static int counts[4], total, *kept;
static char from[16], to[8];
static void step(void) { pthread_mutex_lock(&gate); pthread_mutex_unlock(&gate); }
static void keep(void) { int local = total; kept = &local; step(); total = local; }
static void *reader(void *box) { step(); total += *(int *)box; step(); return 0; }
int main(int argc, char **argv) {
    int *where = argc > 2 ? &total : 0;
    step();
    *where = 1;
    counts[argc - 1]++;
    unsigned asked = (unsigned)rand();
    if (asked != 7) counts[asked]++;
    keep();
    total += *kept;
    memcpy(to, from, sizeof from);
    int *box = malloc(sizeof *box);
    *box = 1;
    step();
    free(box);
    if (argc == 3) free(box);
    pthread_t thread;
    pthread_create(&thread, 0, reader, box);
    pthread_join(thread, 0);
    if (argc > 5) free(counts + 1);
    struct { char first; int second; } *pair = malloc(sizeof *pair);
    pair->first = 1;
    step();
    if (pair->second) step();
    return total;
}
"#;
    let rows = told(source);
    let expected = [
        "null-access line 14 certain where if [argc < 3] as [argc=1]",
        "out-of-bounds line 15 certain counts if [(i64)(argc - 1) << 2 >u 12] as [argc=6]",
        "out-of-bounds line 17 possible counts if [rand() at a.c:16 != 7; x] as [rand() at a.c:16=16]",
        "use-after-end line 19 certain a local of keep if [] as []",
        "out-of-bounds line 20 certain to if [] as []",
        "bad-free line 25 certain malloc at a.c:21 if [argc == 3] as [argc=3]",
        "bad-free line 29 certain counts if [argc > 5] as [argc=6]",
        "uninitialized line 33 certain malloc at a.c:30 if [] as []",
        "use-after-end line 10 certain malloc at a.c:21 if [] as []",
    ];
    assert_eq!(rows, expected, "\n{}", rows.join("\n"));
}

/// Programs that take care: every access is checked before, though not always in a way that a single term shows.
#[test]
fn what_goes_well_is_not_told() {
    let source = r#"#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
static pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;
static int counts[4], total;
struct node { struct node *next; int value; } *head;
static void step(void) { pthread_mutex_lock(&gate); pthread_mutex_unlock(&gate); }
static void *reader(void *box) { step(); total += *(int *)box; step(); return 0; }
int main(int argc, char **argv) {
    if (argc > 4 || argc < 1) return 1;
    step();
    counts[argc - 1]++;
    int *where = argc > 2 ? &total : 0;
    if (where) *where = 1;
    int given, known = 0;
    if (argc == 2) { given = atoi(argv[1]); known = 1; }
    step();
    if (known && given > 3) step();
    for (int i = 0; i < argc; i++) counts[i] += i;
    for (int i = 0; i < argc; i++) {
        struct node *new = malloc(sizeof *new);
        new->next = head; new->value = i; head = new;
        step();
    }
    int *box = malloc(sizeof *box);
    *box = atoi(argv[0]);
    pthread_t thread;
    pthread_create(&thread, 0, reader, box);
    pthread_join(thread, 0);
    if (argc == 1) free(box); else total += *box;
    if (argc != 1) free(box);
    while (head) { struct node *old = head; head = head->next; step(); free(old); }
    char text[8];
    snprintf(text, sizeof text, "%d", total);
    if (text[0] == '1') step();
    int *more = realloc(0, 8);
    more[1] = 3;
    more = realloc(more, 16);
    more[3] = more[1];
    step();
    free(more);
    if (counts[atoi(argv[0]) & 3] > 2) step();
    return 0;
}
"#;
    assert_eq!(told(source), Vec::<String>::new());
}
