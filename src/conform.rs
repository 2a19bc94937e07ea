//! `heddle conform`: did a run, by its log, follow its archive?

use std::path::PathBuf;

use anyhow::{Context as _, Result};
use schedules::Archive;
use schedules::conform::{NotAllowed, conform};
use schedules::trace::Trace;

use crate::Verdict;

const EXAMPLES: &str = "\
Examples:
  heddle run --trace run.trace ./prog && heddle conform prog.heddle run.trace

Exit status:
  0  the run is one that the archive allows
  1  it is not
  2  errors: wrong input, a log of another program";

#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// The archive, for example prog.heddle
    archive: PathBuf,
    /// What the run logged with HEDDLE_OPTIONS=trace=FILE
    trace: PathBuf,
}

pub(crate) fn run(arguments: &Arguments) -> Result<Verdict> {
    let archive = Archive::read(&arguments.archive)?;
    let shown = arguments.trace.display();
    let bytes = std::fs::read(&arguments.trace).with_context(|| shown.to_string())?;
    let trace = Trace::parse(&bytes).with_context(|| shown.to_string())?;
    match conform(&archive, &trace) {
        Ok(followed) => {
            crate::output::print(&followed.to_string())?;
            Ok(Verdict::Fine)
        }
        Err(NotAllowed::Departure(departure)) => {
            crate::output::print(&format!("does not conform: {departure}\n"))?;
            Ok(Verdict::Findings)
        }
        Err(error @ (NotAllowed::OtherProgram | NotAllowed::OtherPlan)) => {
            fail!(OtherProgram, "{shown}: {error}")
        }
    }
}
