//! `heddle-bench engine`: the symbolic engine against the machine, and its speed.

use std::collections::BTreeMap;
use std::process::Command;
use std::time::Duration;

use anyhow::Result;
use heddle_bench::engine::constant::{self, Verdict};
use heddle_bench::engine::paths::{self, Effort};
use heddle_bench::engine::{Program, generate};
use heddle_bench::process::{self, End};

#[derive(clap::Args)]
pub(crate) struct Arguments {
    #[arg(long, default_value_t = 1)]
    first_seed: u64,
    #[arg(long, default_value_t = 100)]
    programs: u64,
    /// Programs of csmith instead of our own
    #[arg(long)]
    csmith: bool,
    /// Programs with unknown inputs: every path, merged states, caches
    #[arg(long)]
    paths: bool,
    /// Instructions and queries a second, instead
    #[arg(long)]
    speed: bool,
    /// One program, in this process
    #[arg(long, hide = true)]
    alone: bool,
}

/// Longest trial of one program.
const LIMIT: Duration = Duration::from_secs(60);

pub(crate) fn run(arguments: &Arguments) -> Result<bool> {
    if arguments.alone {
        return match arguments.paths {
            true => paths_of(arguments.first_seed),
            false => one(arguments.first_seed, arguments.csmith),
        };
    }
    if arguments.speed {
        return speed();
    }
    let mut counts = BTreeMap::new();
    for seed in arguments.first_seed..arguments.first_seed + arguments.programs {
        // A process of its own: what crashes or does not end must not stop the others.
        let mut child = Command::new(std::env::current_exe()?);
        child.args(["engine", "--alone", "--first-seed", &seed.to_string()]);
        if arguments.csmith {
            child.arg("--csmith");
        }
        if arguments.paths {
            child.arg("--paths");
        }
        let outcome = process::run(&mut child, LIMIT)?;
        let kind = match outcome.end {
            End::Exit(0) if outcome.last_line() == "same" => "same",
            End::Exit(0) => "skipped",
            End::TimedOut => "too slow",
            // The loader names what it does not take.
            _ if outcome.stderr.contains("is not supported") => "refused",
            _ => "DIFFERENT",
        };
        *counts.entry(kind).or_insert(0) += 1;
        if kind != "same" {
            println!("seed {seed}: {kind}\n{}{}", outcome.stdout, outcome.stderr);
        }
    }
    println!("{counts:?}");
    Ok(!counts.contains_key("DIFFERENT"))
}

fn one(seed: u64, csmith: bool) -> Result<bool> {
    let folder = tempfile::tempdir()?;
    let program = match csmith {
        true => constant::csmith(seed, folder.path())?,
        false => Program::of_text(&generate::program(seed, false), folder.path())?,
    };
    match constant::trial(&program, &[])? {
        Verdict::Same { bytes, steps } => println!("{bytes} bytes, {steps} instructions\nsame"),
        Verdict::Skipped(why) => println!("{why}"),
        Verdict::Different(list) => {
            println!("{}", list.join("\n"));
            return Ok(false);
        }
    }
    Ok(true)
}

fn paths_of(seed: u64) -> Result<bool> {
    let folder = tempfile::tempdir()?;
    let program = Program::of_text(&generate::program(seed, true), folder.path())?;
    let effort = Effort {
        paths: 8,
        models: 20,
    };
    let report = paths::trial(&program, seed, effort)?;
    println!("{report:?}");
    if report.skipped.is_none() && report.wrong.is_empty() {
        println!("same");
    }
    Ok(report.wrong.is_empty())
}

fn speed() -> Result<bool> {
    println!(
        "what                        instructions  a second  queries  a second  without z3  paths  merges  bytes a state"
    );
    for row in heddle_bench::engine::speed::measure()? {
        let seconds = row.time.as_secs_f64().max(1e-9);
        let parts = (row.asked + row.cheap).max(1);
        println!(
            "{:<27} {:>12} {:>9.0} {:>8} {:>9.0} {:>10}% {:>6} {:>7} {:>14}",
            row.name,
            row.steps,
            row.steps as f64 / seconds,
            row.queries,
            row.queries as f64 / seconds,
            100 * row.cheap / parts,
            row.paths,
            row.merges,
            row.per_state
                .map_or_else(|| "-".to_owned(), |bytes| bytes.to_string())
        );
    }
    Ok(true)
}
