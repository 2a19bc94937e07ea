//! Measurements of the corpus and the soundness machine.

mod archive;
mod engine_command;
mod soak;

use std::process::ExitCode;

use anyhow::Result;
use clap::{CommandFactory as _, Parser, Subcommand};
use heddle_bench::verdicts;

/// Measures Heddle and tries to break it.
#[derive(Parser)]
#[command(name = "heddle-bench")]
struct Arguments {
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Subcommand)]
enum Command {
    /// Size and opening time of archives, by number of nodes
    Archive(archive::Arguments),
    /// The symbolic engine against the machine, on sequential programs
    Engine(engine_command::Arguments),
    /// Generated programs through the whole road until the time is over
    Soak(soak::Arguments),
    /// The programs of tests/programs/adversarial, or those named
    Adversarial { programs: Vec<String> },
    /// The runtime against the C library, side by side
    Micro {
        /// Rows by letter, for example `ac`; all if left out
        #[arg(default_value = "")]
        rows: String,
        /// How often each side runs
        #[arg(long, default_value_t = 9)]
        times: usize,
    },
    /// Plants bugs into archives and says whether the machine notices them
    Plant {
        #[arg(long, default_value_t = 1)]
        first_seed: u64,
        #[arg(long, default_value_t = 10)]
        programs: u64,
    },
    /// Both verdicts on the corpus's deadlock programs, or those whose names contain a word
    Deadlocks { words: Vec<String> },
    /// Prints the program of a seed
    Program(soak::Named),
}

fn main() -> ExitCode {
    match run(Arguments::parse().command) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(1),
        Err(error) => {
            eprintln!("heddle-bench: error: {error:#}");
            ExitCode::from(2)
        }
    }
}

/// True if nothing was found.
fn run(command: Option<Command>) -> Result<bool> {
    let Some(command) = command else {
        Arguments::command().print_help()?;
        return Ok(true);
    };
    match command {
        Command::Archive(arguments) => archive::run(&arguments),
        Command::Engine(arguments) => engine_command::run(&arguments),
        Command::Soak(arguments) => soak::run(&arguments),
        Command::Adversarial { programs } => soak::adversarial(&programs),
        Command::Micro { rows, times } => heddle_bench::micro::run(&rows, times).map(|()| true),
        Command::Plant {
            first_seed,
            programs,
        } => soak::plant(first_seed, programs),
        Command::Deadlocks { words } => deadlocks(&words),
        Command::Program(named) => soak::show(&named),
    }
}

/// Prints the table; true if every row is right.
fn deadlocks(words: &[String]) -> Result<bool> {
    let heddle = heddle_bench::soundness::trial::Heddle::find()?;
    let folder = tempfile::tempdir()?;
    let programs = verdicts::programs(words)?;
    let mut right = 0;
    println!("{:28} {:20}   {:20}", "program", "archive", "native");
    for program in &programs {
        let row = verdicts::ask(&heddle, program, folder.path())?;
        right += usize::from(row.is_right());
        println!("{}", verdicts::line(&row));
    }
    println!("{right} of {} right", programs.len());
    Ok(right == programs.len())
}
