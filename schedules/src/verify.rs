//! Everything that must hold for an archive to make sense. The reader checks at each open what memory safety needs
//! (`ranges`); `heddle inspect --verify` and tests check all of this:
//!
//! *Tables.*
//! 1. Stable site ids are unique; so are contexts' hashes, which are XXH3 of their frames; contexts have frames.
//! 2. Epoch 0 begins with one thread; no epoch begins with more threads than the bound. (Epochs that begin at the same places may
//!    differ in who holds what.)
//! 3. Every step belongs to an epoch's tree and every fragment to a step; a fragment's last lane has nodes; no two are equal.
//! 4. The plan names no site twice, has no branch both as decision and as elastic, and has every site it is needed for: markers,
//!    branches, questions before calls, exits of loops, late decisions, elastic branches.
//!
//! *Trees.* For each epoch, on all its paths:
//! 5. Slots that are named exist in the epoch; shadows are read only of threads that live when it begins.
//! 6. A late decision's arms begin with the deciding slot's `Branch` or `Outcome` node of that site and outcome.
//! 7. A thread is created once, into a slot that nobody lives in; its first node is `ThreadStart`, which waits for
//!    somebody; nobody acts before being created or after `ThreadExit`.
//! 8. The next epoch gets each of its threads from exactly one slot, whose thread is alive.
//! 9. A deadlock names at least one thread, each once.
//!
//! *Lanes.*
//! 10. Edges ascend by slot, one per slot, none to the own slot; each points to a node that exists on every path; they
//!     form no cycle.
//! 11. Optional nodes are exactly those in an arm; arms of a branch have different outcomes; an arm's branch has its
//!     `ArmsEnd` in the same lane, behind its arms.
//! 12. Operations fit their sites; operands that mean nothing are 0; only `BarrierLeave` names the serial thread.
//! 13. Nodes publish their passing exactly where somebody waits for it.
//!
//! *Order.*
//! 14. On each path, operations of different slots on one mutex or spin lock are ordered by edges, whatever optional nodes
//!     are skipped. Checked on the first [`MOST_SCHEDULES`] schedules of an epoch.
//! 15. Edges are transitively reduced: each is needed on some path, where neither the others nor what its slot waited for before imply it.
//!     Checked if no epoch has more schedules than that.
//!
//! Ids in range, totality of trees, arms that ascend, and well-typed byte code are the reader's rules and hold here already.
//! Deliberately absent: whether the archive fits a program.

mod lanes;
mod order;
mod tables;
mod trees;

use crate::archive::{Archive, ContextId, EpochId, FragmentId, SiteId, StepId};

/// How many schedules of an epoch rule 14 looks at.
pub const MOST_SCHEDULES: u64 = 1000;

/// Most problems that are reported.
pub const MOST_PROBLEMS: usize = 100;

/// A broken rule, and where.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Problem {
    #[error("rule 1: {0} and {1} have the same stable id")]
    SameStableId(SiteId, SiteId),
    #[error("rule 1: {0} and {1} have the same hash")]
    SameHash(ContextId, ContextId),
    #[error("rule 1: the hash of {0} is not that of its frames")]
    WrongHash(ContextId),
    #[error("rule 1: {0} has no frames")]
    NoFrames(ContextId),
    #[error("rule 2: epoch0 begins with {0} threads instead of one")]
    BadBeginning(usize),
    #[error("rule 2: {epoch} begins with {threads} threads; the bound is {bound}")]
    TooManyThreads {
        epoch: EpochId,
        threads: usize,
        bound: u32,
    },
    #[error("rule 3: {0} belongs to no epoch")]
    LostStep(StepId),
    #[error("rule 3: {0} belongs to no step")]
    LostFragment(FragmentId),
    #[error("rule 3: {0} ends in an empty lane")]
    EmptyLane(FragmentId),
    #[error("rule 3: {0} and {1} are equal")]
    SameFragment(FragmentId, FragmentId),
    #[error("rule 4: the plan has {0} twice")]
    PlannedTwice(SiteId),
    #[error("rule 4: the plan lacks {site}, which {needed_as} needs")]
    NotPlanned {
        site: SiteId,
        needed_as: &'static str,
    },
    #[error("rule 5: {epoch} has {slots} slots, but {step} names slot {slot}")]
    NoSuchSlot {
        epoch: EpochId,
        slots: u16,
        step: StepId,
        slot: u32,
    },
    #[error(
        "rule 5: {step} of {epoch} reads a shadow of slot {slot}, which nobody is in when the epoch begins"
    )]
    NoSuchShadow {
        epoch: EpochId,
        step: StepId,
        slot: u16,
    },
    #[error("rule 6: {step} does not begin with what its late decision at {site} decides")]
    BadArm { step: StepId, site: SiteId },
    #[error("rule 7: {step} of {epoch}: slot {slot} {what}")]
    BadThread {
        epoch: EpochId,
        step: StepId,
        slot: u16,
        what: &'static str,
    },
    #[error("rule 8: {step} of {epoch}: {what}")]
    BadMoves {
        epoch: EpochId,
        step: StepId,
        what: &'static str,
    },
    #[error("rule 9: {0} is a deadlock of nobody, or names somebody twice")]
    BadDeadlock(StepId),
    #[error("rule 10: {fragment}, slot {slot}, node {node}: {what}")]
    BadEdge {
        fragment: FragmentId,
        slot: usize,
        node: usize,
        what: &'static str,
    },
    #[error("rule 10: {fragment}: nodes wait for each other in a cycle")]
    Cycle { fragment: FragmentId },
    #[error("rule 11: {fragment}, slot {slot}, node {node}: {what}")]
    BadOptional {
        fragment: FragmentId,
        slot: usize,
        node: usize,
        what: &'static str,
    },
    #[error("rule 12: {fragment}, slot {slot}, node {node}: {what}")]
    BadNode {
        fragment: FragmentId,
        slot: usize,
        node: usize,
        what: &'static str,
    },
    #[error("rule 13: node {node} of the table {what}")]
    BadPublishing { node: usize, what: &'static str },
    #[error("rule 14: {epoch}, schedule {schedule}: {first} and {second} are not ordered")]
    NotOrdered {
        epoch: EpochId,
        schedule: u64,
        first: String,
        second: String,
    },
    #[error("rule 14: from {epoch}, schedule {schedule} on: too large to be checked")]
    TooLarge { epoch: EpochId, schedule: u64 },
    #[error("rule 15: {fragment}, slot {slot}, node {node}: has an edge that the others imply")]
    ImpliedEdge {
        fragment: FragmentId,
        slot: usize,
        node: usize,
    },
}

impl Problem {
    /// Programs that follow the archive run as it says, only slower than they could.
    pub fn only_costs_time(&self) -> bool {
        matches!(self, Self::ImpliedEdge { .. })
    }
}

/// Where problems go; full at [`MOST_PROBLEMS`].
#[derive(Default)]
struct Problems {
    found: Vec<Problem>,
}

impl Problems {
    fn add(&mut self, problem: Problem) {
        if self.found.len() < MOST_PROBLEMS && !self.found.contains(&problem) {
            self.found.push(problem);
        }
    }

    fn is_full(&self) -> bool {
        self.found.len() >= MOST_PROBLEMS
    }
}

/// Checks all rules on an archive whose ids are in range. Empty: everything holds.
pub fn verify(archive: &Archive) -> Vec<Problem> {
    let mut problems = Problems::default();
    tables::check(archive, &mut problems);
    lanes::check(archive, &mut problems);
    for index in 0..archive.epochs.len() {
        let epoch = crate::ids::Id::from_index(index);
        trees::check(archive, epoch, &mut problems);
    }
    // What follows computes with positions and slots, which must make sense by now.
    if problems.found.is_empty() {
        order::check(archive, &mut problems);
    }
    problems.found
}
