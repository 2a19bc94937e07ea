//! Why threads are stuck: the kinds of deadlock, and how to tell them apart.

use std::collections::BTreeSet;

use super::Line;
use crate::archive::{Archive, Node, ObjectId, StepId, Stuck};
use crate::ids::Id;
use crate::primitives::NodeOp;

/// A kind of deadlock, with what belongs to it alone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cause {
    /// A thread wants a lock that it holds itself.
    Relock,
    /// Threads want locks that the next one holds.
    LockCycle,
    /// Threads wait for each other's end, or for a lock of one that waits for theirs.
    JoinCycle,
    /// A thread waits on a condition variable that was signalled before it waited: where.
    LostWakeUp { signals: Vec<Line> },
    /// A thread waits on a condition variable, and nobody is left to signal it.
    NobodySignals,
    /// Fewer threads reach a barrier than it was made for.
    BarrierNeverFull,
    /// A semaphore is waited for more often than it is posted.
    SemaphoreStarved,
    /// A lock is wanted whose owner ended without releasing it.
    OwnerEnded,
    /// A `pthread_once` routine waits for itself.
    OnceCycle,
    /// A thread waits for one that never ends, and that one does not wait for anybody.
    NeverEnds,
    /// Threads wait for each other in several ways.
    MixedCycle,
}

/// A cause without its details, for grouping.
pub(super) type Kind = std::mem::Discriminant<Cause>;

impl Cause {
    pub(super) fn kind(&self) -> Kind {
        std::mem::discriminant(self)
    }

    /// A short name, stable, for programs.
    pub fn code(&self) -> &'static str {
        match self {
            Cause::Relock => "relock",
            Cause::LockCycle => "lock-cycle",
            Cause::JoinCycle => "join-cycle",
            Cause::LostWakeUp { .. } => "lost-wake-up",
            Cause::NobodySignals => "nobody-signals",
            Cause::BarrierNeverFull => "barrier-never-full",
            Cause::SemaphoreStarved => "semaphore-starved",
            Cause::OwnerEnded => "owner-ended",
            Cause::OnceCycle => "once-cycle",
            Cause::NeverEnds => "never-ends",
            Cause::MixedCycle => "mixed-cycle",
        }
    }

    /// What happened, in a sentence.
    pub fn headline(&self) -> &'static str {
        match self {
            Cause::Relock => "a thread locks what it already holds",
            Cause::LockCycle => "threads wait in a cycle for each other's locks",
            Cause::JoinCycle => "threads wait in a cycle that includes a join",
            Cause::LostWakeUp { .. } => {
                "a thread waits on a condition variable that was signalled before it waited"
            }
            Cause::NobodySignals => {
                "a thread waits on a condition variable and nobody is left to signal it"
            }
            Cause::BarrierNeverFull => "fewer threads reach a barrier than it waits for",
            Cause::SemaphoreStarved => "a semaphore is waited for and nobody is left to post it",
            Cause::OwnerEnded => "a lock is wanted whose owner ended without releasing it",
            Cause::OnceCycle => "a pthread_once routine waits for itself",
            Cause::NeverEnds => "a thread waits for something that never happens",
            Cause::MixedCycle => "threads wait in a cycle for each other",
        }
    }

    /// What to do about it.
    pub fn advice(&self) -> &'static str {
        match self {
            Cause::Relock => {
                "release the lock before, or split off a function that expects it to be held"
            }
            Cause::LockCycle => "take these locks in the same order everywhere",
            Cause::JoinCycle => "release the locks that the joined thread needs before joining it",
            Cause::LostWakeUp { .. } => {
                "keep what is waited for in a variable under the mutex, and wait only while it does not hold"
            }
            Cause::NobodySignals => "signal the condition on every path that makes it true",
            Cause::BarrierNeverFull => {
                "let the barrier's count agree with the number of threads that reach it"
            }
            Cause::SemaphoreStarved => "post the semaphore on every path, once for each wait",
            Cause::OwnerEnded => "release the lock on every path out of the thread",
            Cause::OnceCycle => "do not call pthread_once for the same control from its routine",
            Cause::NeverEnds => "look at what the thread waits for",
            Cause::MixedCycle => "break the cycle: let one thread release before it waits",
        }
    }
}

fn is_lock(op: NodeOp) -> bool {
    matches!(
        op,
        NodeOp::MutexLock
            | NodeOp::RwReadLock
            | NodeOp::RwWriteLock
            | NodeOp::SpinLock
            | NodeOp::CondWake
    )
}

/// The causes of one deadlock, each with the slots that make it.
pub(super) fn causes(
    archive: &Archive,
    path: &[(StepId, u32)],
    stuck: &[Stuck],
) -> Vec<(Cause, BTreeSet<u16>)> {
    let mut causes = Vec::new();
    for members in components(stuck) {
        let threads: Vec<&Stuck> = stuck
            .iter()
            .filter(|stuck| members.contains(&stuck.slot))
            .collect();
        if is_root(stuck, &members) {
            causes.push((cause(archive, path, stuck, &threads), members));
        }
    }
    // A malformed leaf without threads still is a deadlock leaf.
    if causes.is_empty() {
        causes.push((Cause::NeverEnds, stuck.iter().map(|s| s.slot).collect()));
    }
    group_alike(archive, stuck, causes)
}

/// Threads at the same barrier, or the same condition variable or semaphore, are one cause.
fn group_alike(
    archive: &Archive,
    stuck: &[Stuck],
    causes: Vec<(Cause, BTreeSet<u16>)>,
) -> Vec<(Cause, BTreeSet<u16>)> {
    let object = |members: &BTreeSet<u16>| -> Option<ObjectId> {
        let slot = members.first()?;
        let stuck = stuck.iter().find(|stuck| stuck.slot == *slot)?;
        (members.len() == 1 && stuck.object.index() < archive.objects.len()).then_some(stuck.object)
    };
    let mut grouped: Vec<(Cause, BTreeSet<u16>, Option<ObjectId>)> = Vec::new();
    for (cause, members) in causes {
        let shared = object(&members);
        let alike = grouped.iter_mut().find(|(known, _, known_object)| {
            *known == cause && shared.is_some() && *known_object == shared
        });
        match alike {
            Some((_, known, _)) => known.extend(members),
            None => grouped.push((cause, members, shared)),
        }
    }
    grouped
        .into_iter()
        .map(|(cause, members, _)| (cause, members))
        .collect()
}

/// Does this component wait for nobody outside of it who is stuck too?
fn is_root(stuck: &[Stuck], members: &BTreeSet<u16>) -> bool {
    let known = |slot: &u16| stuck.iter().any(|stuck| stuck.slot == *slot);
    stuck
        .iter()
        .filter(|stuck| members.contains(&stuck.slot))
        .flat_map(|stuck| &stuck.waits_for)
        .all(|slot| members.contains(slot) || !known(slot))
}

/// Sets of threads that wait for each other, directly or not, ordered by their smallest slot.
fn components(stuck: &[Stuck]) -> Vec<BTreeSet<u16>> {
    let reach = |from: u16| {
        let mut seen = BTreeSet::new();
        let mut work = vec![from];
        while let Some(slot) = work.pop() {
            let waits = stuck.iter().filter(|stuck| stuck.slot == slot);
            for to in waits.flat_map(|stuck| &stuck.waits_for) {
                if seen.insert(*to) {
                    work.push(*to);
                }
            }
        }
        seen
    };
    let slots: BTreeSet<u16> = stuck.iter().map(|stuck| stuck.slot).collect();
    let mut components: Vec<BTreeSet<u16>> = Vec::new();
    for slot in &slots {
        if components.iter().any(|known| known.contains(slot)) {
            continue;
        }
        let reached = reach(*slot);
        let mut own: BTreeSet<u16> = reached
            .iter()
            .copied()
            .filter(|other| slots.contains(other) && reach(*other).contains(slot))
            .collect();
        own.insert(*slot);
        components.push(own);
    }
    components
}

fn cause(archive: &Archive, path: &[(StepId, u32)], all: &[Stuck], threads: &[&Stuck]) -> Cause {
    match threads {
        [one] => alone(archive, path, all, one),
        _ if threads.iter().all(|stuck| is_lock(stuck.op)) => Cause::LockCycle,
        _ if threads.iter().any(|stuck| stuck.op == NodeOp::ThreadJoin) => Cause::JoinCycle,
        _ => Cause::MixedCycle,
    }
}

/// One thread that waits for itself, for one that is gone, or for nobody in particular.
fn alone(archive: &Archive, path: &[(StepId, u32)], all: &[Stuck], stuck: &Stuck) -> Cause {
    let waits_for_itself = stuck.waits_for.contains(&stuck.slot);
    let holds_it = stuck.holds.iter().any(|held| held.object == stuck.object);
    let is_stuck = |slot: &u16| all.iter().any(|stuck| stuck.slot == *slot);
    match stuck.op {
        op if is_lock(op) && (waits_for_itself || holds_it) => Cause::Relock,
        NodeOp::CondWait | NodeOp::CondWake => wake_up(archive, path, stuck.object),
        op if is_lock(op) && !stuck.waits_for.iter().any(is_stuck) => Cause::OwnerEnded,
        NodeOp::ThreadJoin if waits_for_itself => Cause::JoinCycle,
        NodeOp::BarrierArrive | NodeOp::BarrierLeave => Cause::BarrierNeverFull,
        NodeOp::SemWait => Cause::SemaphoreStarved,
        NodeOp::OnceEnter | NodeOp::OnceLeave if waits_for_itself => Cause::OnceCycle,
        _ => Cause::NeverEnds,
    }
}

/// Was the condition variable signalled on the way here?
fn wake_up(archive: &Archive, path: &[(StepId, u32)], object: ObjectId) -> Cause {
    let signals = |node: &Node| {
        matches!(node.op, NodeOp::CondSignal | NodeOp::CondBroadcast)
            && node.object() == Some(object)
    };
    let places: BTreeSet<Line> = path
        .iter()
        .flat_map(|(step, _)| archive.lanes_of(archive.steps[step.index()].fragment))
        .flatten()
        .filter(|(node, _)| signals(node))
        .map(|(node, _)| Line::of(archive, node.site))
        .collect();
    if places.is_empty() {
        Cause::NobodySignals
    } else {
        Cause::LostWakeUp {
            signals: places.into_iter().collect(),
        }
    }
}
