//! Which schedules a run followed, for people.

use std::fmt;

use super::follow::Run;
use super::instance::Instance;
use crate::archive::{Archive, EpochId, Next, ObjectId, StepId};
use crate::ids::Id;
use crate::paths::{Paths, plural};

/// What an allowed run did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Followed {
    /// One per epoch instance, in order.
    pub schedules: Vec<Schedule>,
    /// Nodes performed.
    pub nodes: u64,
    /// Threads seen.
    pub threads: usize,
    /// The last epoch reached the end of the process.
    pub ended: bool,
    /// Locks that exclude, each time one was taken: which, and by which of the process' threads, counted in the order in which the
    /// archive makes them.
    pub taken: Vec<(ObjectId, usize)>,
}

/// The way one epoch instance went.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Schedule {
    /// Which epoch.
    pub epoch: EpochId,
    /// The schedule's number within the epoch (see [`Paths`]), if a leaf was reached and numbers are small enough.
    pub number: Option<u64>,
    /// How many schedules the epoch has.
    pub of: u64,
    /// The decisions, in order.
    pub decisions: Vec<Decided>,
}

/// A decision that was taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decided {
    /// What was asked.
    pub condition: String,
    /// `file:line` of the branch.
    pub place: String,
    /// `yes`, `no`, or `outcome N`.
    pub outcome: String,
}

pub(super) fn followed(archive: &Archive, run: &Run<'_>) -> Followed {
    let paths = Paths::of(archive);
    let last = run.instances.last();
    Followed {
        schedules: run
            .instances
            .iter()
            .map(|instance| schedule(archive, &paths, instance))
            .collect(),
        nodes: run.nodes,
        threads: run.threads(),
        taken: run.taken.clone(),
        ended: last.is_some_and(|last| matches!(last.next(archive), Next::Exit)),
    }
}

fn schedule(archive: &Archive, paths: &Paths, instance: &Instance) -> Schedule {
    let steps: Vec<StepId> = instance.path.iter().map(|stretch| stretch.step).collect();
    let outcomes: Vec<u32> = instance
        .path
        .iter()
        .map(|stretch| stretch.outcome)
        .collect();
    let whole = instance.next(archive).is_leaf();
    Schedule {
        epoch: instance.epoch,
        number: whole
            .then(|| paths.number(archive, &steps, &outcomes))
            .flatten(),
        of: paths.schedules(archive, instance.epoch),
        decisions: (1..steps.len())
            .map(|index| Decided::at(archive, steps[index - 1], outcomes[index]))
            .collect(),
    }
}

impl Decided {
    /// The decision at the end of `step` with this outcome.
    pub fn at(archive: &Archive, step: StepId, outcome: u32) -> Self {
        let (text, site, outcome) = match &archive.steps[step.index()].next {
            Next::Early {
                site, predicate, ..
            } => {
                let text = archive.predicates[predicate.index()].text;
                let word = if outcome == 0 { "no" } else { "yes" };
                (text, *site, word.to_owned())
            }
            Next::Late {
                site, condition, ..
            } => (*condition, *site, format!("outcome {outcome}")),
            _ => unreachable!("paths go on only at decisions"),
        };
        Self {
            condition: archive.texts[text.index()].clone(),
            place: archive.place(site).to_string(),
            outcome,
        }
    }
}

impl fmt::Display for Decided {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            condition,
            place,
            outcome,
        } = self;
        write!(f, "{condition} ({place}): {outcome}")
    }
}

impl fmt::Display for Schedule {
    /// `epoch0/1`; `epoch0/?` if the epoch was not finished.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.number {
            Some(number) => write!(f, "{}/{number}", self.epoch),
            None => write!(f, "{}/?", self.epoch),
        }
    }
}

impl fmt::Display for Followed {
    /// Counts, the sequence of schedules, and the decisions of each different one.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "conforms: {} of {} in {}{}",
            plural(self.nodes, "node"),
            plural(self.threads as u64, "thread"),
            plural(self.schedules.len() as u64, "epoch"),
            if self.ended {
                ""
            } else {
                "; the log ends before the process does"
            }
        )?;
        f.write_str("followed:")?;
        for run in self.schedules.chunk_by(|a, b| a == b) {
            match run.len() {
                1 => write!(f, " {}", run[0])?,
                times => write!(f, " {} x {times}", run[0])?,
            }
        }
        writeln!(f)?;
        let mut told: Vec<&Schedule> = Vec::new();
        for schedule in &self.schedules {
            if told.contains(&schedule) || schedule.of == 1 {
                continue;
            }
            told.push(schedule);
            writeln!(f, "{schedule} of {} schedules:", schedule.of)?;
            for decision in &schedule.decisions {
                writeln!(f, "  {decision}")?;
            }
        }
        Ok(())
    }
}
