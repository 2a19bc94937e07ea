//! `heddle init`: writes a `heddle.toml` in which every key is explained and none is set.

use std::path::PathBuf;

use anyhow::{Context as _, Result};

use crate::Verdict;

#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// The folder to write it to
    #[arg(default_value = ".")]
    folder: PathBuf,
    /// Replaces an existing one
    #[arg(long)]
    force: bool,
}

const EXAMPLES: &str = "\
Examples:
  heddle init            # ./heddle.toml
  heddle init project/";

/// What is written.
pub(crate) const TEMPLATE: &str = include_str!("heddle.toml");

pub(crate) fn run(arguments: &Arguments) -> Result<Verdict> {
    let path = arguments.folder.join("heddle.toml");
    if path.exists() && !arguments.force {
        fail!(
            Config,
            "{}: is there already; --force replaces it",
            path.display()
        );
    }
    std::fs::write(&path, TEMPLATE).with_context(|| path.display().to_string())?;
    crate::output::print(&format!("wrote {}\n", path.display()))?;
    Ok(Verdict::Fine)
}
