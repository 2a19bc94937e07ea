//! `heddle inspect`: what an archive says, as text, and whether it is well-formed.

use std::path::PathBuf;

use anyhow::Result;
use schedules::Archive;
use schedules::paths::Counts;
use schedules::text::{self, Identity};

use crate::Verdict;

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// The archive, for example prog.heddle
    archive: PathBuf,
    /// Leaves out what changes with compiler and tool: fingerprint, tool, stable ids, footprints
    #[arg(long)]
    without_identity: bool,
    /// Checks every rule of an archive instead of printing it; status 1 if one is broken
    #[arg(long)]
    verify: bool,
}

pub(crate) fn run(arguments: &Arguments) -> Result<Verdict> {
    let archive = Archive::read(&arguments.archive)?;
    if arguments.verify {
        return verify(arguments, &archive);
    }
    let identity = match arguments.without_identity {
        true => Identity::Hidden,
        false => Identity::Shown,
    };
    crate::output::print(&text::dump(&archive, identity))?;
    Ok(Verdict::Fine)
}

fn verify(arguments: &Arguments, archive: &Archive) -> Result<Verdict> {
    let shown = arguments.archive.display();
    let problems = schedules::verify::verify(archive);
    let mut text: String = problems
        .iter()
        .map(|problem| format!("{shown}: {problem}\n"))
        .collect();
    if problems.is_empty() {
        text = format!("{shown}: well-formed ({})\n", Counts::of(archive));
    }
    crate::output::print(&text)?;
    Ok(match problems.is_empty() {
        true => Verdict::Fine,
        false => Verdict::Findings,
    })
}
