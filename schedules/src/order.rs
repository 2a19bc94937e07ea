//! One path as one sequence: an order of its nodes that all its edges allow.
//!
//! Always the lowest slot that may go on goes on, as far as it can: so threads run in long stretches, which reads well, and
//! the order is the same each time. Optional nodes are taken. If edges form a cycle (the verifier refuses that), the order ends there.

use std::collections::{BTreeMap, BTreeSet};

use crate::archive::{Archive, Edge, EpochId, Node, StepId};
use crate::ids::Id;

/// A node with its place in an epoch.
#[derive(Clone, Copy, Debug)]
pub struct Placed<'a> {
    /// Whose.
    pub slot: u16,
    /// From 0, counted from the epoch's beginning.
    pub position: u32,
    /// The step that has it.
    pub step: StepId,
    /// The node.
    pub node: &'a Node,
    /// What it waits for, as (slot, position that must have been reached) from the epoch's beginning.
    bases: usize,
    edges: &'a [Edge],
    /// Where `edges` stand in the archive's table.
    first_edge: usize,
}

impl Placed<'_> {
    /// Where its edges stand in the archive's table.
    pub(crate) fn edges(&self) -> std::ops::Range<usize> {
        self.first_edge..self.first_edge + self.edges.len()
    }
}

/// The lanes of a path, each slot's put together.
pub struct Lanes<'a> {
    slots: Vec<Vec<Placed<'a>>>,
    /// By step of the path, then by slot: position where the step begins.
    bases: Vec<Vec<u32>>,
}

impl<'a> Lanes<'a> {
    /// Puts the lanes of a path together.
    pub fn of(archive: &'a Archive, epoch: EpochId, path: &[(StepId, u32)]) -> Self {
        let count = slots_of(archive, epoch, path);
        let mut lanes = Self {
            slots: vec![Vec::new(); count],
            bases: Vec::new(),
        };
        for (step, _) in path {
            let lengths = lanes.slots.iter().map(Vec::len);
            let base: Vec<u32> = lengths
                .map(|len| u32::try_from(len).expect("32-bit positions"))
                .collect();
            let fragment = archive.steps[step.index()].fragment;
            let all = archive
                .lanes_of(fragment)
                .zip(archive.first_edges_of(fragment));
            for (slot, (nodes, mut first_edge)) in all.enumerate().take(count) {
                for (node, edges) in nodes {
                    let lane = &mut lanes.slots[slot];
                    lane.push(Placed {
                        slot: u16::try_from(slot).expect("slots are 16-bit"),
                        position: u32::try_from(lane.len()).expect("32-bit positions"),
                        step: *step,
                        node,
                        bases: lanes.bases.len(),
                        edges,
                        first_edge,
                    });
                    first_edge += edges.len();
                }
            }
            lanes.bases.push(base);
        }
        lanes
    }

    /// By slot; those behind the last one that has nodes are left out.
    pub fn slots(&self) -> &[Vec<Placed<'a>>] {
        &self.slots
    }

    /// What a node waits for, as (slot, position that must have been reached) from the epoch's beginning.
    pub fn waits(&self, placed: &Placed<'a>) -> impl Iterator<Item = (u16, u32)> {
        let bases = &self.bases[placed.bases];
        placed.edges.iter().map(|edge| {
            let base = bases.get(usize::from(edge.slot())).copied().unwrap_or(0);
            let target = i64::from(base) + i64::from(edge.position());
            (
                edge.slot(),
                u32::try_from(target.max(0)).unwrap_or(u32::MAX),
            )
        })
    }
}

/// How many slots a path has nodes for, those between included.
pub fn slots_of(archive: &Archive, epoch: EpochId, path: &[(StepId, u32)]) -> usize {
    let lanes = path.iter().map(|(step, _)| {
        let fragment = archive.steps[step.index()].fragment;
        archive.lanes_of(fragment).len()
    });
    let slots = usize::from(archive.epochs[epoch.index()].slots);
    lanes.max().unwrap_or(0).min(slots)
}

/// The nodes of a path in an order that its edges allow.
pub fn linearize<'a>(
    archive: &'a Archive,
    epoch: EpochId,
    path: &[(StepId, u32)],
) -> Vec<Placed<'a>> {
    let lanes = Lanes::of(archive, epoch, path);
    let mut done = vec![0u32; lanes.slots.len()];
    let mut order = Vec::new();
    // Slots to look at, and who waits for a slot.
    let mut work: BTreeSet<usize> = (0..lanes.slots.len()).collect();
    let mut waiters: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    while let Some(slot) = work.pop_first() {
        let before = done[slot];
        while let Some(next) = lanes.slots[slot].get(done[slot] as usize) {
            let missing = lanes.waits(next).find(|(of, to)| {
                let passed = done.get(usize::from(*of));
                passed.is_some_and(|passed| passed < to)
            });
            if let Some((of, _)) = missing {
                waiters.entry(of.into()).or_default().push(slot);
                break;
            }
            order.push(*next);
            done[slot] += 1;
        }
        if done[slot] != before {
            work.extend(waiters.remove(&slot).unwrap_or_default());
        }
    }
    order
}
