//! Enforced runs of one input, and what each must show.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use anyhow::Result;
use schedules::Archive;
use schedules::conform::{Followed, conform};
use schedules::trace::{RECORD_LEN, TRACE_HEADER_LEN, Trace};

use super::launch::{Ended, Running};
use super::oracle::Outcome;
use super::subject::Case;
use super::trial::{Finding, Tally, Wrong, outcome};
use crate::process::End;

/// The runs of one input.
pub(super) struct Enforced<'a> {
    folder: &'a Path,
    archive: &'a Archive,
    case: &'a Case,
    /// The archive says that it covers everything.
    complete: bool,
    limit: Duration,
    /// Ends seen, each with the options of the first run that showed it.
    ends: BTreeMap<Outcome, String>,
    /// Schedules followed, the same way.
    ways: BTreeMap<Vec<String>, String>,
}

/// What the runtime says when a schedule ends in a deadlock, and where nothing was explored.
const DEADLOCK: &str = "reached a deadlock that its archive knows";
const INCOMPLETE: &str = "the archive is incomplete here";

impl<'a> Enforced<'a> {
    pub(super) fn new(
        folder: &'a Path,
        archive: &'a Archive,
        case: &'a Case,
        complete: bool,
        limit: Duration,
    ) -> Self {
        Self {
            folder,
            archive,
            case,
            complete,
            limit,
            ends: BTreeMap::new(),
            ways: BTreeMap::new(),
        }
    }

    /// One run per seed of delays, at the same time.
    pub(super) fn run(
        &mut self,
        jitter: &[Option<u64>],
        tally: &mut Tally,
    ) -> Result<Option<Finding>> {
        let mut started = Vec::new();
        for (k, seed) in jitter.iter().enumerate() {
            let trace = self.folder.join(format!("trace{k}"));
            let delay = seed.map_or(String::new(), |seed| format!("jitter={seed}:"));
            let options = format!("{delay}trace={}", trace.display());
            let mut command = Command::new(self.folder.join("prog"));
            command
                .args(&self.case.arguments)
                .current_dir(self.folder)
                .env("HEDDLE_OPTIONS", &options);
            let stderr = self.folder.join(format!("stderr{k}"));
            let running = Running::start(&mut command, &stderr, self.limit)?;
            started.push((running, options, trace));
        }
        let mut ended = Vec::new();
        for (running, options, trace) in started {
            ended.push((running.finish()?, options, trace));
        }
        for (run, options, trace) in ended {
            tally.enforced_runs += 1;
            if let Err(wrong) = self.judge(&run, &options, &trace, tally) {
                let (kind, detail) = *wrong;
                return Ok(Some(Finding::new(kind, &self.case.shown(), detail)));
            }
        }
        Ok(None)
    }

    fn judge(
        &mut self,
        run: &Ended,
        options: &str,
        trace: &Path,
        tally: &mut Tally,
    ) -> Result<(), Box<(Wrong, String)>> {
        let expected = &self.case.expected;
        let (out, error) = (run.stdout.trim(), &run.stderr);
        let shown = format!("{options}: {:?} {out:?}\n{error}", run.end);
        let wrong = |kind| Err(Box::new((kind, shown.clone())));
        match run.end {
            End::TimedOut | End::TooLarge => return wrong(Wrong::Hang),
            // The schedule of a program that may deadlock may be the one that does.
            End::Signal(6) if error.contains(DEADLOCK) && self.case.may_deadlock() => {}
            // What was not explored is stopped there, and not somewhere behind it.
            End::Signal(6) if !self.complete && error.contains(INCOMPLETE) => return Ok(()),
            End::Signal(6) => return wrong(Wrong::Stopped),
            End::Signal(_) => return wrong(Wrong::Crashed),
            End::Exit(_) => match outcome(run) {
                Some(end) if !expected.contains(&end) => {
                    let detail = format!("{shown}; possible: {expected:?}");
                    return Err(Box::new((Wrong::Impossible, detail)));
                }
                _ if !error.is_empty() => return wrong(Wrong::Noise),
                _ => {}
            },
        }
        let followed = match self.conforms(trace, run) {
            Ok(followed) => followed,
            Err((kind, said)) => return Err(Box::new((kind, format!("{options}: {said}")))),
        };
        tally.conforming += 1;
        let end = outcome(run).unwrap_or(Outcome::Deadlock);
        self.ends.entry(end).or_insert_with(|| options.to_owned());
        let way = followed.schedules.iter().map(ToString::to_string).collect();
        self.ways.entry(way).or_insert_with(|| options.to_owned());
        match (self.ends.len(), self.ways.len()) {
            (1, 1) => Ok(()),
            (1, _) => Err(Box::new((Wrong::NotRepeatable, format!("{:?}", self.ways)))),
            _ => Err(Box::new((Wrong::NotRepeatable, format!("{:?}", self.ends)))),
        }
    }

    /// The log is one of the archive, all of it, and goes to exactly one leaf in every epoch.
    fn conforms(&self, path: &Path, run: &Ended) -> Result<Followed, (Wrong, String)> {
        let not = |said: String| (Wrong::NotConforming, said);
        let bytes = std::fs::read(path).map_err(|error| not(format!("no log: {error}")))?;
        let trace = Trace::parse(&bytes).map_err(|error| not(format!("the log {error}")))?;
        let written = bytes.len().saturating_sub(TRACE_HEADER_LEN) / RECORD_LEN;
        let followed = conform(self.archive, &trace).map_err(|error| not(error.to_string()))?;
        // `main` returned, so all have ended and written what they did. Who calls `exit` leaves others in their buffers.
        let returned = run.end == End::Exit(0);
        if returned && trace.records.len() != written {
            let said = format!("{} of {written} records are whole", trace.records.len());
            return Err(not(said));
        }
        // The last epoch may end anywhere: a process may end before a decision that only those who go on take.
        let before = followed.schedules.split_last().map_or(&[][..], |(_, b)| b);
        if followed.schedules.is_empty() || before.iter().any(|way| way.number.is_none()) {
            return Err((Wrong::NoLeaf, followed.to_string()));
        }
        Ok(followed)
    }
}
