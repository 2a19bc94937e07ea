//! Schedules of an epoch by number: the paths through its decision tree, left to right.
//!
//! "Yes" comes before "no", outcomes ascend; schedule 0 always takes the first way. Trees share steps, so paths are counted,
//! not listed: time is linear in the number of steps. A count that does not fit stays at [`u64::MAX`], and numbers are then
//! no longer given.

use crate::archive::{Archive, EpochId, Next, StepId};
use crate::ids::Id;

/// How many paths begin at each step.
#[derive(Clone, Debug)]
pub struct Paths {
    from: Vec<u64>,
}

impl Paths {
    /// Counts the paths of an archive whose ids are in range.
    pub fn of(archive: &Archive) -> Self {
        let mut from = vec![1u64; archive.steps.len()];
        for index in (0..archive.steps.len()).rev() {
            let next = &archive.steps[index].next;
            if !next.is_leaf() {
                let mut sum = 0u64;
                next.for_each_successor(|to| sum = sum.saturating_add(from[to.index()]));
                from[index] = sum;
            }
        }
        Self { from }
    }

    /// How many schedules an epoch has.
    pub fn schedules(&self, archive: &Archive, epoch: EpochId) -> u64 {
        self.from[archive.epochs[epoch.index()].root.index()]
    }

    /// How many schedules all epochs have together.
    pub fn total(&self, archive: &Archive) -> u64 {
        let roots = archive.epochs.iter().map(|epoch| epoch.root.index());
        roots.fold(0, |sum, root| sum.saturating_add(self.from[root]))
    }

    /// The number of the first schedule that follows `steps`, which begin at an epoch's root; `outcomes[i]` is how the
    /// decision before `steps[i]` went. None if there are too many schedules to number.
    pub fn number(&self, archive: &Archive, steps: &[StepId], outcomes: &[u32]) -> Option<u64> {
        let root = steps.first()?;
        if self.from[root.index()] == u64::MAX {
            return None;
        }
        let mut number = 0;
        for (step, outcome) in steps.iter().zip(outcomes.iter().skip(1)) {
            let behind = |to: &StepId| self.from[to.index()];
            number += match &archive.steps[step.index()].next {
                Next::Early { yes, .. } if *outcome == 0 => behind(yes),
                Next::Late { arms, .. } => arms
                    .iter()
                    .take_while(|arm| arm.outcome < *outcome)
                    .map(|arm| behind(&arm.step))
                    .sum(),
                _ => 0,
            };
        }
        Some(number)
    }

    /// A schedule as (step, outcome of the decision that led to it), root to leaf; none if there is no such schedule.
    pub fn path(
        &self,
        archive: &Archive,
        epoch: EpochId,
        mut number: u64,
    ) -> Option<Vec<(StepId, u32)>> {
        let mut at = archive.epochs.get(epoch.index())?.root;
        if number >= self.from[at.index()] {
            return None;
        }
        let mut path = vec![(at, 0)];
        loop {
            let ways: Vec<(StepId, u32)> = match &archive.steps[at.index()].next {
                Next::Early { yes, no, .. } => vec![(*yes, 1), (*no, 0)],
                Next::Late { arms, .. } => arms.iter().map(|arm| (arm.step, arm.outcome)).collect(),
                _ => return Some(path),
            };
            let way = ways.into_iter().find(|(to, _)| {
                let behind = self.from[to.index()];
                let here = number < behind;
                if !here {
                    number -= behind;
                }
                here
            })?;
            at = way.0;
            path.push(way);
        }
    }
}

/// What an archive holds, in numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Epochs.
    pub epochs: usize,
    /// Paths through the decision trees.
    pub schedules: u64,
    /// Early and late decisions.
    pub decisions: usize,
    /// Deadlock leaves.
    pub deadlocks: usize,
    /// Nodes, each fragment counted once.
    pub nodes: usize,
    /// Edges between them.
    pub edges: usize,
}

impl Counts {
    /// Counts.
    pub fn of(archive: &Archive) -> Self {
        let steps = || archive.steps.iter().map(|step| &step.next);
        Self {
            epochs: archive.epochs.len(),
            schedules: Paths::of(archive).total(archive),
            decisions: steps().filter(|next| !next.is_leaf()).count(),
            deadlocks: steps()
                .filter(|next| matches!(next, Next::Deadlock { .. }))
                .count(),
            nodes: archive.nodes.len(),
            edges: archive.edges.len(),
        }
    }
}

impl std::fmt::Display for Counts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "{}, {}, {}, {}; {}, {}",
            plural(self.epochs as u64, "epoch"),
            plural(self.schedules, "schedule"),
            plural(self.decisions as u64, "decision"),
            plural(self.deadlocks as u64, "deadlock"),
            plural(self.nodes as u64, "node"),
            plural(self.edges as u64, "edge"),
        )
    }
}

/// `1 epoch`, `2 epochs`.
pub(crate) fn plural(count: u64, one: &str) -> String {
    let s = if count == 1 { "" } else { "s" };
    format!("{count} {one}{s}")
}
