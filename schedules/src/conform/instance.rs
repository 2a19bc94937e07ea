//! One epoch instance: the path decided so far, and how far each slot is on it.

use crate::archive::{Archive, Edge, EpochId, Next, Node, StepId};
use crate::entry::Families;
use crate::ids::Id;

/// A step of the path.
#[derive(Debug)]
pub(super) struct Stretch {
    pub(super) step: StepId,
    /// How it was decided to come here; 0 for the root.
    pub(super) outcome: u32,
    /// Position of each slot where the step begins.
    pub(super) bases: Vec<u32>,
}

/// A demand that a slot is behind a position.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Demand {
    pub(super) position: u32,
    /// Number of the event that waited for it.
    pub(super) waiter: u64,
}

/// An epoch instance.
#[derive(Debug)]
pub(super) struct Instance {
    pub(super) epoch: EpochId,
    pub(super) path: Vec<Stretch>,
    /// Position of each slot behind the path.
    ends: Vec<u32>,
    /// By slot: position behind the last node performed.
    pub(super) progress: Vec<u32>,
    pub(super) demands: Vec<Demand>,
    /// By slot: whose life it is a part of.
    pub(super) lives: Vec<usize>,
    /// What was done here while something of the instances before was left to do.
    pub(super) ahead: Vec<Ahead>,
}

/// Somebody did something about this before all of the earlier epochs was done.
#[derive(Debug)]
pub(super) struct Ahead {
    pub(super) life: usize,
    pub(super) about: Families,
    /// Number of the event.
    pub(super) event: u64,
}

impl Instance {
    pub(super) fn new(archive: &Archive, epoch: EpochId, lives: Vec<usize>) -> Self {
        let slots = lives.len();
        let mut instance = Self {
            epoch,
            path: Vec::new(),
            ends: vec![0; slots],
            progress: vec![0; slots],
            demands: vec![Demand::default(); slots],
            lives,
            ahead: Vec::new(),
        };
        instance.enter(archive, archive.epochs[epoch.index()].root, 0);
        instance
    }

    /// A decision leads to `step`.
    pub(super) fn enter(&mut self, archive: &Archive, step: StepId, outcome: u32) {
        let bases = self.ends.clone();
        let fragment = archive.steps[step.index()].fragment;
        for (slot, lane) in archive.lanes_of(fragment).enumerate() {
            // A lane of a slot that the epoch does not have is the verifier's business.
            if let Some(end) = self.ends.get_mut(slot) {
                *end += u32::try_from(lane.len()).expect("lanes have 32-bit lengths");
            }
        }
        self.path.push(Stretch {
            step,
            outcome,
            bases,
        });
    }

    /// What the last step of the path asks for.
    pub(super) fn next<'a>(&self, archive: &'a Archive) -> &'a Next {
        let last = self.path.last().expect("a path has its root");
        &archive.steps[last.step.index()].next
    }

    /// The node at a slot's position, if the path has come that far.
    pub(super) fn node<'a>(
        &self,
        archive: &'a Archive,
        slot: u16,
        position: u32,
    ) -> Option<&'a Node> {
        if position >= *self.ends.get(usize::from(slot))? {
            return None;
        }
        let after = self
            .path
            .partition_point(|stretch| stretch.bases[usize::from(slot)] <= position);
        let stretch = &self.path[after - 1];
        let index = self.index(archive, stretch, slot, position)?;
        archive.nodes.get(index)
    }

    /// Index into the archive's nodes.
    pub(super) fn index(
        &self,
        archive: &Archive,
        stretch: &Stretch,
        slot: u16,
        position: u32,
    ) -> Option<usize> {
        let fragment = archive.fragments[archive.steps[stretch.step.index()].fragment.index()];
        let offset = position.checked_sub(*stretch.bases.get(usize::from(slot))?)?;
        if u32::from(slot) >= fragment.lanes {
            return None;
        }
        let lane = archive.lanes[fragment.first_lane as usize + usize::from(slot)];
        (offset < lane.nodes).then(|| (lane.first_node + offset) as usize)
    }

    /// The position that an edge of a node in `stretch` waits for.
    pub(super) fn target(stretch: &Stretch, edge: Edge) -> u32 {
        let base = stretch.bases.get(usize::from(edge.slot())).copied();
        let target = i64::from(base.unwrap_or(0)) + i64::from(edge.position());
        u32::try_from(target.max(0)).unwrap_or(u32::MAX)
    }

    /// The first node of `slot` before `to` that has not been performed and may not be skipped: its position.
    pub(super) fn missing(&self, archive: &Archive, slot: u16, to: u32) -> Option<u32> {
        let from = *self.progress.get(usize::from(slot))?;
        (from..to).find(|position| {
            self.node(archive, slot, *position)
                .is_none_or(|node| !node.is_optional())
        })
    }

    /// Has everybody done everything, up to the next epoch?
    pub(super) fn is_done(&self, archive: &Archive) -> bool {
        matches!(self.next(archive), Next::Epoch { .. })
            && (0..self.slots()).all(|slot| self.missing(archive, slot, self.end(slot)).is_none())
    }

    /// Position of a slot behind the path.
    pub(super) fn end(&self, slot: u16) -> u32 {
        self.ends.get(usize::from(slot)).copied().unwrap_or(0)
    }

    /// How many slots it has.
    pub(super) fn slots(&self) -> u16 {
        u16::try_from(self.ends.len()).expect("slots are 16-bit")
    }
}
