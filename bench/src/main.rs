//! Measurements of the corpus and the soundness machine.

mod archive;
mod engine_command;
mod soak;

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use clap::{CommandFactory as _, Parser, Subcommand};
use heddle_bench::tables::{self, bar, compare, golden, headline, real, records, subject};
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
    /// Enumeration, ideas, run time, micro, growth, peers: every table, or those of the programs named
    Tables {
        /// Programs, sources or classes of the corpus; all if left out
        names: Vec<String>,
        /// Tables by number, for example `13`
        #[arg(long, default_value = "")]
        only: String,
        /// Limit of one enumeration
        #[arg(long, default_value_t = 20)]
        seconds: u64,
        /// How often each side of a ratio runs
        #[arg(long, default_value_t = 7)]
        times: usize,
        /// Where results go
        #[arg(long, default_value_os_t = tables::default_folder())]
        folder: PathBuf,
    },
    /// The programs that enumeration has to do, against the published figures and our bar, then enforced
    Enumerate {
        names: Vec<String>,
        /// Different inputs of each enforced program
        #[arg(long, default_value_t = 50)]
        inputs: usize,
        /// Limit of one enumeration
        #[arg(long, default_value_t = 60)]
        seconds: u64,
    },
    /// Compares every program's counts with its golden line; UPDATE_EXPECT=1 writes them
    Counts {
        names: Vec<String>,
        /// Limit of one enumeration
        #[arg(long, default_value_t = 60)]
        seconds: u64,
    },
    /// The same tables for a folder of projects, each with a heddle.toml
    Real { folder: PathBuf, names: Vec<String> },
    /// What moved between two runs beyond noise; a run is a file, or the beginning of its time or commit
    Compare { before: String, after: String },
    /// Rewrites the README's headline table from a run; the newest if none is named
    Headline {
        #[arg(default_value = "")]
        run: String,
        #[arg(long, default_value = "README.md")]
        readme: PathBuf,
    },
    /// Prints the tables of an earlier run again, and makes its page
    Show { run: String },
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
    /// Answers a soak
    #[command(name = heddle_bench::soundness::worker::WORD, hide = true)]
    SoakWorker,
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

/// Where raw runs are kept.
fn runs() -> PathBuf {
    tables::default_folder().join("runs")
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
        Command::Tables {
            names,
            only,
            seconds,
            times,
            folder,
        } => tables::run(&tables::Plan {
            names,
            only,
            seconds,
            times,
            folder,
        }),
        Command::Enumerate {
            names,
            inputs,
            seconds,
        } => {
            let options = format!("enumerate {names:?}, {inputs} inputs, {seconds} s");
            let plan = bar::Plan {
                names,
                inputs,
                seconds,
            };
            bar::run(&plan, records::Records::create(&runs(), &options)?)
        }
        Command::Counts { names, seconds } => {
            let subjects = subject::of_corpus(&names)?;
            let (differences, summary) = golden::check(&subjects, seconds)?;
            println!("{summary}");
            Ok(differences == 0)
        }
        Command::Real { folder, names } => {
            real::run(&folder, &names, records::Records::create(&runs(), "real")?)
        }
        Command::Compare { before, after } => compare::run(&runs(), &before, &after),
        Command::Headline { run, readme } => {
            let run = records::read(&compare::find(&runs(), &run)?)?;
            headline::rewrite(&readme, &run).map(|()| true)
        }
        Command::Show { run } => {
            let run = records::read(&compare::find(&runs(), &run)?)?;
            tables::show(&run, &tables::default_folder()).map(|()| true)
        }
        Command::Plant {
            first_seed,
            programs,
        } => soak::plant(first_seed, programs),
        Command::Deadlocks { words } => deadlocks(&words),
        Command::Program(named) => soak::show(&named),
        Command::SoakWorker => heddle_bench::soundness::worker::serve().map(|()| true),
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
