//! One enumeration as a child process, and what its archive says.
//!
//! Guarantees: whatever the child does (refuses, crashes, overruns its time or memory) is a record with its reason.

use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use anyhow::Result;
use schedules::ids::Id as _;
use schedules::paths::Paths;
use schedules::{Archive, EpochId, Next};
use serde_json::Value;

use super::records::{Record, record};
use super::subject::Subject;
use super::workshop::Workshop;
use crate::process::{self, End, Limits, Outcome};

/// What became of an enumeration.
#[derive(Clone, Debug)]
pub struct Enumerated {
    pub seconds: f64,
    /// Processor time: what a loaded machine does not lengthen.
    pub processor: f64,
    pub ended: Ended,
    pub counts: Option<Counts>,
    /// Where the archive is, if there is one.
    pub archive: Option<PathBuf>,
    pub peak: u64,
}

/// How it ended, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ended {
    Complete,
    Incomplete(String),
    Refused(String),
    Crashed(String),
    Killed(String),
}

impl Ended {
    pub fn word(&self) -> &'static str {
        match self {
            Ended::Complete => "complete",
            Ended::Incomplete(_) => "incomplete",
            Ended::Refused(_) => "refused",
            Ended::Crashed(_) => "crashed",
            Ended::Killed(_) => "killed",
        }
    }

    pub fn reason(&self) -> &str {
        match self {
            Ended::Complete => "",
            Ended::Incomplete(why) | Ended::Refused(why) => why,
            Ended::Crashed(why) | Ended::Killed(why) => why,
        }
    }
}

/// Numbers of an archive.
#[derive(Clone, Debug, PartialEq)]
pub struct Counts {
    pub epochs: usize,
    pub schedules: u64,
    /// Schedules of an epoch: fewest, most.
    pub fewest: u64,
    pub most: u64,
    pub early: usize,
    pub late: usize,
    /// Leaves in which nobody can move, and how many of them are certain.
    pub deadlocks: usize,
    pub certain: usize,
    pub gaps: usize,
    pub nodes: usize,
    pub bytes: u64,
    /// Registers copied for early decisions.
    pub shadows: usize,
    /// Operators of a tree's predicates: most, and on average over epochs.
    pub tree_most: usize,
    pub tree_mean: f64,
}

impl Counts {
    pub fn of(archive: &Archive, bytes: u64) -> Self {
        let paths = Paths::of(archive);
        let per_epoch: Vec<u64> = (0..archive.epochs.len())
            .map(|index| paths.schedules(archive, EpochId::from_index(index)))
            .collect();
        let leaves = |wanted: fn(&Next) -> bool| {
            let steps = archive.steps.iter();
            steps.filter(|step| wanted(&step.next)).count()
        };
        let trees = tree_sizes(archive);
        Self {
            epochs: archive.epochs.len(),
            schedules: paths.total(archive),
            fewest: per_epoch.iter().copied().min().unwrap_or(0),
            most: per_epoch.iter().copied().max().unwrap_or(0),
            early: leaves(|next| matches!(next, Next::Early { .. })),
            late: leaves(|next| matches!(next, Next::Late { .. })),
            deadlocks: leaves(|next| matches!(next, Next::Deadlock { .. })),
            certain: leaves(|next| matches!(next, Next::Deadlock { certain: true, .. })),
            gaps: archive.gaps.len(),
            nodes: archive.nodes.len(),
            bytes,
            shadows: archive.shadows.len(),
            tree_most: trees.iter().copied().max().unwrap_or(0),
            tree_mean: trees.iter().sum::<usize>() as f64 / trees.len().max(1) as f64,
        }
    }

    pub fn mean(&self) -> f64 {
        self.schedules as f64 / self.epochs.max(1) as f64
    }

    /// The golden line.
    pub fn line(&self) -> String {
        let mut line = format!(
            "epochs={} schedules={} early={} late={} deadlocks={}",
            self.epochs, self.schedules, self.early, self.late, self.deadlocks
        );
        if self.certain > 0 {
            line += &format!(" certain={}", self.certain);
        }
        if self.gaps > 0 {
            line += &format!(" gaps={}", self.gaps);
        }
        line
    }

    fn into_record(self) -> Record {
        record([
            ("epochs", self.epochs.into()),
            ("schedules", self.schedules.into()),
            ("fewest", self.fewest.into()),
            ("most", self.most.into()),
            ("mean", self.mean().into()),
            ("early", self.early.into()),
            ("late", self.late.into()),
            ("deadlocks", self.deadlocks.into()),
            ("certain", self.certain.into()),
            ("gaps", self.gaps.into()),
            ("nodes", self.nodes.into()),
            ("bytes", self.bytes.into()),
            ("shadows", self.shadows.into()),
            ("tree_most", self.tree_most.into()),
            ("tree_mean", self.tree_mean.into()),
        ])
    }
}

/// By epoch: the operators that evaluating all of its predicates would take.
fn tree_sizes(archive: &Archive) -> Vec<usize> {
    use schedules::PredicateOp as Op;
    let operators = |predicate: schedules::PredicateId| {
        let code = archive.predicates[predicate.index()].code.iter();
        code.filter(|op| {
            !matches!(
                op,
                Op::Constant { .. } | Op::Root { .. } | Op::Shadow { .. } | Op::Load { .. }
            )
        })
        .count()
    };
    let size = |root: schedules::StepId| {
        let mut seen = std::collections::BTreeSet::new();
        let mut open = vec![root];
        let mut sum = 0;
        while let Some(step) = open.pop() {
            if !seen.insert(step) {
                continue;
            }
            let next = &archive.steps[step.index()].next;
            if let Next::Early { predicate, .. } = next {
                sum += operators(*predicate);
            }
            next.for_each_successor(|to| open.push(to));
        }
        sum
    };
    archive
        .epochs
        .iter()
        .map(|epoch| size(epoch.root))
        .collect()
}

impl Enumerated {
    /// The time that counts against a bar: on the clock, or the processor's where the machine was busy with other things.
    pub fn time(&self) -> f64 {
        match self.processor > 0.0 {
            true => self.seconds.min(self.processor),
            false => self.seconds,
        }
    }

    pub fn record(&self, subject: &Subject, threads: u32) -> Record {
        let mut record = record([
            ("program", subject.name().into()),
            ("class", subject.program.class.as_str().into()),
            ("threads", threads.into()),
            ("seconds", self.seconds.into()),
            ("processor", self.processor.into()),
            ("megabytes", (self.peak as f64 / 1e6).into()),
            ("ended", self.ended.word().into()),
            ("reason", self.ended.reason().into()),
            ("lines", subject.lines().map_or(Value::Null, Value::from)),
        ]);
        if let Some(counts) = self.counts.clone() {
            record.append(&mut counts.into_record());
        }
        record
    }
}

/// Live threads that a program with `threads` workers may have: five-stage pipelines have three sets of them.
fn bound(threads: u32) -> u32 {
    (3 * threads + 4).max(16)
}

/// The words of an enumeration behind the program: bound, assumptions, time.
fn choices(subject: &Subject, threads: u32, limits: Limits) -> Vec<String> {
    let mut words = vec![
        "--threads".to_owned(),
        bound(threads).to_string(),
        "--time-limit".to_owned(),
        limits.time.as_secs().to_string(),
    ];
    for assumption in subject.program.assumptions(threads) {
        words.extend(["--assume".to_owned(), assumption]);
    }
    words
}

/// Enumerates; `extra` are more options, and `tag` tells archives apart.
pub fn enumerate(
    workshop: &Workshop,
    subject: &Subject,
    threads: u32,
    limits: Limits,
    extra: &[&str],
) -> Result<Enumerated> {
    let tag: String = extra.concat().replace(['-', '/'], "");
    let folder = workshop.file(&format!("{}.{threads}.{tag}", subject.name()));
    std::fs::create_dir_all(&folder)?;
    let archive = folder.join(format!("{}.heddle", subject.name()));
    let mut command = Command::new(&workshop.heddle.0);
    command
        .arg("enumerate")
        .args(subject.input())
        .args(choices(subject, threads, limits))
        .args(extra)
        .arg("-o")
        .arg(&archive)
        .current_dir(&subject.folder);
    // The command ends by itself at its limit; what does not is killed.
    let hard = Limits {
        time: limits.time + Duration::from_secs(10),
        memory: limits.memory,
    };
    let outcome = process::run_within(&mut command, hard)?;
    let read = Archive::read(&archive).ok();
    let bytes = archive.metadata().map_or(0, |file| file.len());
    let ended = ended(subject, &outcome, read.as_ref(), hard);
    Ok(Enumerated {
        seconds: outcome.elapsed.as_secs_f64(),
        processor: outcome.processor.as_secs_f64(),
        ended,
        counts: read.as_ref().map(|archive| Counts::of(archive, bytes)),
        archive: read.map(|_| archive),
        peak: outcome.peak,
    })
}

fn ended(subject: &Subject, outcome: &Outcome, archive: Option<&Archive>, hard: Limits) -> Ended {
    let said = || {
        let lines = outcome.stderr.lines();
        let mut error = lines.filter(|line| line.contains("error") || line.contains("panicked"));
        let line = error.next_back().or(outcome.stderr.lines().last());
        subject.plain(
            line.unwrap_or("nothing was said")
                .trim_start_matches("heddle: error: "),
        )
    };
    match outcome.end {
        End::Exit(0) if archive.is_some() => Ended::Complete,
        End::Exit(1) if archive.is_some() => Ended::Incomplete(gaps(subject, archive)),
        End::Exit(2) => Ended::Refused(said()),
        End::TimedOut => Ended::Killed(format!("after {} s", hard.time.as_secs())),
        End::TooLarge => Ended::Killed(format!("above {} MB", hard.memory >> 20)),
        end => Ended::Crashed(format!("{end:?}: {}", said())),
    }
}

/// The first gap, and how many there are.
fn gaps(subject: &Subject, archive: Option<&Archive>) -> String {
    let Some(archive) = archive else {
        return String::new();
    };
    let Some(gap) = archive.gaps.first() else {
        return "without a gap in the archive".to_owned();
    };
    let reason = subject.plain(&archive.texts[gap.reason.index()]);
    match archive.gaps.len() {
        1 => reason,
        more => format!("{reason} (and {} more)", more - 1),
    }
}
