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
    /// Something that is no input may decide which way it goes.
    any_way: bool,
    /// Ends seen, each with the options of the first run that showed it.
    ends: BTreeMap<Outcome, String>,
    /// Epochs and decisions of the run that took most of them.
    longest: Option<(Vec<String>, String)>,
    /// Who took each lock, in order, in the first run that was followed to its end.
    taken: Option<(BTreeMap<u32, Vec<usize>>, String)>,
}

/// How one run is looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Way {
    /// As users run it: nothing watches, so the runtime takes its fast paths.
    Plain,
    Logged,
    /// Logged, with random delays around every node.
    Delayed(u64),
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
            any_way: false,
            ends: BTreeMap::new(),
            longest: None,
            taken: None,
        }
    }

    /// Runs on one input need not be alike.
    pub(super) fn any_way(self, any_way: bool) -> Self {
        Self { any_way, ..self }
    }

    /// Runs at the same time.
    pub(super) fn run(&mut self, ways: &[Way], tally: &mut Tally) -> Result<Option<Finding>> {
        let mut started = Vec::new();
        for (k, way) in ways.iter().enumerate() {
            let trace = self.folder.join(format!("trace{k}"));
            let options = match way {
                Way::Plain => String::new(),
                Way::Logged => format!("trace={}", trace.display()),
                Way::Delayed(seed) => format!("jitter={seed}:trace={}", trace.display()),
            };
            let log = (*way != Way::Plain).then_some(trace);
            let mut command = Command::new(self.folder.join("prog"));
            command
                .args(&self.case.arguments)
                .current_dir(self.folder)
                .env("HEDDLE_OPTIONS", &options);
            let stderr = self.folder.join(format!("stderr{k}"));
            let running = Running::start(&mut command, &stderr, self.limit)?;
            started.push((running, options, log));
        }
        let mut ended = Vec::new();
        for (running, options, log) in started {
            ended.push((running.finish()?, options, log));
        }
        for (run, options, log) in ended {
            tally.enforced_runs += 1;
            if let Err(wrong) = self.judge(&run, &options, log.as_deref(), tally) {
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
        log: Option<&Path>,
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
        if let Some(log) = log {
            let followed = match self.conforms(log, run) {
                Ok(followed) => followed,
                Err((kind, said)) => return Err(Box::new((kind, format!("{options}: {said}")))),
            };
            tally.conforming += 1;
            tally.epoch_changes += followed.schedules.len().saturating_sub(1) as u64;
            let whole = run.end == End::Exit(0);
            if let Some(two) = self.another_way(way(&followed), whole, options) {
                return Err(Box::new((Wrong::NotRepeatable, two)));
            }
            if let Some(two) = self.another_order(&followed, whole, options) {
                return Err(Box::new((Wrong::NotRepeatable, two)));
            }
        }
        let end = outcome(run).unwrap_or(Outcome::Deadlock);
        self.ends.entry(end).or_insert_with(|| options.to_owned());
        match self.ends.len() {
            1 => Ok(()),
            _ if self.any_way => Ok(()),
            _ => Err(Box::new((Wrong::NotRepeatable, format!("{:?}", self.ends)))),
        }
    }

    /// Every run on one input decides the same, in the same order: says what differs. Who calls `exit` ends the others wherever they
    /// are, so of runs that do not end with 0 one may have decided more than the other.
    fn another_way(&mut self, way: Vec<String>, whole: bool, options: &str) -> Option<String> {
        let Some((known, first)) = &self.longest else {
            self.longest = Some((way, options.to_owned()));
            return None;
        };
        let same = known.iter().zip(&way).all(|(a, b)| a == b);
        if self.any_way {
            return None;
        }
        if !same || (whole && known.len() != way.len()) {
            return Some(format!("{first}: {known:?}; {options}: {way:?}"));
        }
        if way.len() > known.len() {
            self.longest = Some((way, options.to_owned()));
        }
        None
    }

    /// Every run on one input that returns takes each lock in the same order, whatever the archive says about it: says what differs. A
    /// thread that returns from `main` or calls `exit` ends the others wherever they are, so one run may have taken a lock more often.
    fn another_order(&mut self, followed: &Followed, whole: bool, options: &str) -> Option<String> {
        if !whole || self.any_way {
            return None;
        }
        let mut taken = BTreeMap::<u32, Vec<usize>>::new();
        for (object, thread) in &followed.taken {
            taken.entry(object.0).or_default().push(*thread);
        }
        let Some((known, first)) = &self.taken else {
            self.taken = Some((taken, options.to_owned()));
            return None;
        };
        let alike = known.iter().all(|(object, known)| {
            let taken = taken.get(object).map_or(&[][..], Vec::as_slice);
            known.iter().zip(taken).all(|(a, b)| a == b)
        });
        (!alike).then(|| format!("locks taken with {first}: {known:?}; {options}: {taken:?}"))
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

/// The epochs that a run went through, and what it decided in them.
fn way(followed: &Followed) -> Vec<String> {
    let mut way = Vec::new();
    for schedule in &followed.schedules {
        way.push(format!("epoch {}", schedule.epoch.0));
        way.extend(schedule.decisions.iter().map(ToString::to_string));
    }
    way
}
