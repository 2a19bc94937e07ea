//! Rule 14: the schedule is the lock, so operations on one lock must be ordered by edges alone. Rule 15: and by no more edges than that takes.
//!
//! Along one path each node has a clock: how far every other slot is known to be when it is performed. A node knows what its
//! edges say and what its slot knew before. What is learned in an arm counts in that arm only: behind it, and for everybody
//! else, the arm may have been skipped. So an edge into an arm carries what was known before the arm.

use std::collections::BTreeMap;

use super::{MOST_SCHEDULES, Problem, Problems};
use crate::archive::{Archive, EpochId, FragmentId, Node, ObjectId, SiteId, StepId};
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

/// By row of the table of edges: what is known about its use. Fragments are shared, and what one path implies another may not.
struct Uses(Vec<Use>);

#[derive(Clone, Copy, PartialEq)]
enum Use {
    Unseen,
    /// Implied on every path that has it.
    Implied,
    /// Some path needs it.
    Needed,
}

impl Uses {
    fn note(&mut self, edge: usize, implied: bool) {
        match (implied, self.0[edge]) {
            (true, Use::Unseen) => self.0[edge] = Use::Implied,
            (true, _) => {}
            (false, _) => self.0[edge] = Use::Needed,
        }
    }

    /// Rule 15. Only for those who have seen every path.
    fn report(&self, archive: &Archive, problems: &mut Problems) {
        for fragment in (0..archive.fragments.len()).map(FragmentId::from_index) {
            let lanes = archive
                .lanes_of(fragment)
                .zip(archive.first_edges_of(fragment));
            for (slot, (nodes, mut edge)) in lanes.enumerate() {
                for (node, (_, edges)) in nodes.enumerate() {
                    let own = &self.0[edge..edge + edges.len()];
                    if own.contains(&Use::Implied) {
                        problems.add(Problem::ImpliedEdge {
                            fragment,
                            slot,
                            node,
                        });
                    }
                    edge += edges.len();
                }
            }
        }
    }
}

pub(super) fn check(archive: &Archive, problems: &mut Problems) {
    let mut uses = Uses(vec![Use::Unseen; archive.edges.len()]);
    if every_path(archive, &mut uses, problems) && problems.found.is_empty() {
        uses.report(archive, problems);
    }
}

/// Rule 14 on each path; false if not all were looked at.
fn every_path(archive: &Archive, uses: &mut Uses, problems: &mut Problems) -> bool {
    let paths = Paths::of(archive);
    let mut work = 0;
    let mut all = true;
    for index in 0..archive.epochs.len() {
        let epoch = EpochId::from_index(index);
        let there_are = paths.schedules(archive, epoch);
        let schedules = there_are.min(MOST_SCHEDULES);
        all &= schedules == there_are;
        for schedule in 0..schedules {
            if problems.is_full() {
                return false;
            }
            let Some(path) = paths.path(archive, epoch, schedule) else {
                all = false;
                break;
            };
            let size = Size::of(archive, epoch, &path);
            work += size.work();
            if !size.fits() || work > MOST_WORK {
                problems.add(Problem::TooLarge { epoch, schedule });
                return false;
            }
            if let Some((first, second)) = unordered(archive, epoch, &path, uses) {
                problems.add(Problem::NotOrdered {
                    epoch,
                    schedule,
                    first,
                    second,
                });
            }
        }
    }
    all
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

/// Two operations on one lock that are not ordered, if there are any. Notes which edges say something new.
fn unordered(
    archive: &Archive,
    epoch: EpochId,
    path: &[(StepId, u32)],
    uses: &mut Uses,
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
        let waits: Vec<(u16, u32)> = lanes.waits(&placed).collect();
        let known = |(slot, to): (u16, u32)| {
            let known = certain[usize::from(slot)].get(to as usize);
            known.expect("the order respects edges")
        };
        for ((slot, to), edge) in waits.iter().zip(placed.edges()) {
            let of = usize::from(*slot);
            let by_others = waits.iter().filter(|(other, _)| other != slot);
            let implied = clock[of] >= *to || by_others.copied().any(|by| known(by)[of] >= *to);
            uses.note(edge, implied);
        }
        for wait in waits {
            join(&mut clock, known(wait));
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
