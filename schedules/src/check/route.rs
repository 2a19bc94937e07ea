//! How the program gets to a leaf: the shortest way in epochs from the archive's beginning, and the events of the last one.

use std::collections::VecDeque;

use super::{Line, decisions, number};
use crate::archive::{Archive, EpochId, Next, StepId};
use crate::conform::Decided;
use crate::ids::Id;
use crate::paths::Paths;
use crate::primitives::NodeOp;
use crate::text;

/// One epoch of a route.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Visit {
    /// Which epoch.
    pub epoch: EpochId,
    /// Which of its schedules, if numbers are small enough.
    pub schedule: Option<u64>,
    /// The decisions taken in it.
    pub decisions: Vec<Decided>,
    /// Its steps, with the outcome that led to each.
    pub path: Vec<(StepId, u32)>,
}

impl std::fmt::Display for Visit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.schedule {
            Some(number) => write!(f, "{}/{number}", self.epoch),
            None => write!(f, "{}/?", self.epoch),
        }
    }
}

/// An event of a schedule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// Whose.
    pub slot: u16,
    /// The operation with its object, as the text form has them.
    pub what: String,
    /// Where.
    pub at: Line,
}

/// Ways through the archive.
pub(super) struct Routes {
    paths: Paths,
    /// By epoch: the epoch and leaf that lead to it first; none for epoch 0 and for what is not reached.
    from: Vec<Option<(EpochId, StepId)>>,
    /// Epochs in the order in which they are reached; the unreached at the end.
    order: Vec<EpochId>,
    reached: Vec<bool>,
}

impl Routes {
    pub(super) fn of(archive: &Archive) -> Self {
        let mut routes = Self {
            paths: Paths::of(archive),
            from: vec![None; archive.epochs.len()],
            order: Vec::new(),
            reached: vec![false; archive.epochs.len()],
        };
        let mut work = VecDeque::from([EpochId(0)]);
        routes.reached[0] = true;
        while let Some(epoch) = work.pop_front() {
            routes.order.push(epoch);
            for step in text::steps_of(archive, epoch) {
                let Next::Epoch { epoch: to, .. } = &archive.steps[step.index()].next else {
                    continue;
                };
                if !std::mem::replace(&mut routes.reached[to.index()], true) {
                    routes.from[to.index()] = Some((epoch, step));
                    work.push_back(*to);
                }
            }
        }
        let unreached = (0..archive.epochs.len()).filter(|epoch| !routes.reached[*epoch]);
        let unreached: Vec<EpochId> = unreached.map(EpochId::from_index).collect();
        routes.order.extend(unreached);
        routes
    }

    /// Every deadlock leaf once, with the first epoch that leads to it.
    pub(super) fn deadlocks(&self, archive: &Archive) -> Vec<(EpochId, StepId)> {
        let mut seen = vec![false; archive.steps.len()];
        let mut found = Vec::new();
        for epoch in &self.order {
            for step in text::steps_of(archive, *epoch) {
                let is_deadlock = matches!(archive.steps[step.index()].next, Next::Deadlock { .. });
                if is_deadlock && !std::mem::replace(&mut seen[step.index()], true) {
                    found.push((*epoch, step));
                }
            }
        }
        found
    }

    /// A path from the epoch's root to a leaf, as (step, outcome that led to it).
    pub(super) fn within(
        &self,
        archive: &Archive,
        epoch: EpochId,
        leaf: StepId,
    ) -> Vec<(StepId, u32)> {
        let root = archive.epochs[epoch.index()].root;
        let mut parent: Vec<Option<(StepId, u32)>> = vec![None; archive.steps.len()];
        let mut work = VecDeque::from([root]);
        while let Some(step) = work.pop_front() {
            for (to, outcome) in ways(archive, step) {
                if parent[to.index()].is_none() {
                    parent[to.index()] = Some((step, outcome));
                    work.push_back(to);
                }
            }
        }
        let mut path = Vec::new();
        let mut at = leaf;
        while let Some((before, outcome)) = parent[at.index()] {
            path.push((at, outcome));
            at = before;
        }
        path.push((root, 0));
        path.reverse();
        path
    }

    /// The epochs from the archive's beginning to this leaf; empty if it is not reached from there.
    pub(super) fn to(&self, archive: &Archive, epoch: EpochId, leaf: StepId) -> Vec<Visit> {
        if !self.reached[epoch.index()] {
            return Vec::new();
        }
        let mut route = Vec::new();
        let mut at = Some((epoch, leaf));
        while let Some((epoch, leaf)) = at {
            let path = self.within(archive, epoch, leaf);
            route.push(Visit {
                epoch,
                schedule: number(archive, &self.paths, &path),
                decisions: decisions(archive, &path),
                path,
            });
            at = self.from[epoch.index()];
        }
        route.reverse();
        route
    }
}

/// Where a step can lead, with the outcome of each way.
fn ways(archive: &Archive, step: StepId) -> Vec<(StepId, u32)> {
    match &archive.steps[step.index()].next {
        Next::Early { yes, no, .. } => vec![(*yes, 1), (*no, 0)],
        Next::Late { arms, .. } => arms.iter().map(|arm| (arm.step, arm.outcome)).collect(),
        _ => Vec::new(),
    }
}

/// Where the thread that ends up in `slot` was created.
pub(super) fn creation(archive: &Archive, route: &[Visit], mut slot: u16) -> Option<Line> {
    for (index, visit) in route.iter().enumerate().rev() {
        let created = visit
            .path
            .iter()
            .flat_map(|(step, _)| archive.lanes_of(archive.steps[step.index()].fragment))
            .flatten()
            .find(|(node, _)| node.op == NodeOp::ThreadCreate && node.what == u32::from(slot));
        let living = archive.epochs[visit.epoch.index()].contexts.len();
        if let Some((node, _)) = created.filter(|_| usize::from(slot) >= living) {
            return Some(Line::of(archive, node.site));
        }
        let before = index.checked_sub(1).map(|index| &route[index])?;
        let (leaf, _) = *before.path.last()?;
        let Next::Epoch { moves, .. } = &archive.steps[leaf.index()].next else {
            return None;
        };
        let from = moves.iter().position(|to| *to == slot)?;
        slot = u16::try_from(from).ok()?;
    }
    None
}

/// The nodes of a path in an order that its edges allow: always the lowest slot that may go on.
pub(super) fn events(archive: &Archive, epoch: EpochId, path: &[(StepId, u32)]) -> Vec<Event> {
    crate::order::linearize(archive, epoch, path)
        .into_iter()
        .map(|placed| Event {
            slot: placed.slot,
            what: text::describe(archive, placed.node),
            at: Line::of(archive, placed.node.site),
        })
        .collect()
}
