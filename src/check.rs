//! `heddle check`: the deadlocks that an archive knows of, without program, compiler or solver; with `--native`, those that the program
//! can have without Heddle.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use enumerator::search::native::Limits;
use schedules::Archive;
use schedules::check::{check, suppress, to_json};

use crate::Verdict;
use crate::native::{self, Given, Subject};
use crate::report::{self, Forms, Schedules};

#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// The archive, for example prog.heddle; with --native the program: C sources, bitcode, a program made with `heddle cc`, or an
    /// archive that has it beside it
    #[arg(required = true, value_name = "INPUT")]
    inputs: Vec<PathBuf>,
    /// Looks for deadlocks of the program as it runs without Heddle
    #[arg(long)]
    native: bool,
    /// With --native: an assumption on the program's inputs; may be given several times
    #[arg(long, value_name = "TEXT", requires = "native")]
    assume: Vec<String>,
    /// With --native: no more than N threads live at once
    #[arg(long, value_name = "N", requires = "native")]
    threads: Option<u32>,
    /// With --native: give up after so many different situations, or the work that as many usually take
    #[arg(long, value_name = "N", default_value_t = Limits::default().states, requires = "native")]
    states: u64,
    /// With --native: writes an archive for each finding, for `heddle inspect` and `heddle build --archive`
    #[arg(long, value_name = "FOLDER", requires = "native")]
    save: Option<PathBuf>,
    /// Prints the findings as JSON
    #[arg(long)]
    json: bool,
    /// Findings that are known, each with a reason; heddle.suppressions beside the first input is read by itself
    #[arg(long, value_name = "FILE")]
    suppressions: Option<PathBuf>,
    /// The least that gives exit status 1
    #[arg(long, value_name = "WHAT", default_value = "possible")]
    fail_on: FailOn,
    #[command(flatten)]
    forms: Forms,
    /// With --native: flags for the compiler, behind `--`
    #[arg(last = true, value_name = "FLAGS")]
    flags: Vec<OsString>,
}

const EXAMPLES: &str = "\
Examples:
  heddle check prog.heddle                      # findings with sources; status 1 if there are any
  heddle check prog.heddle --html prog.html     # the same as a page with pictures
  heddle check prog.heddle --sarif prog.sarif   # for code hosts and editors
  heddle check prog.heddle --json | jq .verdict
  heddle check --native prog.c --assume 'argc==1' -- -DDEBUG -Iinclude

Suppressions: one a line, `WHAT [until YYYY-MM-DD] REASON`; WHAT is an id, kind:CODE, file:NAME, function:NAME or object:NAME.

Exit status:
  0  nothing that --fail-on asks for
  1  findings (--fail-on possible: any that is not suppressed)
  2  errors: wrong use, wrong input, unusable file";

/// From the least to the most strict; each includes those before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, clap::ValueEnum)]
enum FailOn {
    /// Never
    Nothing,
    /// Deadlocks that surely happen
    Certain,
    /// Deadlocks that may happen, too
    Possible,
    /// What was not looked at, too
    Incomplete,
    /// Warnings, too
    Warning,
}

pub(crate) fn run(arguments: &Arguments) -> Result<Verdict> {
    let (mut verdict, archives) = match arguments.native {
        true => native(arguments)?,
        false => enforced(arguments)?,
    };
    let schedules = match archives.as_slice() {
        [archive] if !arguments.native => Schedules::Archive(archive),
        witnesses => Schedules::Witnesses(witnesses),
    };
    suppress(arguments, &mut verdict)?;
    let report = report::report(&verdict);
    let forms = &arguments.forms;
    let path = &arguments.inputs[0];
    forms.write(&report, path, &schedules)?;
    let text = match arguments.json {
        true => format!("{}\n", to_json(&verdict)),
        false => forms.text(&report, path),
    };
    crate::output::print(&text)?;
    Ok(match worst(&verdict) {
        Some(found) if found <= arguments.fail_on => Verdict::Findings,
        _ => Verdict::Fine,
    })
}

fn enforced(arguments: &Arguments) -> Result<(schedules::check::Verdict, Vec<Archive>)> {
    let [path] = arguments.inputs.as_slice() else {
        fail!(
            WrongUse,
            "one archive at a time; several inputs need --native"
        );
    };
    let archive = Archive::read(path)?;
    Ok((check(&archive), vec![archive]))
}

/// With an archive for each deadlock that was followed.
fn native(arguments: &Arguments) -> Result<(schedules::check::Verdict, Vec<Archive>)> {
    let subject = Subject::of(&Given {
        files: &arguments.inputs,
        flags: &arguments.flags,
        assumptions: &arguments.assume,
        threads: arguments.threads,
    })?;
    let found = subject.explore(Limits::of_states(arguments.states))?;
    let verdict = native::verdict(&subject, &found);
    if let Some(folder) = &arguments.save {
        native::save(folder, &verdict, &found)?;
    }
    Ok((verdict, found.witnesses))
}

/// The most serious thing that is not suppressed.
fn worst(verdict: &schedules::check::Verdict) -> Option<FailOn> {
    let open = verdict.findings.iter().filter(|f| f.suppressed.is_none());
    let certain = |sure: bool| {
        if sure {
            FailOn::Certain
        } else {
            FailOn::Possible
        }
    };
    let found = open.map(|finding| certain(finding.is_certain()));
    let cut = verdict.explored.is_some_and(|explored| !explored.complete);
    let incomplete = (cut || !verdict.gaps.is_empty()).then_some(FailOn::Incomplete);
    let warned = verdict.warnings.iter().any(|w| w.suppressed.is_none());
    let warned = warned.then_some(FailOn::Warning);
    found.chain(incomplete).chain(warned).min()
}

fn suppress(arguments: &Arguments, verdict: &mut schedules::check::Verdict) -> Result<()> {
    let beside = arguments.inputs[0].with_file_name("heddle.suppressions");
    let path = match &arguments.suppressions {
        Some(path) => path.clone(),
        None if beside.is_file() => beside,
        None => return Ok(()),
    };
    let shown = path.display();
    let text = std::fs::read_to_string(&path).with_context(|| shown.to_string())?;
    let all = match suppress::parse(&text) {
        Ok(all) => all,
        Err(refused) => fail!(WrongUse, "{shown}: {refused}"),
    };
    for said in suppress::apply(verdict, &all, &today(&path)?) {
        eprintln!("heddle: {shown}: {said}");
    }
    Ok(())
}

/// Today in UTC as `YYYY-MM-DD`; the clock of the machine decides what has expired.
fn today(suppressions: &Path) -> Result<String> {
    let now = std::time::SystemTime::now()
        .duration_since(std::time::UNIX_EPOCH)
        .with_context(|| suppressions.display().to_string())?;
    Ok(day(now.as_secs() / 86_400))
}

/// The day so many days after the first of January 1970, in the Gregorian calendar.
fn day(mut days: u64) -> String {
    let leap = |year: u64| {
        year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400))
    };
    let mut year = 1970;
    while days >= 365 + u64::from(leap(year)) {
        days -= 365 + u64::from(leap(year));
        year += 1;
    }
    let february = 28 + u64::from(leap(year));
    let lengths = [31, february, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
    let mut month = 0;
    while days >= lengths[month] {
        days -= lengths[month];
        month += 1;
    }
    format!("{year:04}-{:02}-{:02}", month + 1, days + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_are_counted() {
        for (days, text) in [
            (0, "1970-01-01"),
            (59, "1970-03-01"),
            (11_016, "2000-02-29"),
            (20_775, "2026-11-18"),
            (20_818, "2026-12-31"),
            (20_819, "2027-01-01"),
        ] {
            assert_eq!(day(days), text);
        }
    }
}
