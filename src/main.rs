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
      --time SECS        stop exploring then, and say what is missing (also --time-limit)
      --memory SIZE      stop exploring when the process takes more, and say what is missing; 512M, 4G
                         [default: three quarters of what is free]
      --jobs N           explore on N threads [default: all cores]; the archive does not depend on it
      --store DIR        keep results there and use those of earlier runs; without it they are kept beside the
                         archive until it is written, so an enumeration that was killed goes on where it was
      --quiet            errors and warnings only
      --verbose          progress from the beginning, and often
      --log-json         progress as JSON on standard error, one object a line
      --config FILE      these and `inputs` from FILE instead of heddle.toml of the current folder

Ctrl-C ends the search in a valid archive that says what is missing; the same command goes on later. An incomplete
archive is written, its gaps are listed, and the exit status is 1."
    };
}

#[macro_use]
mod codes;

mod analyze;
mod build;
mod cc;
mod check;
mod conform;
mod diff;
mod doctor;
mod enumerate;
mod explain;
mod explain_archive;
mod extract;
mod findings;
mod init;
mod input;
mod inspect;
mod installation;
mod manual;
mod native;
mod output;
mod prepare;
mod progress;
mod provoke;
mod replay;
mod report;
mod run;
mod settings;
mod stats;
mod symbolic;
mod vet;
mod wrap;

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

Environment:
  HEDDLE_OPTIONS   key=value:key=value for enforced programs; HEDDLE_OPTIONS=help ./prog lists the keys
  HEDDLE_CLANG     the C compiler [default: clang-19]; HEDDLE_CLANGXX the C++ compiler
  HEDDLE_RT        the runtime to link into programs [default: libheddle_rt.a of this installation]
  NO_COLOR         no colours; COLUMNS: the width of reports

Examples:
  heddle build prog.c -o prog -O2 && heddle check prog.heddle && ./prog
  CC=\"heddle cc\" make && heddle build ./prog -o prog.enforced
  heddle explain HD0101     # what a code at the end of a message means

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
    /// Executes a program by hand and shows what the symbolic engine knows
    Symbolic(symbolic::Arguments),
    /// Gathers the whole program as bitcode from a binary made with `heddle cc`
    Extract(extract::Arguments),
    #[command(hide = true)]
    Vet(vet::Arguments),
    /// Reports the deadlocks in an archive's schedules
    Check(check::Arguments),
    /// Shows a finding happening in the real program
    Replay(replay::Arguments),
    /// Prints an archive: its epochs, decisions and schedules
    Inspect(inspect::Arguments),
    /// Says what changed between two archives, by epoch and schedule; status 1 if anything did
    Diff(diff::Arguments),
    /// Says whether a logged run followed its archive, and which schedules it followed
    Conform(conform::Arguments),
    /// Says where a run waited, by source line
    Stats(stats::Arguments),
    /// Explains a code such as HD0101 at the end of a message, or the decisions of an epoch
    Explain(explain::Arguments),
    /// Writes a heddle.toml in which every setting is explained
    Init(init::Arguments),
    #[command(hide = true)]
    Manual(manual::Arguments),
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
    let arguments = match Arguments::try_parse() {
        Ok(arguments) => arguments,
        Err(error) => return misused(&error),
    };
    let result = match arguments.command {
        Command::Run(arguments) => return finish(run::run(&arguments)),
        Command::Build(arguments) => build::run(&arguments),
        Command::Enumerate(arguments) => enumerate::run(&arguments),
        Command::Prepare(arguments) => prepare::run(&arguments),
        Command::Analyze(arguments) => analyze::run(&arguments),
        Command::Symbolic(arguments) => symbolic::run(&arguments),
        Command::Extract(arguments) => extract::run(&arguments),
        Command::Vet(arguments) => vet::run(&arguments),
        Command::Check(arguments) => check::run(&arguments),
        Command::Replay(arguments) => replay::run(&arguments),
        Command::Inspect(arguments) => inspect::run(&arguments),
        Command::Diff(arguments) => diff::run(&arguments),
        Command::Conform(arguments) => conform::run(&arguments),
        Command::Stats(arguments) => stats::run(&arguments),
        Command::Explain(arguments) => explain::run(&arguments),
        Command::Init(arguments) => init::run(&arguments),
        Command::Manual(arguments) => manual::run(&arguments),
        Command::Doctor(arguments) => doctor::run(&arguments),
    };
    finish(result)
}

/// Help and version, or what is wrong with the command line, with its code.
fn misused(error: &clap::Error) -> ExitCode {
    if !error.use_stderr() {
        // A reader that went away is not an error.
        let _ = error.print();
        return ExitCode::SUCCESS;
    }
    let text = error.render().to_string();
    let (first, rest) = text.split_once('\n').unwrap_or((&text, ""));
    let first = first.strip_prefix("error: ").unwrap_or(first);
    eprint!("heddle: error: {first} [{}]\n{rest}", codes::Code::WrongUse);
    ExitCode::from(2)
}

fn finish<T: Into<ExitCode>>(result: anyhow::Result<T>) -> ExitCode {
    match result {
        Ok(verdict) => verdict.into(),
        Err(error) => {
            eprintln!("{}", codes::message(&error));
            ExitCode::from(2)
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;

    #[test]
    fn every_help_has_examples() {
        let mut command = Arguments::command();
        command.build();
        let shown = command.get_subcommands().filter(|one| !one.is_hide_set());
        for one in shown.filter(|one| one.get_name() != "help") {
            let after = one.get_after_help().map(ToString::to_string);
            let after = after.unwrap_or_default();
            assert!(after.contains("Examples:\n  "), "heddle {}", one.get_name());
        }
    }
}
