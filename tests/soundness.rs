//! A fixed share of the soundness machine: generated programs and adversarial ones through the whole road.
//!
//! More, with fresh seeds: `make soak MINUTES=n`. A finding here prints the seed; `heddle-bench program SEED --level N` shows the
//! program, `heddle-bench soak --first-seed SEED --programs 1 --level N` makes it small.

use std::path::PathBuf;

use heddle_bench::soundness::adversarial;
use heddle_bench::soundness::generate::LEVELS;
use heddle_bench::soundness::soak::{Plan, soak};
use heddle_bench::soundness::subject::SMALL_WORLD;
use heddle_bench::soundness::trial::{Effort, Wrong, trial};

fn command() -> Option<PathBuf> {
    Some(PathBuf::from(env!("CARGO_BIN_EXE_heddle")))
}

#[test]
fn generated_programs_stay_within_their_archives() {
    let plan = Plan {
        first_seed: 1,
        programs: Some(28),
        time: None,
        levels: LEVELS.to_vec(),
        inputs: SMALL_WORLD,
        effort: Effort {
            native_runs: 1,
            enforced_runs: 40,
            repeat: true,
            gives_up: false,
            native_verdict: true,
            run_limit: None,
            command: command(),
        },
        wide_every: Some(27),
        wide_bits: 8,
        edits_every: Some(7),
        command_every: 9,
        native_every: 3,
        workers: 0,
        environment: Vec::new(),
        failures: None,
        live: false,
        until_found: false,
    };
    let summary = soak(&plan).expect("the machine itself works");
    println!("{summary}");
    for (gap, count) in &summary.gaps {
        println!("incomplete {count} times: {gap}");
    }
    assert!(summary.findings.is_empty(), "{:#?}", summary.findings);
    assert!(summary.conforming >= 900, "{summary}");
}

/// Tricks that are known to break the promise. FIXME: each row is a bug.
const KNOWN_WRONG: &[(&str, Wrong)] = &[];

#[test]
fn adversarial_programs_are_covered_or_refused() {
    let effort = Effort {
        native_runs: 1,
        enforced_runs: 12,
        native_verdict: true,
        ..Effort::default()
    };
    let mut wrong = Vec::new();
    for (name, subject) in adversarial::load().expect("the programs are there") {
        let tally = trial(&subject, 1, &effort).expect("the machine itself works");
        let known = KNOWN_WRONG.iter().find(|(known, _)| *known == name);
        match (tally.finding, known) {
            // Refusing is sound; what is refused is said here.
            (Some(finding), None) if finding.wrong == Wrong::BuildRefused => {
                println!("{name}: refused: {}", finding.detail);
            }
            (Some(finding), Some((_, expected))) if finding.wrong == *expected => {}
            (Some(finding), _) => wrong.push(format!("{name}: {finding}")),
            (None, Some(_)) => wrong.push(format!("{name} is fixed: remove it from KNOWN_WRONG")),
            (None, None) => {
                if let Some(gap) = tally.incomplete {
                    println!("{name}: incomplete: {gap}");
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
