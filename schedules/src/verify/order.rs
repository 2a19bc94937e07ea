//! Rule 14: the schedule is the lock, so operations on one lock must be ordered by edges alone.
//!
//! Along one path each node has a clock: how far every other slot is known to be when it is performed. A node knows what its
//! edges say and what its slot knew before. What is learned in an arm counts in that arm only: behind it, and for everybody
//! else, the arm may have been skipped. So an edge into an arm carries what was known before the arm.

use std::collections::BTreeMap;

use super::{MOST_SCHEDULES, Problem, Problems};
use crate::archive::{Archive, EpochId, Node, ObjectId, SiteId, StepId};
use crate::ids::Id;
use crate::order::{Lanes, Placed, linearize, slots_of};
use crate::paths::Paths;
use crate::primitives::NodeOp;

/// Most nodes and slots looked at in all.
const MOST_WORK: usize = 1 << 27;

/// Most words in the clocks of one path.
const MOST_CLOCKS: usize = 1 << 27;

/// By slot: how many of its nodes are known to lie behind it.
type Clock = Vec<u32>;

pub(super) fn check(archive: &Archive, problems: &mut Problems) {
    let paths = Paths::of(archive);
    let mut work = 0;
    for index in 0..archive.epochs.len() {
        let epoch = EpochId::from_index(index);
        let schedules = paths.schedules(archive, epoch).min(MOST_SCHEDULES);
        for schedule in 0..schedules {
            if problems.is_full() {
                return;
            }
            let Some(path) = paths.path(archive, epoch, schedule) else {
                break;
            };
            let size = Size::of(archive, epoch, &path);
            work += size.work();
            if !size.fits() || work > MOST_WORK {
                problems.add(Problem::TooLarge { epoch, schedule });
                return;
            }
            if let Some((first, second)) = unordered(archive, epoch, &path) {
                problems.add(Problem::NotOrdered {
                    epoch,
                    schedule,
                    first,
                    second,
                });
            }
        }
    }
}

/// How large a path is.
struct Size {
    nodes: usize,
    slots: usize,
}

impl Size {
    fn of(archive: &Archive, epoch: EpochId, path: &[(StepId, u32)]) -> Self {
        let lengths = path.iter().flat_map(|(step, _)| {
            let fragment = archive.steps[step.index()].fragment;
            archive.lanes_of(fragment).map(|lane| lane.len())
        });
        Self {
            nodes: lengths.sum(),
            slots: slots_of(archive, epoch, path),
        }
    }

    /// A path costs its nodes and its slots, even if nothing happens in them.
    fn work(&self) -> usize {
        self.nodes + self.slots
    }

    /// Every node and every slot has a clock.
    fn fits(&self) -> bool {
        self.work().saturating_mul(self.slots) <= MOST_CLOCKS
    }
}

/// Two operations on one lock that are not ordered, if there are any.
fn unordered(
    archive: &Archive,
    epoch: EpochId,
    path: &[(StepId, u32)],
) -> Option<(String, String)> {
    let lanes = Lanes::of(archive, epoch, path);
    let slots = lanes.slots().len();
    // By slot and number of nodes behind it: what is certain there.
    let mut certain: Vec<Vec<Clock>> = vec![vec![vec![0; slots]]; slots];
    // By slot: what is known in the arms that it is inside of, outermost first.
    let mut inside: Vec<Vec<(SiteId, Clock)>> = vec![Vec::new(); slots];
    // By lock and slot: the last operation.
    let mut last: BTreeMap<(ObjectId, u16), Placed<'_>> = BTreeMap::new();
    for placed in linearize(archive, epoch, path) {
        let own = usize::from(placed.slot);
        leave_arm(&mut inside[own], placed.node);
        let before = certain[own].last().expect("begins with one");
        let mut clock = inside[own].last().map_or(before, |(_, arm)| arm).clone();
        for (slot, to) in lanes.waits(&placed) {
            let known = certain[usize::from(slot)].get(to as usize);
            join(&mut clock, known.expect("the order respects edges"));
        }
        if let Some(lock) = lock_of(placed.node) {
            for ((_, slot), other) in last.range((lock, 0)..=(lock, u16::MAX)) {
                if *slot != placed.slot && clock[usize::from(*slot)] <= other.position {
                    return Some((describe(archive, other), describe(archive, &placed)));
                }
            }
            last.insert((lock, placed.slot), placed);
        }
        let mut after = match placed.node.is_optional() {
            true => before.clone(),
            false => clock.clone(),
        };
        after[own] = placed.position + 1;
        certain[own].push(after);
        match (placed.node.op, inside[own].last_mut()) {
            (NodeOp::Arm, _) => inside[own].push((placed.node.site, clock)),
            (_, Some((_, arm))) => *arm = clock,
            _ => {}
        }
    }
    None
}

/// Another arm of the same branch, or its end: what was learned in the arm is forgotten.
fn leave_arm(inside: &mut Vec<(SiteId, Clock)>, node: &Node) {
    let leaves = matches!(node.op, NodeOp::Arm | NodeOp::ArmsEnd)
        && inside
            .last()
            .is_some_and(|(branch, _)| *branch == node.site);
    if leaves {
        inside.pop();
    }
}

fn join(clock: &mut Clock, other: &Clock) {
    for (own, theirs) in clock.iter_mut().zip(other) {
        *own = (*own).max(*theirs);
    }
}

/// The lock that a node operates on, if all operations on it must be ordered.
fn lock_of(node: &Node) -> Option<ObjectId> {
    matches!(
        node.op,
        NodeOp::MutexLock
            | NodeOp::MutexTryLock
            | NodeOp::MutexTimedLock
            | NodeOp::MutexUnlock
            | NodeOp::SpinLock
            | NodeOp::SpinTryLock
            | NodeOp::SpinUnlock
    )
    .then(|| node.object())
    .flatten()
}

fn describe(archive: &Archive, placed: &Placed<'_>) -> String {
    let object = placed
        .node
        .object()
        .map(|object| archive.object_name(object));
    format!(
        "{} \"{}\" of slot {} at {}",
        crate::text::op_name(placed.node.op),
        object.unwrap_or_default(),
        placed.slot,
        archive.place(placed.node.site)
    )
}
