//! Rules 5 to 10 that depend on the epoch: its slots, who lives in them, where positions lie.
//!
//! Steps are shared between paths, so for each step what is known is what holds on all paths to it and what holds on some.

use std::collections::{BTreeMap, BTreeSet};

use super::{Problem, Problems};
use crate::archive::{Archive, EpochId, Next, PredicateOp, StepId};
use crate::ids::Id;
use crate::primitives::NodeOp;

/// What is known where a step begins. Slots that are not named are as they were when the epoch began.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
struct Arrival {
    /// Fewest nodes that slots have behind them; 0 if not named.
    fewest: BTreeMap<u16, u32>,
    /// Slots whose threads were created, on all paths and on some.
    created: BTreeSet<u16>,
    maybe_created: BTreeSet<u16>,
    /// Slots that have acted on some path.
    started: BTreeSet<u16>,
    /// Slots whose threads have ended, on some path.
    ended: BTreeSet<u16>,
}

impl Arrival {
    /// Joins what holds on another path.
    fn join(&mut self, other: &Arrival) {
        let both = |slot: &u16, count: u32| {
            let theirs = other.fewest.get(slot).copied().unwrap_or(0);
            count.min(theirs)
        };
        for (slot, count) in &mut self.fewest {
            *count = both(slot, *count);
        }
        self.created = &self.created & &other.created;
        self.maybe_created = &self.maybe_created | &other.maybe_created;
        self.started = &self.started | &other.started;
        self.ended = &self.ended | &other.ended;
    }
}

pub(super) fn check(archive: &Archive, epoch: EpochId, problems: &mut Problems) {
    let tree = Tree { archive, epoch };
    let mut arrivals: BTreeMap<StepId, Arrival> = BTreeMap::new();
    arrivals.insert(archive.epochs[epoch.index()].root, Arrival::default());
    // Successors have larger ids, so a step is taken after all that lead to it.
    while let Some((step, arrival)) = arrivals.pop_first() {
        if problems.is_full() {
            return;
        }
        let after = tree.step(step, arrival, problems);
        archive.steps[step.index()].next.for_each_successor(|to| {
            arrivals
                .entry(to)
                .and_modify(|known| known.join(&after))
                .or_insert_with(|| after.clone());
        });
    }
}

struct Tree<'a> {
    archive: &'a Archive,
    epoch: EpochId,
}

impl Tree<'_> {
    fn slots(&self) -> u16 {
        self.archive.epochs[self.epoch.index()].slots
    }

    fn is_living(&self, slot: u16) -> bool {
        usize::from(slot) < self.archive.epochs[self.epoch.index()].contexts.len()
    }

    /// Rule 5.
    fn slot(&self, step: StepId, slot: u32, problems: &mut Problems) {
        let slots = self.slots();
        if slot >= u32::from(slots) {
            problems.add(Problem::NoSuchSlot {
                epoch: self.epoch,
                slots,
                step,
                slot,
            });
        }
    }

    /// Checks a step; returns what is known where it ends.
    fn step(&self, id: StepId, arrival: Arrival, problems: &mut Problems) -> Arrival {
        let mut after = arrival.clone();
        let fragment = self.archive.steps[id.index()].fragment;
        self.creations(id, &mut after, problems);
        for (slot, lane) in self.archive.lanes_of(fragment).enumerate() {
            let length = u32::try_from(lane.len()).expect("lanes have 32-bit lengths");
            if length == 0 {
                continue;
            }
            let slot = u16::try_from(slot).expect("slots are 16-bit");
            self.slot(id, slot.into(), problems);
            self.life(id, slot, &mut after, problems);
            for (index, (_, edges)) in lane.enumerate() {
                for edge in edges {
                    self.slot(id, edge.slot().into(), problems);
                    let behind = arrival.fewest.get(&edge.slot()).copied().unwrap_or(0);
                    if i64::from(behind) + i64::from(edge.position()) < 1 {
                        problems.add(Problem::BadEdge {
                            fragment,
                            slot: slot.into(),
                            node: index + 1,
                            what: "it waits for a node before the epoch's first",
                        });
                    }
                }
            }
            *after.fewest.entry(slot).or_default() += length;
        }
        self.next(id, &after, problems);
        after
    }

    /// Rule 7, creating.
    fn creations(&self, id: StepId, after: &mut Arrival, problems: &mut Problems) {
        let fragment = self.archive.steps[id.index()].fragment;
        for (node, _) in self.archive.lanes_of(fragment).flatten() {
            if node.op != NodeOp::ThreadCreate {
                continue;
            }
            self.slot(id, node.what, problems);
            let slot = u16::try_from(node.what).unwrap_or(u16::MAX);
            if self.is_living(slot) || !after.maybe_created.insert(slot) {
                self.thread(
                    id,
                    slot,
                    "is given to a new thread, but is not free",
                    problems,
                );
            }
            after.created.insert(slot);
        }
    }

    /// Rule 7, acting.
    fn life(&self, id: StepId, slot: u16, after: &mut Arrival, problems: &mut Problems) {
        let fragment = self.archive.steps[id.index()].fragment;
        let lane = || self.archive.lane_of(fragment, slot);
        if after.ended.contains(&slot) {
            self.thread(id, slot, "goes on after its thread's end", problems);
        }
        if !self.is_living(slot) {
            if !after.created.contains(&slot) {
                self.thread(id, slot, "acts before its thread is created", problems);
            }
            if after.started.insert(slot) {
                let first = lane().next();
                let starts = first.is_some_and(|(node, edges)| {
                    node.op == NodeOp::ThreadStart && !edges.is_empty()
                });
                if !starts {
                    self.thread(
                        id,
                        slot,
                        "does not begin with a start that waits for its creation",
                        problems,
                    );
                }
            }
        }
        let exits = lane().position(|(node, _)| node.op == NodeOp::ThreadExit);
        if let Some(exit) = exits {
            if exit + 1 != lane().len() {
                self.thread(id, slot, "goes on after its thread's end", problems);
            }
            after.ended.insert(slot);
        }
    }

    fn thread(&self, step: StepId, slot: u16, what: &'static str, problems: &mut Problems) {
        problems.add(Problem::BadThread {
            epoch: self.epoch,
            step,
            slot,
            what,
        });
    }

    fn next(&self, id: StepId, after: &Arrival, problems: &mut Problems) {
        let archive = self.archive;
        match &archive.steps[id.index()].next {
            Next::Early { predicate, .. } => {
                for op in &archive.predicates[predicate.index()].code {
                    if let PredicateOp::Shadow { slot, .. } = op
                        && !self.is_living(*slot)
                    {
                        problems.add(Problem::NoSuchShadow {
                            epoch: self.epoch,
                            step: id,
                            slot: *slot,
                        });
                    }
                }
            }
            Next::Late {
                slot, site, arms, ..
            } => {
                self.slot(id, (*slot).into(), problems);
                for arm in arms {
                    let fragment = archive.steps[arm.step.index()].fragment;
                    let first = archive.lane_of(fragment, *slot).next();
                    let decides = first.is_some_and(|(node, _)| {
                        matches!(node.op, NodeOp::Branch | NodeOp::Outcome)
                            && node.site == *site
                            && node.what == arm.outcome
                    });
                    if !decides {
                        problems.add(Problem::BadArm {
                            step: arm.step,
                            site: *site,
                        });
                    }
                }
            }
            Next::Epoch { epoch, moves } => self.moves(id, *epoch, moves, after, problems),
            Next::Deadlock { stuck, .. } => {
                let slots: BTreeSet<u16> = stuck.iter().map(|stuck| stuck.slot).collect();
                if slots.is_empty() || slots.len() != stuck.len() {
                    problems.add(Problem::BadDeadlock(id));
                }
                let named = stuck.iter().flat_map(|stuck| &stuck.waits_for);
                for slot in named.chain(&slots) {
                    self.slot(id, (*slot).into(), problems);
                }
            }
            Next::Exit | Next::Unexplored { .. } => {}
        }
    }

    /// Rule 8.
    fn moves(
        &self,
        id: StepId,
        epoch: EpochId,
        moves: &[u16],
        after: &Arrival,
        problems: &mut Problems,
    ) {
        let mut bad = |what: &'static str| {
            problems.add(Problem::BadMoves {
                epoch: self.epoch,
                step: id,
                what,
            });
        };
        if moves.len() > usize::from(self.slots()) {
            bad("it moves more slots than the epoch has");
        }
        let mut taken = BTreeSet::new();
        for (from, to) in moves.iter().enumerate() {
            if *to == u16::MAX {
                continue;
            }
            let from = u16::try_from(from).unwrap_or(u16::MAX);
            if !taken.insert(*to) {
                bad("two threads move to one slot");
            }
            if !self.is_living(from) && !after.created.contains(&from) {
                bad("a thread moves that may not have been created");
            }
            if after.ended.contains(&from) {
                bad("a thread moves that may have ended");
            }
        }
        let living = self.archive.epochs[epoch.index()].contexts.len();
        let expected = (0..living).map(|slot| u16::try_from(slot).unwrap_or(u16::MAX));
        if !taken.into_iter().eq(expected) {
            bad("the slots it moves to are not those of the next epoch's threads");
        }
    }
}
