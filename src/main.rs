//! The `heddle` command: arguments in, reports out.
//!
//! One file per subcommand, each with its `Arguments` and its `run`. A subcommand returns [`Verdict`]; an error
//! becomes one message on standard error and status 2.
//!
//! Deliberately absent: analysis of any kind. What is found, checked or enforced is decided in the libraries.

mod analyze;
mod cc;
mod doctor;
mod extract;
mod installation;

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
    /// Shows what the static analyses know about a program: sites, markers, what matters
    Analyze(analyze::Arguments),
    /// Gathers the whole program as bitcode from a binary made with `heddle cc`
    Extract(extract::Arguments),
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
        Command::Analyze(arguments) => analyze::run(&arguments),
        Command::Extract(arguments) => extract::run(&arguments),
        Command::Doctor(arguments) => doctor::run(&arguments),
    };
    match result {
        Ok(verdict) => verdict.into(),
        Err(error) => {
            eprintln!("heddle: error: {error:#}");
            ExitCode::from(2)
        }
    }
}
