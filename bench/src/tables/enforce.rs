//! Enforced runs of one archive on many inputs under random delays: same status and output as native, every log conforming.
//!
//! An incomplete archive may stop a run with a report; it may neither hang it nor change what it prints.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use anyhow::Result;

use super::enumeration::Enumerated;
use super::records::{Record, record};
use super::runtime::{build, told};
use super::subject::Subject;
use super::workshop::Workshop;
use crate::corpus::Native;
use crate::process::{self, End};

const RUN_LIMIT: Duration = Duration::from_secs(20);

/// What the runs showed.
#[derive(Clone, Debug, Default)]
pub struct Enforced {
    pub inputs: usize,
    /// Runs that ended as native ones do and whose log conforms.
    pub good: usize,
    /// Runs that an incomplete archive stopped with a report.
    pub stopped: usize,
    /// The first thing that went wrong.
    pub wrong: Option<String>,
}

impl Enforced {
    pub fn record(&self) -> Record {
        record([
            ("inputs", self.inputs.into()),
            ("good", self.good.into()),
            ("stopped", self.stopped.into()),
            ("wrong", self.wrong.clone().unwrap_or_default().into()),
        ])
    }

    pub fn words(&self) -> String {
        match (&self.wrong, self.stopped) {
            (Some(why), _) => format!("WRONG: {why}"),
            (None, 0) => format!("{} inputs as native, all conform", self.good),
            (None, stopped) => format!("{} inputs as native, {stopped} stopped", self.good),
        }
    }
}

/// Runs `most` different inputs, each with its own delays.
pub fn enforce(
    workshop: &Workshop,
    subject: &Subject,
    threads: u32,
    enumerated: &Enumerated,
    most: usize,
) -> Result<Enforced> {
    let mut seen = Enforced::default();
    let Some(archive) = &enumerated.archive else {
        return Ok(seen);
    };
    let enforced = build(workshop, subject, archive)?;
    let native = subject.native(workshop.scratch())?;
    for (index, arguments) in subject
        .program
        .many_inputs(threads, most)
        .iter()
        .enumerate()
    {
        seen.inputs += 1;
        let trace = archive.with_extension("trace");
        let options = format!("jitter={}:trace={}", index + 1, trace.display());
        let run = subject.run(&enforced, arguments, &options, RUN_LIMIT)?;
        let incomplete = enumerated
            .counts
            .as_ref()
            .is_some_and(|counts| counts.gaps > 0);
        if run.end == End::Signal(6) && incomplete && run.stderr.contains("incomplete") {
            seen.stopped += 1;
            continue;
        }
        // A program that may hang natively on purpose has no native output to compare with.
        let verdict = match subject.program.native {
            Native::Clean => compared(subject, &native, arguments, &run)?,
            _ => None,
        };
        let verdict = match verdict {
            None => conforms(workshop, archive, &trace)?,
            some => some,
        };
        match verdict {
            None => seen.good += 1,
            Some(why) => {
                let line = arguments.join(" ");
                seen.wrong =
                    Some(subject.plain(&format!("on `{line}` (jitter {}): {why}", index + 1)));
                // Later inputs would only repeat it, slowly.
                break;
            }
        }
    }
    Ok(seen)
}

/// What differs from the native run.
fn compared(
    subject: &Subject,
    native: &Path,
    arguments: &[String],
    run: &process::Outcome,
) -> Result<Option<String>> {
    let plain = subject.run(native, arguments, "", RUN_LIMIT)?;
    if run.end != plain.end {
        let line = run.stderr.lines().next().unwrap_or_default();
        return Ok(Some(format!(
            "{} instead of {}: {line}",
            told(run.end),
            told(plain.end)
        )));
    }
    let (ours, theirs) = (subject.output(&run.stdout), subject.output(&plain.stdout));
    Ok((ours != theirs).then(|| format!("printed {ours:?} instead of {theirs:?}")))
}

fn conforms(workshop: &Workshop, archive: &Path, trace: &Path) -> Result<Option<String>> {
    let mut command = Command::new(&workshop.heddle.0);
    command.arg("conform").arg(archive).arg(trace);
    let outcome = process::run(&mut command, RUN_LIMIT)?;
    if outcome.end == End::Exit(0) {
        return Ok(None);
    }
    let said = format!("{}{}", outcome.stdout, outcome.stderr);
    let line = said.lines().next().unwrap_or_default();
    Ok(Some(format!("its log does not conform: {line}")))
}
