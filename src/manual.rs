//! `heddle manual FOLDER` (hidden): writes man pages and shell completions, from the same definitions that parse the command line.
//!
//! `make install` and the package use it, so neither can be out of date.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use clap::CommandFactory as _;
use clap_complete::Shell;

use crate::Verdict;

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Where `man/man1`, `bash-completion`, `zsh` and `fish` go
    folder: PathBuf,
}

/// A shell, and the file its completions belong to under `PREFIX/share`.
const COMPLETIONS: &[(Shell, &str)] = &[
    (Shell::Bash, "bash-completion/completions/heddle"),
    (Shell::Zsh, "zsh/site-functions/_heddle"),
    (Shell::Fish, "fish/vendor_completions.d/heddle.fish"),
];

pub(crate) fn run(arguments: &Arguments) -> Result<Verdict> {
    let mut command = crate::Arguments::command();
    command.build();
    let pages = arguments.folder.join("man/man1");
    page(&command, "heddle", &pages)?;
    for subcommand in command.get_subcommands().filter(|sub| !sub.is_hide_set()) {
        if subcommand.get_name() != "help" {
            page(
                subcommand,
                &format!("heddle-{}", subcommand.get_name()),
                &pages,
            )?;
        }
    }
    for (shell, file) in COMPLETIONS {
        let mut text = Vec::new();
        clap_complete::generate(
            *shell,
            &mut crate::Arguments::command(),
            "heddle",
            &mut text,
        );
        write(&arguments.folder.join(file), &text)?;
    }
    Ok(Verdict::Fine)
}

fn page(command: &clap::Command, name: &str, folder: &Path) -> Result<()> {
    let mut text = Vec::new();
    let command = command.clone().display_name(name.to_owned());
    clap_mangen::Man::new(command)
        .title(name)
        .render(&mut text)
        .context("man page")?;
    write(&folder.join(format!("{name}.1")), &text)
}

fn write(path: &Path, text: &[u8]) -> Result<()> {
    let folder = path.parent().unwrap_or(Path::new("."));
    std::fs::create_dir_all(folder).with_context(|| folder.display().to_string())?;
    std::fs::write(path, text).with_context(|| path.display().to_string())
}
