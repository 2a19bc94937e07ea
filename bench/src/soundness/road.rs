//! The road of `heddle build`, in this process: the same stages with the same choices, without starting a command for each.
//!
//! A panic of Heddle's is one of this process, which in release builds ends it: trials of unknown programs belong into a
//! [`Worker`](super::worker::Worker). That the command does the same is looked at by [`same_as_command`] now and then.

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context as _, Result};
use enumerator::Options;
use instrument_pass::{Bitcode, InstrumentOptions, LinkOptions};
use schedules::Archive;
use schedules::ids::Id as _;

use super::trial::{Heddle, Wrong};
use crate::process::{self, End};

/// What came of a program.
pub(super) struct Built {
    pub(super) prepared: Bitcode,
    pub(super) archive: Archive,
    /// What the archive does not cover, one line each.
    pub(super) gaps: Vec<String>,
    /// A limit ended the search: another one may get further.
    pub(super) was_cut: bool,
}

/// A stage that refused, and what it said.
pub(super) type Refused = (Wrong, String);

const NAME: &str = "prog";
pub(super) const BUILD_LIMIT: Duration = Duration::from_secs(120);
const MOST_MEMORY: u64 = 3 << 30;

/// Prepares and enumerates `prog.c` of the folder within the time; writes `prog.heddle`.
pub(super) fn enumerate(
    folder: &Path,
    limit: Duration,
) -> Result<std::result::Result<Built, Refused>> {
    let prepared = match prepare(folder) {
        Ok(prepared) => prepared,
        Err(error) => return Ok(Err((Wrong::BuildRefused, error.to_string()))),
    };
    let before = processor_time();
    let found = match explore(&prepared, 1, None, limit) {
        Ok(found) => found,
        Err(error) => return Ok(Err((Wrong::BuildRefused, error.to_string()))),
    };
    // Who had the machine for itself would have been ready.
    let spent = processor_time().saturating_sub(before);
    if found.was_cut && limit >= BUILD_LIMIT && spent > limit / 2 {
        return Ok(Err((
            Wrong::BuildSlow,
            format!("{limit:?}, {spent:?} of them at work"),
        )));
    }
    let archive = found.archive;
    if let Some(broken) = broken_rule(&archive) {
        return Ok(Err((Wrong::BuildCrashed, broken)));
    }
    archive.write(&archive_path(folder))?;
    Ok(Ok(Built {
        gaps: gaps(&archive),
        prepared,
        archive,
        was_cut: found.was_cut,
    }))
}

/// What this process has used so far, to a hundredth of a second.
fn processor_time() -> Duration {
    let text = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    // After the name, which may have spaces in it: 11 more fields, then user and system time.
    let rest = text.rsplit_once(')').map_or("", |(_, rest)| rest);
    let ticks = rest.split_whitespace().skip(11).take(2);
    let ticks: u64 = ticks.filter_map(|t| t.parse::<u64>().ok()).sum();
    Duration::from_millis(10 * ticks)
}

pub(super) fn archive_path(folder: &Path) -> PathBuf {
    folder.join(format!("{NAME}.heddle"))
}

pub(super) fn prepare(folder: &Path) -> Result<Bitcode, instrument_pass::Error> {
    // As the command names it, from inside the folder: debug information has the name in it.
    let raw = instrument_pass::compile(
        &[PathBuf::from(format!("{NAME}.c"))],
        &[format!("-working-directory={}", folder.display()).into()],
    )?;
    let prepared = instrument_pass::prepare(&raw)?;
    instrument_pass::require_main(&prepared)?;
    Ok(prepared)
}

/// An archive and whether a limit ended the search.
pub(super) struct Explored {
    pub(super) archive: Archive,
    pub(super) was_cut: bool,
}

/// One enumeration.
pub(super) fn explore(
    prepared: &Bitcode,
    jobs: usize,
    store: Option<PathBuf>,
    limit: Duration,
) -> Result<Explored, enumerator::Error> {
    let options = options(jobs, store, limit);
    let mut was_cut = false;
    let archive = enumerator::enumerate(&prepared.0, &options, &mut |progress| {
        was_cut |= progress.ended.is_some();
        ControlFlow::Continue(())
    })?;
    Ok(Explored { archive, was_cut })
}

pub(super) fn options(jobs: usize, store: Option<PathBuf>, limit: Duration) -> Options {
    Options {
        name: NAME.to_owned(),
        time_limit: Some(limit),
        // Several programs are tried at once, and none shall push the others out of memory.
        memory_limit: Some(MOST_MEMORY),
        jobs,
        store,
        ..Options::default()
    }
}

fn broken_rule(archive: &Archive) -> Option<String> {
    match Archive::from_bytes(&archive.to_bytes()) {
        Err(refusal) => Some(format!("the archive {refusal}")),
        Ok(_) => Some(schedules::verify::verify(archive).first()?.to_string()),
    }
}

fn gaps(archive: &Archive) -> Vec<String> {
    let reasons = archive.gaps.iter().map(|gap| gap.reason.index());
    reasons.map(|i| archive.texts[i].clone()).collect()
}

/// Instruments for the archive and links `prog`.
pub(super) fn link(folder: &Path, prepared: &Bitcode, archive: &Archive) -> Result<()> {
    let options = InstrumentOptions {
        archive_name: format!("{NAME}.heddle"),
        embedded: None,
    };
    let instrumented = instrument_pass::instrument(prepared, archive, &options)?;
    let options = LinkOptions {
        // The runtime's own debug information is most of an executable, and nobody looks at it here.
        flags: vec!["-Wl,--strip-debug".into()],
        ..LinkOptions::default()
    };
    let staged = instrument_pass::optimize_and_link(&instrumented, &folder.join(NAME), &options)?;
    Ok(staged.publish()?)
}

/// The native program beside it.
pub(super) fn link_native(folder: &Path) -> Result<()> {
    process::compile(
        &folder.join(format!("{NAME}.c")),
        &["-std=gnu11", "-O1", "-w"],
        &[],
        &folder.join("native"),
    )
}

/// What the command makes of the program differs from `archive`, if it does.
pub(super) fn same_as_command(
    heddle: &Heddle,
    folder: &Path,
    archive: &Archive,
) -> Result<Option<Refused>> {
    let build = heddle.run(
        folder,
        &["build", "prog.c", "-o", "by-command/prog", "--jobs", "2"],
        BUILD_LIMIT,
    )?;
    match build.end {
        End::Exit(0 | 1) => {}
        End::TimedOut => return Ok(Some((Wrong::BuildSlow, format!("{BUILD_LIMIT:?}")))),
        End::Exit(2) => return Ok(Some((Wrong::BuildRefused, build.stderr))),
        end => {
            return Ok(Some((
                Wrong::BuildCrashed,
                format!("{end:?} {}", build.stderr),
            )));
        }
    }
    let path = folder.join("by-command/prog.heddle");
    let theirs = std::fs::read(&path).context("the command left no archive")?;
    let differs = theirs != archive.to_bytes();
    Ok(differs.then(|| {
        let said = "the command `heddle build --jobs 2` made another archive".to_owned();
        (Wrong::NotReproducible, said)
    }))
}
