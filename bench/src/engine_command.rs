//! `heddle-bench engine`: the symbolic engine against the machine, and its speed.

use std::collections::BTreeMap;
use std::process::Command;
use std::time::Duration;

use anyhow::Result;
use heddle_bench::engine::constant::{self, Verdict};
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
    /// One program, in this process
    #[arg(long, hide = true)]
    alone: bool,
}

/// Longest trial of one program.
const LIMIT: Duration = Duration::from_secs(60);

pub(crate) fn run(arguments: &Arguments) -> Result<bool> {
    if arguments.alone {
        return one(arguments.first_seed, arguments.csmith);
    }
    let mut counts = BTreeMap::new();
    for seed in arguments.first_seed..arguments.first_seed + arguments.programs {
        // A process of its own: what crashes or does not end must not stop the others.
        let mut child = Command::new(std::env::current_exe()?);
        child.args(["engine", "--alone", "--first-seed", &seed.to_string()]);
        if arguments.csmith {
            child.arg("--csmith");
        }
        let outcome = process::run(&mut child, LIMIT)?;
        let kind = match outcome.end {
            End::Exit(0) if outcome.last_line() == "same" => "same",
            End::Exit(0) => "skipped",
            End::TimedOut => "too slow",
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
