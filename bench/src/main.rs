//! Measurements of the corpus and the soundness machine.

mod archive;
mod soak;

use std::process::ExitCode;

use anyhow::Result;
use clap::{Parser, Subcommand};

/// Measures Heddle and tries to break it.
#[derive(Parser)]
#[command(name = "heddle-bench")]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Size and opening time of archives, by number of nodes
    Archive(archive::Arguments),
    /// Generated programs through the whole road until the time is over
    Soak(soak::Arguments),
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
fn run(command: Command) -> Result<bool> {
    match command {
        Command::Archive(arguments) => archive::run(&arguments),
        Command::Soak(arguments) => soak::run(&arguments),
        Command::Program(named) => soak::show(&named),
    }
}
