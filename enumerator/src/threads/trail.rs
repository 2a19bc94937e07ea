//! The nodes of a path and the edges between them.
//!
//! Every slot has a clock: how many nodes of each slot surely lie behind the slot's next node. An edge that the clock implies
//! is not written. **A skipped node does not wait**, so what an optional node waited for tells nothing about later nodes: inside an
//! arm the slot works with a copy of its clock, and that copy is dropped at the arm's end.

use std::rc::Rc;

use schedules::primitives::NodeOp;

use crate::model::{FuncId, InstrId};
use crate::planted::{Bug, is_planted};

/// A place in the program, before it has an id of the archive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SiteRef {
    /// An instruction.
    Instr(FuncId, InstrId),
    /// The beginning of a function.
    Entry(FuncId),
}

/// What a node is about.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Subject {
    Nothing,
    /// A synchronization object by name.
    Object(Rc<str>),
    /// A created thread's slot.
    Slot(u16),
    /// Which way was taken.
    Outcome(u32),
}

/// A node of the fragment that is being built.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct PathNode {
    pub site: SiteRef,
    pub op: NodeOp,
    pub subject: Subject,
    pub optional: bool,
    pub serial: bool,
    /// (slot, nodes of it that must lie behind it), counted from the epoch's beginning.
    pub edges: Vec<(u16, u32)>,
}

/// Something that happened and that others may have to wait for.
#[derive(Clone, Debug)]
pub struct Event {
    pub slot: u16,
    /// The slot's progress that shows it has happened.
    pub passed: u32,
    /// What surely lies behind whoever has waited for it.
    clock: Rc<[u32]>,
}

impl Event {
    /// Something of an earlier epoch: it lies behind everybody.
    pub fn past() -> Self {
        Self {
            slot: 0,
            passed: 0,
            clock: Rc::new([]),
        }
    }
}

#[derive(Clone, Debug, Default)]
struct Lane {
    nodes: Vec<PathNode>,
    /// Position of the first of `nodes`.
    start: u32,
    clock: Vec<u32>,
    /// Clocks to return to, one per arm that is open.
    outside: Vec<Vec<u32>>,
}

impl Lane {
    fn position(&self) -> u32 {
        self.start + self.nodes.len() as u32
    }
}

/// Nodes by slot. Paths fork at every decision, so what a fork does not touch is shared with where it came from.
#[derive(Clone, Debug, Default)]
pub struct Trail {
    lanes: Vec<Rc<Lane>>,
    /// Nodes in all fragments of the path.
    pub length: usize,
}

/// What a node is, without what it waits for.
#[derive(Clone, Debug)]
pub struct NodeKind {
    pub site: SiteRef,
    pub op: NodeOp,
    pub subject: Subject,
    pub serial: bool,
}

impl Trail {
    /// An empty trail of so many slots.
    pub fn with_slots(slots: usize) -> Self {
        Self {
            lanes: vec![Rc::default(); slots],
            length: 0,
        }
    }

    /// Makes room for another slot.
    pub fn add_slot(&mut self) {
        self.lanes.push(Rc::default());
    }

    /// Appends a node that comes after `after`.
    pub fn add(&mut self, slot: usize, kind: NodeKind, after: &[Event]) -> Event {
        let (slots, length) = (self.lanes.len(), self.length);
        let lane = self.lane(slot);
        lane.clock.resize(slots, 0);
        let needed: Vec<&Event> = after
            .iter()
            .filter(|event| usize::from(event.slot) != slot)
            .filter(|event| lane.clock[usize::from(event.slot)] < event.passed)
            .collect();
        let mut edges: Vec<(u16, u32)> = Vec::new();
        for (index, event) in needed.iter().enumerate() {
            let implied = needed.iter().enumerate().any(|(other, by)| {
                let known = if by.slot == event.slot {
                    by.passed
                } else {
                    by.clock.get(usize::from(event.slot)).copied().unwrap_or(0)
                };
                other != index
                    && known >= event.passed
                    // Two events that imply each other: the first stays.
                    && !(by.slot == event.slot && by.passed == event.passed && other > index)
            });
            if !implied {
                edges.push((event.slot, event.passed));
            }
        }
        edges.sort_unstable();
        if is_planted(Bug::DroppedEdge) && length % 3 == 2 {
            edges.clear();
        }
        for event in needed {
            for (own, known) in lane.clock.iter_mut().zip(event.clock.iter()) {
                *own = (*own).max(*known);
            }
            let own = &mut lane.clock[usize::from(event.slot)];
            *own = (*own).max(event.passed);
        }
        lane.nodes.push(PathNode {
            site: kind.site,
            op: kind.op,
            subject: kind.subject,
            optional: !lane.outside.is_empty(),
            serial: kind.serial,
            edges,
        });
        self.length += 1;
        self.event(slot)
    }

    /// The slot's last node as others see it.
    fn event(&self, slot: usize) -> Event {
        let lane = &self.lanes[slot];
        let passed = lane.position();
        let visible = lane.outside.first().unwrap_or(&lane.clock);
        let mut clock: Vec<u32> = visible.clone();
        clock.resize(clock.len().max(slot + 1), 0);
        clock[slot] = passed;
        Event {
            slot: slot as u16,
            passed,
            clock: clock.into(),
        }
    }

    fn lane(&mut self, slot: usize) -> &mut Lane {
        Rc::make_mut(&mut self.lanes[slot])
    }

    /// True inside an arm: the slot's nodes may be skipped.
    pub fn is_optional(&self, slot: usize) -> bool {
        !self.lanes[slot].outside.is_empty()
    }

    /// The nodes that follow may be skipped.
    pub fn open_arm(&mut self, slot: usize) {
        let lane = self.lane(slot);
        let clock = lane.clock.clone();
        lane.outside.push(clock);
    }

    /// The arm ends.
    pub fn close_arm(&mut self, slot: usize) {
        let lane = self.lane(slot);
        lane.clock = lane.outside.pop().expect("an arm is open");
    }

    /// Takes back the slot's last node, which nobody has seen.
    pub fn take_back(&mut self, slot: usize) {
        self.lane(slot).nodes.pop().expect("a node to take back");
        self.length -= 1;
    }

    /// How many nodes a slot has passed.
    pub fn position(&self, slot: usize) -> u32 {
        self.lanes[slot].position()
    }

    /// Nodes of all slots since the last cut, with the position at which each slot's begin; the next fragment begins.
    pub fn cut(&mut self) -> Vec<(u32, Vec<PathNode>)> {
        let lanes = self.lanes.iter_mut().map(|lane| {
            let start = lane.start;
            if lane.nodes.is_empty() {
                return (start, Vec::new());
            }
            let lane = Rc::make_mut(lane);
            lane.start = lane.position();
            (start, std::mem::take(&mut lane.nodes))
        });
        lanes.collect()
    }

    /// Slots so far.
    pub fn slots(&self) -> usize {
        self.lanes.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kind() -> NodeKind {
        NodeKind {
            site: SiteRef::Entry(FuncId(0)),
            op: NodeOp::MutexLock,
            subject: Subject::Nothing,
            serial: false,
        }
    }

    fn edges(trail: &mut Trail) -> Vec<Vec<Vec<(u16, u32)>>> {
        let lanes = trail.cut();
        lanes
            .into_iter()
            .map(|(_, nodes)| nodes.into_iter().map(|node| node.edges).collect())
            .collect()
    }

    #[test]
    fn an_edge_that_another_implies_is_not_written() {
        let mut trail = Trail::default();
        (0..3).for_each(|_| trail.add_slot());
        let a = trail.add(0, kind(), &[]);
        let b = trail.add(1, kind(), std::slice::from_ref(&a));
        trail.add(2, kind(), &[a.clone(), b.clone()]);
        trail.add(2, kind(), &[a, b]);
        assert_eq!(
            edges(&mut trail),
            vec![vec![vec![]], vec![vec![(0, 1)]], vec![vec![(1, 1)], vec![]]]
        );
    }

    #[test]
    fn what_an_optional_node_waited_for_implies_nothing() {
        let mut trail = Trail::default();
        (0..3).for_each(|_| trail.add_slot());
        let a = trail.add(0, kind(), &[]);
        trail.open_arm(1);
        let b = trail.add(1, kind(), std::slice::from_ref(&a));
        trail.close_arm(1);
        trail.add(1, kind(), std::slice::from_ref(&a));
        trail.add(2, kind(), &[a, b]);
        assert_eq!(
            edges(&mut trail),
            vec![
                vec![vec![]],
                vec![vec![(0, 1)], vec![(0, 1)]],
                vec![vec![(0, 1), (1, 1)]]
            ]
        );
    }
}
