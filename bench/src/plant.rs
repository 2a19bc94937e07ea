//! `heddle-bench plant`: bugs that are planted, in archives and, with the feature `planted`, in Heddle itself. Each must be noticed.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Instant;

use anyhow::Result;
use heddle_bench::soundness::generate::{Level, generate};
use heddle_bench::soundness::plant::{PLANTS, Plant};
use heddle_bench::soundness::soak::{Plan, soak};
use heddle_bench::soundness::subject::{SMALL_WORLD, Subject};
use heddle_bench::soundness::trial::{Effort, Fate};
use heddle_bench::soundness::worker::Worker;

#[derive(clap::Args)]
pub(crate) struct Arguments {
    #[arg(long, default_value_t = 1)]
    first_seed: u64,
    /// Programs per kind of bug in archives
    #[arg(long, default_value_t = 10)]
    programs: u64,
    /// Only bugs in archives, or only those inside Heddle
    #[arg(long)]
    only: Option<Where>,
    /// Only this bug inside Heddle
    #[arg(long)]
    bug: Option<String>,
}

#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Where {
    Archives,
    Heddle,
}

/// Bugs of the runtime, as `rt/src/planted.rs` names them.
const RUNTIME: &[&str] = &[
    "early-publish",
    "early-question",
    "other-arm",
    "lost-wake-up",
    "open-gate",
    "unwatched-epoch",
];

/// True if every bug was noticed.
pub(crate) fn run(arguments: &Arguments) -> Result<bool> {
    let mut fine = true;
    if arguments.only != Some(Where::Heddle) {
        fine &= archives(arguments)?;
    }
    if arguments.only != Some(Where::Archives) {
        match cfg!(feature = "planted") {
            true => fine &= inside(arguments)?,
            false => println!("bugs inside Heddle: not in this build; `make plant` has them"),
        }
    }
    Ok(fine)
}

/// Bugs in the archives of generated programs; true if every one that changes anything was noticed.
fn archives(arguments: &Arguments) -> Result<bool> {
    let mut worker = Worker::new(&[]);
    let effort = Effort {
        enforced_runs: 150,
        ..Effort::default()
    };
    let mut fates = BTreeMap::<String, u32>::new();
    let mut missed = Vec::new();
    for seed in arguments.first_seed..arguments.first_seed + arguments.programs {
        for what in PLANTS {
            let level = match what {
                Plant::SwapEarly => Level::Unbounded,
                _ => Level::Shapes,
            };
            let program = generate(seed, level);
            let subject = Subject::generated(&program, "planted", seed, usize::MAX);
            let fate = worker.planted(&subject, seed, &effort, what)?;
            let word = match &fate {
                Fate::Missed(place) => {
                    let level = level as u32;
                    missed.push(format!("{what:?} at {place} in seed {seed} level {level}"));
                    "Missed".to_owned()
                }
                other => format!("{other:?}"),
            };
            *fates.entry(format!("{what:?}: {word}")).or_default() += 1;
        }
    }
    for (fate, count) in &fates {
        println!("{count:>4}  {fate}");
    }
    for text in &missed {
        println!("missed: {text}");
    }
    Ok(missed.is_empty())
}

/// Programs after which a bug counts as missed.
const MOST_PROGRAMS: u64 = 400;
/// The richest first.
const PLANTED_LEVELS: [Level; 6] = [
    Level::Unbounded,
    Level::Loops,
    Level::Unbounded,
    Level::Primitives,
    Level::Deadlocks,
    Level::Shapes,
];

/// Bugs inside Heddle, one after the other, each until the first finding.
fn inside(arguments: &Arguments) -> Result<bool> {
    let names = enumerator::planted::BUGS.iter().map(|(name, _)| *name);
    let mut fine = true;
    for name in names.chain(RUNTIME.iter().copied()) {
        if arguments.bug.as_ref().is_some_and(|only| only != name) {
            continue;
        }
        let caught = catch(name, arguments.first_seed)?;
        fine &= caught
            .as_ref()
            .is_some_and(|said| said.starts_with("caught"));
        let said = caught.unwrap_or_else(|| format!("MISSED by {MOST_PROGRAMS} programs"));
        println!("{name:<24} {said}");
    }
    Ok(fine)
}

/// Who noticed the bug, and after how much; none if nobody did. What was noticed must be gone without the bug.
fn catch(name: &str, first_seed: u64) -> Result<Option<String>> {
    let began = Instant::now();
    let mut planted = plan(name, first_seed);
    planted.programs = Some(MOST_PROGRAMS);
    let summary = soak(&planted)?;
    let Some((seed, level, finding)) = summary.findings.first() else {
        return Ok(None);
    };
    let sound = soak(&Plan {
        first_seed: *seed,
        programs: Some(1),
        levels: vec![*level],
        environment: Vec::new(),
        ..planted
    })?;
    if let Some((.., finding)) = sound.findings.first() {
        return Ok(Some(format!("NOT BY THIS: without it too {finding}")));
    }
    Ok(Some(format!(
        "caught: {:?}, seed {seed} level {}, among {} programs and {} runs, {} s",
        finding.wrong,
        *level as u32,
        summary.programs,
        summary.enforced_runs,
        began.elapsed().as_secs(),
    )))
}

/// Trials of a Heddle with this bug in it.
fn plan(name: &str, first_seed: u64) -> Plan {
    let mut environment = vec![("HEDDLE_PLANT".to_owned(), name.to_owned())];
    let gives_up = name == "unknown-is-impossible";
    if gives_up {
        let variable = "HEDDLE_TEST_SOLVER_TIMEOUTS".to_owned();
        environment.push((variable, "1:4".to_owned()));
    }
    Plan {
        first_seed,
        programs: None,
        time: None,
        levels: PLANTED_LEVELS.to_vec(),
        inputs: SMALL_WORLD,
        effort: Effort {
            enforced_runs: 110,
            gives_up,
            native_verdict: true,
            // Waiting for what a lost wake-up would bring is most of the time that it takes to notice.
            run_limit: Some(25),
            ..Effort::default()
        },
        wide_every: None,
        wide_bits: 16,
        edits_every: None,
        command_every: 1,
        native_every: 1,
        workers: std::thread::available_parallelism().map_or(1, usize::from),
        environment,
        failures: None::<PathBuf>,
        live: true,
        until_found: true,
    }
}
