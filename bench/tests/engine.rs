//! The symbolic engine against the machine, on a few programs; `heddle-bench engine` runs thousands.

use heddle_bench::engine::constant::{self, Verdict};
use heddle_bench::engine::paths::{self, Effort};
use heddle_bench::engine::{Program, generate};

fn program(text: &str) -> (tempfile::TempDir, Program) {
    let folder = tempfile::tempdir().expect("a folder");
    let program = Program::of_text(text, folder.path()).expect("a program");
    (folder, program)
}

#[test]
fn constant_inputs_end_as_on_the_machine() {
    let mut compared = 0;
    for seed in 1..=12 {
        let (_folder, program) = program(&generate::program(seed, false));
        match constant::trial(&program, &[]).expect("a trial") {
            Verdict::Same { bytes, .. } => compared += bytes,
            other => panic!("seed {seed}: {other:?}"),
        }
    }
    assert!(compared > 1000, "{compared} bytes");
}

#[test]
fn models_of_paths_take_their_branches() {
    let (mut branches, mut merges, mut runs) = (0, 0, 0);
    for seed in [1, 2, 4, 7] {
        let (_folder, program) = program(&generate::program(seed, true));
        let effort = Effort {
            paths: 4,
            models: 20,
        };
        let report = paths::trial(&program, seed, effort).expect("a trial");
        assert_eq!(report.wrong, Vec::<String>::new(), "seed {seed}");
        assert_eq!(report.skipped, None, "seed {seed}");
        branches += report.branches;
        merges += report.merges;
        runs += report.runs;
    }
    assert!(branches > 100, "{branches} branches");
    assert!(merges > 2, "{merges} merges");
    assert!(runs > 80, "{runs} runs");
}

/// What the generator does not write: loops that are summarized, choices of functions, copies of unknown length.
#[test]
fn merged_states_admit_what_happens() {
    let text = r#"
#include <string.h>
#include "heddle.h"
static unsigned in0; static unsigned char in1;
static unsigned total; static unsigned char from[64], to[64]; static long squares[8];
int main(void) {
    heddle_input(&in0, 4, "in0");
    heddle_input(&in1, 1, "in1");
    heddle_assume(in0 < 6);
    for (unsigned i = 0; i < in0; i++) total += i * in1;
    from[3] = in1;
    memcpy(to, from, in0 + 1);
    squares[in0] = in1;
    if (in1 > 100) { if (in0 == 2) total = 1; } else total ^= 5;
    return (int)(total & 63);
}"#;
    let (_folder, program) = program(text);
    let effort = Effort {
        paths: 20,
        models: 5,
    };
    let report = paths::trial(&program, 1, effort).expect("a trial");
    assert_eq!(report.wrong, Vec::<String>::new());
    assert!(report.paths > 10, "{} paths", report.paths);
    assert!(report.summaries > 0);
}
