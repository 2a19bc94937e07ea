//! `heddle-bench plant`: bugs that are planted, in archives and, with the feature `planted`, in Heddle itself. Each must be noticed.

use std::collections::BTreeMap;
use std::path::PathBuf;

use anyhow::Result;
use heddle_bench::soundness::generate::{LEVELS, Level, generate};
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
/// Programs between two looks.
const AT_ONCE: u64 = 20;

/// Bugs inside Heddle, one after the other, each until the first finding.
fn inside(arguments: &Arguments) -> Result<bool> {
    let names = enumerator::planted::BUGS.iter().map(|(name, _)| *name);
    let mut fine = true;
    for name in names.chain(RUNTIME.iter().copied()) {
        if arguments.bug.as_ref().is_some_and(|only| only != name) {
            continue;
        }
        let caught = catch(name, arguments.first_seed)?;
        fine &= caught.is_some();
        let said = caught.unwrap_or_else(|| format!("MISSED by {MOST_PROGRAMS} programs"));
        println!("{name:<24} {said}");
    }
    Ok(fine)
}

/// Who noticed the bug, and after how much; none if nobody did.
fn catch(name: &str, first_seed: u64) -> Result<Option<String>> {
    let mut environment = vec![("HEDDLE_PLANT".to_owned(), name.to_owned())];
    if name == "unknown-is-impossible" {
        let variable = "HEDDLE_TEST_SOLVER_TIMEOUTS".to_owned();
        environment.push((variable, "1:4".to_owned()));
    }
    let (mut programs, mut runs) = (0, 0);
    while programs < MOST_PROGRAMS {
        let summary = soak(&Plan {
            first_seed: first_seed + programs,
            programs: Some(AT_ONCE),
            time: None,
            levels: LEVELS.to_vec(),
            inputs: SMALL_WORLD,
            effort: Effort {
                enforced_runs: 110,
                gives_up: true,
                ..Effort::default()
            },
            wide_every: None,
            wide_bits: 16,
            command_every: 1,
            native_every: 1,
            workers: std::thread::available_parallelism().map_or(1, usize::from),
            environment: environment.clone(),
            failures: None::<PathBuf>,
            live: false,
            until_found: true,
        })?;
        programs += summary.programs;
        runs += summary.enforced_runs;
        if let Some((seed, level, finding)) = summary.findings.first() {
            let (level, wrong) = (*level as u32, finding.wrong);
            return Ok(Some(format!(
                "caught: {wrong:?}, seed {seed} level {level}, among {programs} programs and {runs} runs"
            )));
        }
    }
    Ok(None)
}
