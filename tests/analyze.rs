//! `heddle analyze` as a user sees it: on programs of the corpus, the lists and the skeleton a person would expect.

use std::process::Command;

/// Runs `heddle analyze` on words in the project's folder.
fn analyze(words: &[&str]) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_heddle"))
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .arg("analyze")
        .args(words)
        .output()
        .expect("heddle runs");
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).expect("text")
}

#[test]
fn the_report_names_sites_locks_and_markers() {
    let text = analyze(&["bench/corpus/pgrep_queue.c"]);
    for line in [
        "worker (several)",
        "bench/corpus/pgrep_queue.c:78  queue_get: pthread_cond_wait(paths.more, paths.lock)  may hold paths.lock",
        "bench/corpus/pgrep_queue.c:149  worker: a loop that may synchronize on each way around",
        "bench/corpus/pgrep_queue.c:221  main: only waits for a condition",
        // The program leaves `queue_put` with the lock held on one way, on purpose.
        "live_lock under paths.lock: bench/corpus/pgrep_queue.c:220",
    ] {
        assert!(text.contains(line), "no line `{line}` in\n{text}");
    }
}

#[test]
fn json_says_the_same() {
    let text = analyze(&["bench/corpus/pgrep_queue.c", "--json"]);
    assert!(
        text.starts_with("{\"program\":\"pgrep_queue.c\","),
        "{text}"
    );
    assert!(text.contains("\"primitive\":\"pthread_cond_wait\",\"operands\":[\"paths.more\",\"paths.lock\"],\"held\":[\"paths.lock\"]"), "{text}");
    let count = |c: char| text.chars().filter(|other| *other == c).count();
    assert_eq!(count('{'), count('}'));
    assert_eq!(count('['), count(']'));
}

#[test]
fn the_skeleton_is_what_a_person_would_write() {
    let text = analyze(&["bench/corpus/blocklu.c", "-lm", "--skeleton"]);
    let factor = "\
factor(id) {
    while (k < nblocks) {  // bench/corpus/blocklu.c:127, marker
        barrier_wait(...);  // bench/corpus/blocklu.c:130
        barrier_wait(...);  // bench/corpus/blocklu.c:137
    }
}
";
    assert!(text.contains(factor), "{text}");
    assert!(text.contains("slave(unused) {  // a thread\n"), "{text}");
}

/// Sources, their bitcode and a program made with `heddle cc` are one program.
#[test]
fn sources_bitcode_and_binaries_are_analyzed_alike() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = |name: &str| folder.path().join(name).display().to_string();
    let source = "tests/programs/lock_order.c";
    let heddle = |words: &[&str]| {
        let output = Command::new(env!("CARGO_BIN_EXE_heddle"))
            .current_dir(env!("CARGO_MANIFEST_DIR"))
            .args(words)
            .output()
            .expect("heddle runs");
        assert!(output.status.success(), "{output:?}");
    };
    let (binary, bitcode) = (path("prog"), path("prog.bc"));
    heddle(&["cc", "-O2", "-g", source, "-o", &binary, "-lpthread"]);
    heddle(&["extract", &binary, "-o", &bitcode]);
    let after_name = |text: &str| text.split_once(": ").expect("a name").1.to_owned();
    let from_source = after_name(&analyze(&[source, "-O2", "-g"]));
    assert!(from_source.contains("pthread_mutex_lock("), "{from_source}");
    assert_eq!(from_source, after_name(&analyze(&[&bitcode])));
    assert_eq!(from_source, after_name(&analyze(&[&binary])));
}

/// Ends of the process inside loops, values by the variable that holds them, threads that do nothing but compute.
#[test]
fn the_skeleton_shows_ends_names_and_silent_threads() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let source = folder.path().join("a.c");
    let program = "#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
static pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;
static int next, numbers[8];
static void *compute(void *unused) { numbers[0] *= 3; return unused; }
static void *work(void *unused) {
    pthread_mutex_lock(&gate);
    int mine = next;
    next = mine + 1;
    pthread_mutex_unlock(&gate);
    if (mine == 0) {
        pthread_mutex_lock(&gate);
        pthread_mutex_unlock(&gate);
    }
    return unused;
}
int main(void) {
    for (int i = 0; i < 8; i++) {
        int read = scanf(\"%d\", &numbers[i]);
        if (read != 1) exit(3);
    }
    pthread_t one, two;
    pthread_create(&one, 0, compute, 0);
    pthread_create(&two, 0, work, 0);
    pthread_join(one, 0);
    pthread_join(two, 0);
    return 0;
}
";
    std::fs::write(&source, program).expect("file");
    let text = analyze(&[source.to_str().expect("text"), "--skeleton"]);
    assert!(
        text.contains("compute() { }  // a thread that does not synchronize\n"),
        "{text}"
    );
    assert!(
        text.contains("    if (mine == 0) {\n        pthread_mutex_lock(gate);"),
        "{text}"
    );
    assert!(
        text.contains("        if (!(read == 1)) {\n            exit(3);"),
        "{text}"
    );
}
