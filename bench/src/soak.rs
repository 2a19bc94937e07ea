//! `heddle-bench soak` and `heddle-bench program`: the soundness machine by hand.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, Result};
use heddle_bench::soundness::adversarial;
use heddle_bench::soundness::generate::{Level, generate};
use heddle_bench::soundness::print::c_source;
use heddle_bench::soundness::soak::{Plan, soak};
use heddle_bench::soundness::subject::SMALL_WORLD;
use heddle_bench::soundness::trial::{Effort, Heddle, Wrong};
use heddle_bench::soundness::worker::Worker;

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Stop after this many minutes
    #[arg(long)]
    minutes: Option<f64>,
    /// Stop after this many programs
    #[arg(long)]
    programs: Option<u64>,
    /// Seeds count up from here; without it, from the clock
    #[arg(long)]
    first_seed: Option<u64>,
    /// Feature levels, 1 to 7, taken in turn
    #[arg(long, value_delimiter = ',', default_value = "1,2,3,4,5,6,7,3,4,5,6")]
    level: Vec<u32>,
    /// Inputs per program at most
    #[arg(long, default_value_t = SMALL_WORLD)]
    inputs: usize,
    /// Enforced runs per program; each input gets at least one
    #[arg(long, default_value_t = 110)]
    runs: usize,
    /// Every so many programs one with 65,536 inputs, each of which is run: minutes of processor time
    #[arg(long)]
    wide_every: Option<u64>,
    /// Programs at the same time; all processors if left out
    #[arg(long)]
    jobs: Option<usize>,
    /// Make the solver give up on one in so many questions: archives may grow or say that they are incomplete, but not be wrong
    #[arg(long)]
    solver_gives_up: Option<u64>,
    /// Where failing programs are written, made small
    #[arg(long, default_value = "soak-failures")]
    failures: PathBuf,
}

#[derive(clap::Args)]
pub(crate) struct Named {
    seed: u64,
    #[arg(long, default_value_t = 6)]
    level: u32,
}

fn level(number: u32) -> Result<Level> {
    Level::from_number(number).with_context(|| format!("level {number}: there are 1 to 7"))
}

/// True if nothing was found.
pub(crate) fn run(arguments: &Arguments) -> Result<bool> {
    let levels = arguments.level.iter().map(|&n| level(n));
    let clock = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    let plan = Plan {
        first_seed: arguments.first_seed.unwrap_or(clock?.as_secs()),
        programs: arguments.programs,
        time: arguments
            .minutes
            .map(|minutes| Duration::from_secs_f64(minutes * 60.0)),
        levels: levels.collect::<Result<_>>()?,
        inputs: arguments.inputs,
        effort: Effort {
            native_runs: 1,
            enforced_runs: arguments.runs,
            repeat: true,
            gives_up: arguments.solver_gives_up.is_some(),
            native_verdict: arguments.solver_gives_up.is_none(),
            run_limit: None,
            command: Some(Heddle::find()?.0),
        },
        wide_every: arguments.wide_every,
        wide_bits: 16,
        edits_every: Some(4),
        command_every: 25,
        native_every: 4,
        workers: (arguments.jobs)
            .unwrap_or_else(|| std::thread::available_parallelism().map_or(1, usize::from)),
        environment: (arguments.solver_gives_up.iter())
            .map(|rate| {
                (
                    "HEDDLE_TEST_SOLVER_TIMEOUTS".to_owned(),
                    format!("1:{rate}"),
                )
            })
            .collect(),
        failures: Some(arguments.failures.clone()),
        live: true,
        until_found: false,
    };
    println!("first seed {}", plan.first_seed);
    let summary = soak(&plan)?;
    println!("{summary}");
    println!("last seed {}", summary.last_seed);
    for (what, count) in &summary.coverage {
        println!("  {count:>6} {what}");
    }
    println!("  {} changes of epochs in logs", summary.epoch_changes);
    for (gap, count) in &summary.gaps {
        println!("  incomplete {count} times: {gap}");
    }
    for (seed, level, finding) in &summary.findings {
        println!("  seed {seed} level {}: {:?}", *level as u32, finding.wrong);
    }
    Ok(summary.findings.is_empty())
}

/// The hand-written programs, one line each. True if none breaks the promise.
pub(crate) fn adversarial(only: &[String]) -> Result<bool> {
    let mut worker = Worker::new(&[]);
    let effort = Effort {
        native_runs: 2,
        enforced_runs: 60,
        repeat: true,
        gives_up: false,
        native_verdict: true,
        run_limit: None,
        command: Some(Heddle::find()?.0),
    };
    let mut fine = true;
    for (name, subject) in adversarial::load()? {
        if !only.is_empty() && !only.contains(&name) {
            continue;
        }
        let tally = worker.trial(&subject, 1, &effort)?;
        let verdict = match (&tally.finding, &tally.incomplete) {
            (Some(finding), _) if finding.wrong == Wrong::BuildRefused => {
                format!("refused: {}", finding.detail)
            }
            (Some(finding), _) => {
                fine = false;
                format!("WRONG {finding}")
            }
            (None, Some(gap)) => format!("incomplete: {gap}"),
            (None, None) => "covered".to_owned(),
        };
        println!("{name:<24} {:>3} runs  {verdict}", tally.enforced_runs);
    }
    Ok(fine)
}

/// Prints the program of a seed.
pub(crate) fn show(named: &Named) -> Result<bool> {
    let program = generate(named.seed, level(named.level)?);
    let note = format!("seed {}, level {}", named.seed, named.level);
    print!("{}", c_source(&program, &note));
    Ok(true)
}
