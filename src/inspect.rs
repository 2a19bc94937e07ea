//! `heddle inspect`: what an archive says, as text.

use std::path::PathBuf;

use anyhow::Result;
use schedules::Archive;
use schedules::text::{self, Identity};

use crate::Verdict;

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// The archive, for example prog.heddle
    archive: PathBuf,
    /// Leaves out what changes with compiler and tool: fingerprint, tool, stable ids, footprints
    #[arg(long)]
    without_identity: bool,
}

pub(crate) fn run(arguments: &Arguments) -> Result<Verdict> {
    let archive = Archive::read(&arguments.archive)?;
    let identity = match arguments.without_identity {
        true => Identity::Hidden,
        false => Identity::Shown,
    };
    crate::output::print(&text::dump(&archive, identity))?;
    Ok(Verdict::Fine)
}
