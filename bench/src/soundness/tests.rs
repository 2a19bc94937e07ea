//! The generator and its oracle against the native programs.

use std::process::Command;
use std::time::Duration;

use super::generate::{Level, MOST_STATES, generate};
use super::oracle::{Outcome, outcomes};
use super::print::c_source;
use crate::process::{self, End};

const LEVELS: [Level; 6] = [
    Level::Locks,
    Level::Branches,
    Level::Shapes,
    Level::Primitives,
    Level::Loops,
    Level::Unbounded,
];

#[test]
fn a_seed_is_a_program() {
    for level in LEVELS {
        assert_eq!(generate(7, level), generate(7, level));
        assert_ne!(generate(7, level), generate(8, level));
    }
}

/// What native runs show is in the oracle's set.
#[test]
fn the_oracle_knows_what_native_programs_do() {
    let folder = tempfile::tempdir().unwrap();
    for seed in 0..25u64 {
        let level = LEVELS[(seed + seed / 5) as usize % LEVELS.len()];
        let program = generate(seed, level);
        let source = folder.path().join(format!("p{seed}.c"));
        let binary = folder.path().join(format!("p{seed}"));
        std::fs::write(
            &source,
            c_source(&program, &format!("seed {seed} {level:?}")),
        )
        .unwrap();
        // Every fifth with a race detector, which ends a racing program with another status.
        let flags: &[&str] = match seed % 5 {
            4 => &["-O1", "-w", "-fsanitize=thread"],
            _ => &["-O1", "-w"],
        };
        process::compile(&source, flags, &[], &binary).unwrap();
        for inputs in program.worlds().iter().step_by(5) {
            let expected = outcomes(&program, inputs, MOST_STATES).unwrap();
            for _ in 0..2 {
                let mut command = Command::new(&binary);
                command.args(inputs.iter().map(u32::to_string));
                let run = process::run(&mut command, Duration::from_secs(10)).unwrap();
                let End::Exit(status) = run.end else {
                    panic!("seed {seed} {level:?} {inputs:?}: {:?}", run.end);
                };
                let output = run.stdout.trim().to_owned();
                let seen = Outcome::Exit { status, output };
                assert!(
                    expected.contains(&seen),
                    "seed {seed} {level:?} {inputs:?}: {seen:?} not in {expected:?}"
                );
            }
        }
    }
}
