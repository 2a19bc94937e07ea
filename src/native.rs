//! `heddle check --native`: could the program deadlock without Heddle?

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};
use enumerator::search::native::suspect::{Reason, Suspect};
use enumerator::search::native::{ASSUMED, Limits, Native, Place};
use schedules::Archive;
use schedules::check::native::{Search, of_witnesses};
use schedules::check::{Blocked, Cause, Explored, Finding, Line, Verdict};

use crate::input::{Inputs, Prepared};
use crate::progress::{Reporter, Voice};

/// A program to look at: how it was given, and under what.
pub(crate) struct Subject {
    pub(crate) prepared: Prepared,
    pub(crate) inputs: Inputs,
    pub(crate) options: enumerator::Options,
}

/// What the user says about the program.
pub(crate) struct Given<'a> {
    pub(crate) files: &'a [PathBuf],
    pub(crate) flags: &'a [OsString],
    pub(crate) assumptions: &'a [String],
    pub(crate) threads: Option<u32>,
}

impl Subject {
    /// Sources, bitcode or a binary with it; or an archive, whose program then has to be beside it.
    pub(crate) fn of(given: &Given<'_>) -> Result<Self> {
        let archive = match given.files {
            [only] if is_archive(only) => Some(Archive::read(only)?),
            _ => None,
        };
        let files = match &archive {
            Some(archive) => vec![beside(&given.files[0], archive)?],
            None => given.files.to_vec(),
        };
        let mut words: Vec<OsString> = files.into_iter().map(Into::into).collect();
        words.extend(given.flags.iter().cloned());
        let inputs = Inputs::parse(&words)?;
        let prepared = inputs.prepare()?;
        instrument_pass::require_main(&prepared.bitcode)?;
        let name = inputs.first().file_stem().unwrap_or_default();
        let mut options = enumerator::Options {
            name: name.to_string_lossy().into_owned(),
            assumptions: given.assumptions.to_vec(),
            ..enumerator::Options::default()
        };
        if let Some(archive) = archive {
            options.assumptions.extend(archive.program.assumptions);
            options.thread_bound = archive.program.thread_bound;
        }
        options.thread_bound = given.threads.unwrap_or(options.thread_bound);
        Ok(Self {
            prepared,
            inputs,
            options,
        })
    }

    /// Follows the program's orders.
    pub(crate) fn explore(&self, limits: Limits) -> Result<Native> {
        crate::enumerate::refuse_unsupported(&self.prepared.bitcode)?;
        let mut reporter = Reporter::new(Voice::default());
        let found = enumerator::explore_native(
            &self.prepared.bitcode.0,
            &self.options,
            limits,
            &mut |progress| match reporter.report(progress) {
                true => std::ops::ControlFlow::Break(()),
                false => std::ops::ControlFlow::Continue(()),
            },
        );
        drop(reporter);
        Ok(found?)
    }
}

/// The verdict on what was found.
pub(crate) fn verdict(subject: &Subject, found: &Native) -> Verdict {
    let mut assumptions = subject.options.assumptions.clone();
    assumptions.extend(ASSUMED.iter().map(|text| (*text).to_owned()));
    let search = Search {
        program: subject.options.name.clone(),
        thread_bound: subject.options.thread_bound,
        assumptions,
        explored: Explored {
            states: found.states,
            complete: found.complete,
        },
        gaps: found.gaps.clone(),
        suspicions: suspicions(found),
    };
    of_witnesses(search, &found.witnesses)
}

/// What the program's text allows, where not every order was followed.
fn suspicions(found: &Native) -> Vec<Finding> {
    found.suspects.iter().map(suspicion).collect()
}

fn suspicion(suspect: &Suspect) -> Finding {
    let cause = match &suspect.reason {
        Reason::LockCycle => Cause::LockCycle,
        Reason::Relock => Cause::Relock,
        Reason::JoinCycle => Cause::JoinCycle,
        Reason::LostWakeUp { signals } => Cause::LostWakeUp {
            signals: signals.iter().map(line).collect(),
        },
        Reason::NobodySignals => Cause::NobodySignals,
        Reason::MixedCycle => Cause::MixedCycle,
        Reason::SemaphoreStarved => Cause::SemaphoreStarved,
        Reason::BarrierNeverFull => Cause::BarrierNeverFull,
        Reason::OwnerEnded => Cause::OwnerEnded,
    };
    let count = suspect.members.len();
    let waits_for = |index: usize| match &suspect.reason {
        Reason::LockCycle | Reason::JoinCycle => vec![((index + 1) % count) as u16],
        Reason::Relock => vec![index as u16],
        _ => Vec::new(),
    };
    let members = suspect.members.iter().enumerate();
    let threads = members.map(|(index, member)| Blocked {
        slot: index as u16,
        entry: member.entry.clone(),
        created: member.created.as_ref().map(line),
        operation: schedules::text::op_name(member.op),
        object: member.object.clone(),
        stack: member
            .stack
            .iter()
            .map(|place| (place.function.clone(), line(place)))
            .collect(),
        holds: member
            .holds
            .iter()
            .map(|(name, place)| (name.clone(), line(place)))
            .collect(),
        waits_for: waits_for(index),
    });
    schedules::check::native::suspicion(cause, threads.collect())
}

fn line(place: &Place) -> Line {
    Line {
        file: place.file.clone(),
        line: place.line,
        column: place.column,
    }
}

pub(crate) fn is_archive(path: &Path) -> bool {
    path.extension()
        .is_some_and(|extension| extension == "heddle")
}

/// The program of an archive: a file beside it with the same name, from which the same bitcode comes.
fn beside(path: &Path, archive: &Archive) -> Result<PathBuf> {
    let stem = path.with_extension("");
    let mut candidates = vec![stem.clone()];
    candidates.extend(["bc", "c"].map(|extension| stem.with_extension(extension)));
    for candidate in candidates.into_iter().filter(|path| path.is_file()) {
        let Ok(inputs) = Inputs::parse(&[candidate.clone().into_os_string()]) else {
            continue;
        };
        let Ok(prepared) = inputs.prepare() else {
            continue;
        };
        if prepared.bitcode.fingerprint() == archive.program.fingerprint {
            return Ok(candidate);
        }
    }
    bail!(
        "{}: its program is not beside it; give the sources, the bitcode or the `heddle cc` binary instead",
        path.display()
    )
}

/// Keeps the witnesses where the user wants them: one archive for each finding.
pub(crate) fn save(folder: &Path, verdict: &Verdict, found: &Native) -> Result<()> {
    std::fs::create_dir_all(folder).with_context(|| folder.display().to_string())?;
    for finding in &verdict.findings {
        if let Some(witness) = schedules::check::native::witness_of(&found.witnesses, &finding.id) {
            witness.write(&folder.join(format!("{}.heddle", finding.id)))?;
        }
    }
    Ok(())
}
