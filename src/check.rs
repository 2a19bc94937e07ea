//! `heddle check`: the deadlocks that an archive knows of. Needs neither program, compiler nor solver.

use std::path::PathBuf;

use anyhow::Result;
use schedules::Archive;
use schedules::check::{check, to_json};

use crate::Verdict;
use crate::report::{self, Forms};

#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// The archive, for example prog.heddle
    archive: PathBuf,
    /// Prints the findings as JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    forms: Forms,
}

const EXAMPLES: &str = "\
Examples:
  heddle check prog.heddle                      # findings with sources; status 1 if there are any
  heddle check prog.heddle --html prog.html     # the same as a page with pictures
  heddle check prog.heddle --sarif prog.sarif   # for code hosts and editors
  heddle check prog.heddle --json | jq .verdict";

pub(crate) fn run(arguments: &Arguments) -> Result<Verdict> {
    let archive = Archive::read(&arguments.archive)?;
    let verdict = check(&archive);
    let report = report::report(&verdict);
    let forms = &arguments.forms;
    forms.write(&report, &arguments.archive, &archive)?;
    let text = match arguments.json {
        true => format!("{}\n", to_json(&verdict)),
        false => forms.text(&report, &arguments.archive),
    };
    crate::output::print(&text)?;
    Ok(match verdict.findings.is_empty() {
        true => Verdict::Fine,
        false => Verdict::Findings,
    })
}
