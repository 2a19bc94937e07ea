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

    /// The number of the first schedule that follows `steps`, which begin at an epoch's root; none if there are too many.
    pub fn number(&self, archive: &Archive, steps: &[StepId]) -> Option<u64> {
        let root = steps.first()?;
        if self.from[root.index()] == u64::MAX {
            return None;
        }
        let mut number = 0;
        for pair in steps.windows(2) {
            let mut found = false;
            archive.steps[pair[0].index()]
                .next
                .for_each_successor(|to| {
                    found |= to == pair[1];
                    if !found {
                        number += self.from[to.index()];
                    }
                });
        }
        Some(number)
    }

    /// The steps of a schedule, root to leaf; none if there is no such schedule.
    pub fn steps(&self, archive: &Archive, epoch: EpochId, mut number: u64) -> Option<Vec<StepId>> {
        let mut at = archive.epochs.get(epoch.index())?.root;
        if number >= self.from[at.index()] {
            return None;
        }
        let mut path = vec![at];
        while !archive.steps[at.index()].next.is_leaf() {
            let mut chosen = None;
            archive.steps[at.index()].next.for_each_successor(|to| {
                if chosen.is_none() {
                    let behind = self.from[to.index()];
                    if number < behind {
                        chosen = Some(to);
                    } else {
                        number -= behind;
                    }
                }
            });
            at = chosen?;
            path.push(at);
        }
        Some(path)
    }
}

/// What an archive holds, in numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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
        let plural = |count: u64, one: &str| {
            let s = if count == 1 { "" } else { "s" };
            format!("{count} {one}{s}")
        };
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
