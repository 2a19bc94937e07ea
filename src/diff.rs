//! `heddle diff`: what changed between two archives.

use std::path::PathBuf;

use anyhow::Result;
use schedules::Archive;

use crate::Verdict;

const EXAMPLES: &str = "\
Examples:
  heddle diff before.heddle after.heddle";

#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// The archive before
    old: PathBuf,
    /// The archive after
    new: PathBuf,
}

pub(crate) fn run(arguments: &Arguments) -> Result<Verdict> {
    let old = Archive::read(&arguments.old)?;
    let new = Archive::read(&arguments.new)?;
    let differences = schedules::diff::diff(&old, &new);
    let text: String = differences.iter().map(|d| format!("{d}\n")).collect();
    crate::output::print(&text)?;
    Ok(match differences.is_empty() {
        true => Verdict::Fine,
        false => Verdict::Findings,
    })
}
