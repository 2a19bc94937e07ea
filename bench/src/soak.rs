//! `heddle-bench soak` and `heddle-bench program`: the soundness machine by hand.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, Result};
use heddle_bench::soundness::adversarial;
use heddle_bench::soundness::generate::{Level, generate};
use heddle_bench::soundness::print::c_source;
use heddle_bench::soundness::soak::{Plan, soak};
use heddle_bench::soundness::trial::{Effort, Heddle, Wrong, trial};

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
    /// Feature levels, 1 to 5, taken in turn
    #[arg(long, value_delimiter = ',', default_value = "1,2,3,4,5")]
    level: Vec<u32>,
    /// Inputs per program
    #[arg(long, default_value_t = 16)]
    inputs: usize,
    /// Enforced runs per input
    #[arg(long, default_value_t = 4)]
    runs: usize,
    /// Where failing programs are written, made small
    #[arg(long, default_value = "soak-failures")]
    failures: PathBuf,
}

#[derive(clap::Args)]
pub(crate) struct Named {
    seed: u64,
    #[arg(long, default_value_t = 5)]
    level: u32,
}

fn level(number: u32) -> Result<Level> {
    Level::from_number(number).with_context(|| format!("level {number}: there are 1 to 5"))
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
        },
        failures: Some(arguments.failures.clone()),
        live: true,
    };
    println!("first seed {}", plan.first_seed);
    let summary = soak(&Heddle::find()?, &plan)?;
    println!("{summary}");
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
    let heddle = Heddle::find()?;
    let effort = Effort {
        native_runs: 2,
        enforced_runs: 6,
        repeat: true,
    };
    let mut fine = true;
    for (name, subject) in adversarial::load()? {
        if !only.is_empty() && !only.contains(&name) {
            continue;
        }
        let tally = trial(&heddle, &subject, 1, effort)?;
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
