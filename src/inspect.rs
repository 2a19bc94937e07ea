//! `heddle inspect`: what an archive says, as text, JSON or picture, and whether it is well-formed.

use std::path::PathBuf;

use anyhow::{Context as _, Result};
use schedules::Archive;
use schedules::paths::Counts;
use schedules::text::{self, Identity};
use schedules::{archive_json, draw};

use crate::Verdict;

const EXAMPLES: &str = "\
Examples:
  heddle inspect prog.heddle
  heddle inspect prog.heddle --svg 0/1 >schedule.svg   # schedule 1 of epoch 0
  heddle inspect prog.heddle --verify";

#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// The archive, for example prog.heddle
    archive: PathBuf,
    #[command(flatten)]
    form: Form,
    /// Leaves out what changes with compiler and tool: fingerprint, tool, stable ids, footprints
    #[arg(long, conflicts_with = "Form")]
    without_identity: bool,
}

/// What is printed instead of the text.
#[derive(clap::Args)]
#[group(multiple = false)]
struct Form {
    /// Checks every rule of an archive instead of printing it; status 1 if one is broken
    #[arg(long)]
    verify: bool,
    /// Prints the same as JSON
    #[arg(long)]
    json: bool,
    /// Draws a schedule (or an epoch's first ones) as a DOT graph
    #[arg(long, value_name = "EPOCH[/SCHEDULE]")]
    dot: Option<String>,
    /// Draws a schedule (or an epoch's first ones) as SVG
    #[arg(long, value_name = "EPOCH[/SCHEDULE]")]
    svg: Option<String>,
}

pub(crate) fn run(arguments: &Arguments) -> Result<Verdict> {
    let archive = Archive::read(&arguments.archive)?;
    let form = &arguments.form;
    if form.verify {
        return verify(arguments, &archive);
    }
    let pictures = |choice: &str| {
        draw::pictures(&archive, choice).with_context(|| arguments.archive.display().to_string())
    };
    let text = match (&form.dot, &form.svg) {
        (Some(choice), _) => draw::dot(&pictures(choice)?),
        (_, Some(choice)) => draw::svg(&pictures(choice)?),
        _ if form.json => format!("{}\n", archive_json::to_json(&archive)),
        _ if arguments.without_identity => text::dump(&archive, Identity::Hidden),
        _ => text::dump(&archive, Identity::Shown),
    };
    crate::output::print(&text)?;
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
