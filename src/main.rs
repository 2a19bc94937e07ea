//! The `heddle` command: arguments in, reports out.
//!
//! One file per subcommand, each with its `Arguments` and its `run`. A subcommand returns [`Verdict`]; an error
//! becomes one message on standard error and status 2.
//!
//! Deliberately absent: analysis of any kind. What is found, checked or enforced is decided in the libraries.

/// What the commands that enumerate understand, besides the compiler's flags.
macro_rules! enumeration_options {
    () => {
        "\
Options of the enumeration:
      --threads N        no more than N threads live at once [default: 16]
      --assume TEXT      an assumption on the program's inputs; may be given several times
      --time-limit SECS  stop exploring then, and say what is missing
      --config FILE      these and `inputs` from FILE instead of heddle.toml of the current folder

An incomplete archive is written, its gaps are listed, and the exit status is 1."
    };
}

mod analyze;
mod build;
mod cc;
mod check;
mod conform;
mod diff;
mod doctor;
mod enumerate;
mod extract;
mod findings;
mod input;
mod inspect;
mod installation;
mod output;
mod prepare;
mod progress;
mod run;
mod settings;
mod vet;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// Finds the thread schedules a C program needs, checks them, and lets the program follow those and no others.
#[derive(Parser)]
#[command(name = "heddle", version, propagate_version = true, after_help = AFTER_HELP)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

const AFTER_HELP: &str = "\
Exit status:
  0  done, nothing found
  1  findings
  2  errors: wrong use, wrong input, unusable file

Compiler:
  heddle cc, heddle c++  clang with everything it takes; objects also carry their bitcode
                         (heddle-cc is the same under one word)";

#[derive(Subcommand)]
enum Command {
    /// Makes an executable that follows its schedules, and the archive with them
    Build(build::Arguments),
    /// Finds the schedules of a program and writes its archive
    Enumerate(enumerate::Arguments),
    /// Runs an enforced program and says how it went
    Run(run::Arguments),
    /// Writes the canonical bitcode that everything else works on
    Prepare(prepare::Arguments),
    /// Shows what the static analyses know about a program: sites, markers, what matters
    Analyze(analyze::Arguments),
    /// Gathers the whole program as bitcode from a binary made with `heddle cc`
    Extract(extract::Arguments),
    #[command(hide = true)]
    Vet(vet::Arguments),
    /// Reports the deadlocks in an archive's schedules
    Check(check::Arguments),
    /// Prints an archive: its epochs, decisions and schedules
    Inspect(inspect::Arguments),
    /// Says what changed between two archives, by epoch and schedule; status 1 if anything did
    Diff(diff::Arguments),
    /// Says whether a logged run followed its archive, and which schedules it followed
    Conform(conform::Arguments),
    /// Says what this machine lacks for Heddle, and how to get it
    Doctor(doctor::Arguments),
}

/// How a command that did its work ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    /// Nothing to complain about.
    Fine,
    /// Something was found in the user's program or machine.
    Findings,
}

impl From<Verdict> for ExitCode {
    fn from(verdict: Verdict) -> Self {
        match verdict {
            Verdict::Fine => ExitCode::from(0),
            Verdict::Findings => ExitCode::from(1),
        }
    }
}

fn main() -> ExitCode {
    // The compiler's arguments are the compiler's: they never reach our parser.
    if let Some(status) = cc::from_command_line(std::env::args_os()) {
        return status;
    }
    let result = match Arguments::parse().command {
        Command::Run(arguments) => return finish(run::run(&arguments)),
        Command::Build(arguments) => build::run(&arguments),
        Command::Enumerate(arguments) => enumerate::run(&arguments),
        Command::Prepare(arguments) => prepare::run(&arguments),
        Command::Analyze(arguments) => analyze::run(&arguments),
        Command::Extract(arguments) => extract::run(&arguments),
        Command::Vet(arguments) => vet::run(&arguments),
        Command::Check(arguments) => check::run(&arguments),
        Command::Inspect(arguments) => inspect::run(&arguments),
        Command::Diff(arguments) => diff::run(&arguments),
        Command::Conform(arguments) => conform::run(&arguments),
        Command::Doctor(arguments) => doctor::run(&arguments),
    };
    finish(result)
}

fn finish<T: Into<ExitCode>>(result: anyhow::Result<T>) -> ExitCode {
    match result {
        Ok(verdict) => verdict.into(),
        Err(error) => {
            eprintln!("heddle: error: {error:#}");
            ExitCode::from(2)
        }
    }
}
