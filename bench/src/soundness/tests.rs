//! The generator and its oracle against the native programs.

use std::process::Command;
use std::time::Duration;

use super::generate::{LEVELS, Level, generate};
use super::oracle::Outcome;
use super::subject::{Case, Subject};
use crate::process::{self, End};

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
    for seed in 0..35u64 {
        let level = LEVELS[(seed + seed / 5) as usize % LEVELS.len()];
        let subject = Subject::generated(&generate(seed, level), "", seed, usize::MAX);
        let source = folder.path().join(format!("p{seed}.c"));
        let binary = folder.path().join(format!("p{seed}"));
        std::fs::write(&source, &subject.source).unwrap();
        // Every fifth with a race detector, which ends a racing program with another status.
        let flags: &[&str] = match seed % 5 {
            4 => &["-std=gnu11", "-O1", "-w", "-fsanitize=thread"],
            _ => &["-std=gnu11", "-O1", "-w"],
        };
        process::compile(&source, flags, &[], &binary).unwrap();
        // What may hang natively cannot be waited for.
        let sure = subject.cases.iter().filter(|case| !case.may_deadlock());
        for case in sure.step_by(5) {
            if let Some(data) = &case.data {
                std::fs::write(folder.path().join("data"), data).unwrap();
            }
            for _ in 0..2 {
                let mut command = Command::new(&binary);
                command.args(&case.arguments).current_dir(folder.path());
                let run = process::run(&mut command, Duration::from_secs(30)).unwrap();
                let input = case.shown();
                let End::Exit(status) = run.end else {
                    panic!("seed {seed} {level:?} {input:?}: {:?}", run.end);
                };
                let output = run.stdout.trim().to_owned();
                let seen = Outcome::Exit { status, output };
                assert!(
                    case.expected.contains(&seen),
                    "seed {seed} {level:?} {input:?}: {seen:?} not in {:?}",
                    case.expected
                );
            }
        }
    }
}

/// Deadlocking programs really are, and the others are not.
#[test]
fn levels_keep_their_word() {
    for seed in 0..20 {
        for level in LEVELS {
            let subject = Subject::generated(&generate(seed, level), "", seed, usize::MAX);
            assert_eq!(
                subject.cases.iter().any(Case::may_deadlock),
                level == Level::Deadlocks,
                "seed {seed} {level:?}"
            );
        }
    }
}
