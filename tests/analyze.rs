//! `heddle analyze` as a user sees it: on programs of the corpus, the lists and the skeleton a person would expect.

use std::path::Path;
use std::process::Command;

/// Compiles a program of the corpus as `heddle cc` prepares it and analyzes it.
fn analyze(source: &str, option: Option<&str>) -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let folder = tempfile::tempdir().expect("a temporary folder");
    let raw = folder.path().join("raw.bc");
    let clean = folder.path().join("clean.bc");
    let compiled = Command::new("clang-19")
        .current_dir(root)
        .args([
            "-O1",
            "-Xclang",
            "-disable-llvm-passes",
            "-g",
            "-emit-llvm",
            "-c",
        ])
        .arg(source)
        .arg("-o")
        .arg(&raw)
        .status()
        .expect("clang-19 runs");
    assert!(compiled.success());
    let cleaned = Command::new("opt-19")
        .arg("-passes=always-inline,function(sroa,early-cse,simplifycfg)")
        .arg(&raw)
        .arg("-o")
        .arg(&clean)
        .status()
        .expect("opt-19 runs");
    assert!(cleaned.success());
    let output = Command::new(env!("CARGO_BIN_EXE_heddle"))
        .arg("analyze")
        .arg(&clean)
        .args(option)
        .output()
        .expect("heddle runs");
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).expect("text")
}

#[test]
fn the_report_names_sites_locks_and_markers() {
    let text = analyze("bench/corpus/pgrep_queue.c", None);
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
    let text = analyze("bench/corpus/pgrep_queue.c", Some("--json"));
    assert!(text.starts_with("{\"program\":\"clean.bc\","), "{text}");
    assert!(text.contains("\"primitive\":\"pthread_cond_wait\",\"operands\":[\"paths.more\",\"paths.lock\"],\"held\":[\"paths.lock\"]"), "{text}");
    let count = |c: char| text.chars().filter(|other| *other == c).count();
    assert_eq!(count('{'), count('}'));
    assert_eq!(count('['), count(']'));
}

#[test]
fn the_skeleton_is_what_a_person_would_write() {
    let text = analyze("bench/corpus/blocklu.c", Some("--skeleton"));
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
