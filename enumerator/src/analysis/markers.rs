//! Where epochs may end: placement of epoch markers, main §3.3.1.
//!
//! **Guarantee.** Between two markers a thread performs a bounded number of synchronization operations, given a bound on live
//! threads: every cycle of control flow or of calls that may synchronize passes a marker, except
//!
//! - loops whose header runs at most [`SMALL_LOOP`](super::SMALL_LOOP) times per entry,
//! - loops whose only synchronization is waiting on a condition variable without time limit (each round needs a notification, and
//!   loops that notify have markers),
//! - loops that only create, join or detach threads (live threads are bounded).
//!
//! A loop is *covered* when every way around passes a marker placed further inside or in a called function. Functions that call
//! each other and synchronize get markers at entry, enough to break every cycle of calls (main leaves recursion out). So do functions
//! that the library calls back: the library's loop around them has no other place.
//!
//! Barriers count as markers only if the caller says so: whoever passes `true` must let epochs end at them.

use std::collections::{BTreeMap, BTreeSet};

use schedules::ids::Id;
use schedules::primitives::NodeOp;

use super::cfg::LoopId;
use super::components::components;
use super::effects::events::Event;
use super::{Facts, SyncEffect};
use crate::model::{BlockId, FuncId};

/// Why there is a marker.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Why {
    /// The block heads this loop, which may synchronize on each way around.
    Loop(LoopId),
    /// The function may call itself and synchronizes; the block is its entry.
    Recursion,
    /// The library calls the function back, any number of times, and it synchronizes; the block is its entry.
    CalledBack,
}

/// A marker: at the beginning of the block.
pub type Marker = (FuncId, BlockId, Why);

/// Why a loop that may synchronize has no marker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exempt {
    /// The header runs at most so often.
    Bounded(u64),
    WaitsOnly,
    CreatesAndJoinsOnly,
    Covered,
}

/// Kinds of synchronization that a piece of code may perform.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
struct Kinds(u8);

impl Kinds {
    const WAIT: Kinds = Kinds(1);
    const CREATE_JOIN: Kinds = Kinds(2);
    const OTHER: Kinds = Kinds(4);

    fn add(&mut self, other: Kinds) {
        self.0 |= other.0;
    }
}

/// The markers of a program, and the loops that need none though they synchronize.
#[derive(Clone, Debug, Default)]
pub struct Markers {
    /// Ascending.
    pub placed: Vec<Marker>,
    pub exempt: Vec<(FuncId, LoopId, Exempt)>,
    /// Where the search may let epochs end: at markers, and at loops that markers further inside cover. Where those inside prove
    /// bounded, the loop around them serves better.
    pub possible: BTreeSet<(FuncId, BlockId)>,
    /// Loops of few rounds. Epochs may end there, too, where they would have too many schedules otherwise.
    pub bounded: BTreeSet<(FuncId, BlockId)>,
}

/// Places all markers. `barriers`: does passing a barrier count?
pub fn place(facts: &Facts, barriers: bool) -> Markers {
    let edges = facts.call_edges();
    let groups = components(edges.len(), |_| true, |node| &edges[node as usize]);
    let mut placer = Placer {
        facts,
        barriers,
        kinds: vec![Kinds::default(); edges.len()],
        called_back: (facts.all_called_back().values())
            .flat_map(|back| back.functions.iter().map(|(_, function)| *function))
            .collect(),
        covered: vec![false; edges.len()],
        blocks: BTreeMap::new(),
        markers: Markers::default(),
    };
    for group in &groups {
        placer.group(group, &edges);
    }
    let mut markers = placer.markers;
    markers.placed.sort_unstable();
    markers.exempt.sort_by_key(|(func, id, _)| (*func, *id));
    let headers = |which: fn(&Exempt) -> bool| {
        (markers.exempt.iter())
            .filter(move |(_, _, why)| which(why))
            .map(|(func, id, _)| (*func, facts.cfg(*func).loops[*id].header))
    };
    let covered = headers(|why| *why == Exempt::Covered);
    markers.bounded = headers(|why| matches!(why, Exempt::Bounded(_))).collect();
    let placed = markers
        .placed
        .iter()
        .map(|(func, block, _)| (*func, *block));
    markers.possible = placed.chain(covered).collect();
    markers
}

struct Placer<'a> {
    facts: &'a Facts,
    barriers: bool,
    kinds: Vec<Kinds>,
    /// Functions that the library calls back and that synchronize.
    called_back: BTreeSet<FuncId>,
    /// Functions that pass a marker on every way from entry to return.
    covered: Vec<bool>,
    /// Blocks with markers, by function.
    blocks: BTreeMap<FuncId, BTreeSet<BlockId>>,
    markers: Markers,
}

impl Placer<'_> {
    fn group(&mut self, group: &[u32], edges: &[Vec<u32>]) {
        self.sum_kinds(group);
        let members: Vec<FuncId> = group.iter().map(|member| FuncId(*member)).collect();
        let recursive = self.facts.is_recursive(members[0]);
        if recursive && self.kinds[group[0] as usize] != Kinds::default() {
            self.break_cycles(group, edges);
        }
        for func in members {
            if self.called_back.contains(&func) {
                self.put(func, BlockId(0), Why::CalledBack);
            }
            self.loops(func);
            self.covered[func.index()] = self.is_covered(func);
        }
    }

    fn sum_kinds(&mut self, group: &[u32]) {
        let mut total = Kinds::default();
        for &member in group {
            for block in self.facts.blocks_of(FuncId(member)) {
                total.add(self.block_kinds(FuncId(member), block));
            }
        }
        for &member in group {
            self.kinds[member as usize] = total;
        }
    }

    fn block_kinds(&self, func: FuncId, block: BlockId) -> Kinds {
        let mut total = Kinds::default();
        for event in self.facts.events(func, block) {
            match event {
                Event::Take { .. } | Event::Release { .. } => total.add(Kinds::OTHER),
                Event::Other { op, timed } => total.add(match op {
                    Some(NodeOp::CondWait) if !timed => Kinds::WAIT,
                    Some(NodeOp::ThreadCreate | NodeOp::ThreadJoin | NodeOp::ThreadDetach) => {
                        Kinds::CREATE_JOIN
                    }
                    _ => Kinds::OTHER,
                }),
                Event::Call(targets) | Event::Repeated(targets) => {
                    for target in targets {
                        total.add(self.kinds[target.index()]);
                    }
                }
                Event::Unknown | Event::End => {}
            }
        }
        total
    }

    fn put(&mut self, func: FuncId, block: BlockId, why: Why) {
        if self.blocks.entry(func).or_default().insert(block) {
            self.markers.placed.push((func, block, why));
        }
    }

    /// Entry markers until the calls inside the group form no cycle: first where the group is entered from outside.
    fn break_cycles(&mut self, group: &[u32], edges: &[Vec<u32>]) {
        let members: BTreeSet<u32> = group.iter().copied().collect();
        let entered: BTreeSet<u32> = (0..edges.len() as u32)
            .filter(|from| !members.contains(from))
            .flat_map(|from| edges[from as usize].iter().copied())
            .collect();
        let mut left = members;
        loop {
            let inner: Vec<Vec<u32>> = (0..edges.len() as u32)
                .map(|from| {
                    let targets = edges[from as usize].iter().copied();
                    targets
                        .filter(|to| left.contains(&from) && left.contains(to))
                        .collect()
                })
                .collect();
            let cycles = components(
                edges.len(),
                |node| left.contains(&node),
                |node| &inner[node as usize],
            );
            let cycle = cycles
                .into_iter()
                .find(|part| part.len() > 1 || inner[part[0] as usize].contains(&part[0]));
            let Some(mut cycle) = cycle else { return };
            cycle.sort_unstable();
            let chosen = cycle
                .iter()
                .copied()
                .find(|member| entered.contains(member))
                .unwrap_or(cycle[0]);
            self.put(FuncId(chosen), BlockId(0), Why::Recursion);
            self.covered[chosen as usize] = true;
            left.remove(&chosen);
        }
    }

    /// Inner loops first.
    fn loops(&mut self, func: FuncId) {
        let cfg = self.facts.cfg(func);
        for id in cfg.loops.ids().rev() {
            let body = &cfg.loops[id];
            let mut kinds = Kinds::default();
            for &block in &body.blocks {
                kinds.add(self.block_kinds(func, block));
            }
            if kinds == Kinds::default() {
                continue;
            }
            let exempt = if let Some(trips) = self.facts.trip_bound(func, id) {
                Some(Exempt::Bounded(trips))
            } else if kinds == Kinds::WAIT {
                Some(Exempt::WaitsOnly)
            } else if kinds == Kinds::CREATE_JOIN {
                Some(Exempt::CreatesAndJoinsOnly)
            } else if self.is_loop_covered(func, id) {
                Some(Exempt::Covered)
            } else {
                None
            };
            match exempt {
                Some(reason) => self.markers.exempt.push((func, id, reason)),
                None => self.put(func, body.header, Why::Loop(id)),
            }
        }
    }

    /// True if running the block surely passes a marker.
    fn passes(&self, func: FuncId, block: BlockId) -> bool {
        let marked = self
            .blocks
            .get(&func)
            .is_some_and(|blocks| blocks.contains(&block));
        marked
            || self
                .facts
                .events(func, block)
                .iter()
                .any(|event| match event {
                    Event::Other {
                        op: Some(NodeOp::BarrierArrive),
                        ..
                    } => self.barriers,
                    Event::Call(targets) => {
                        targets.iter().all(|target| self.covered[target.index()])
                    }
                    _ => false,
                })
    }

    /// True if every way from the header around the loop passes a marker.
    fn is_loop_covered(&self, func: FuncId, id: LoopId) -> bool {
        let body = &self.facts.cfg(func).loops[id];
        let mut seen = BTreeSet::new();
        let mut work = vec![body.header];
        while let Some(block) = work.pop() {
            if self.passes(func, block) {
                continue;
            }
            for &next in self.facts.successors(func, block) {
                if next == body.header {
                    return false;
                }
                if body.contains(next) && seen.insert(next) {
                    work.push(next);
                }
            }
        }
        true
    }

    fn is_covered(&self, func: FuncId) -> bool {
        let mut any = false;
        let mut seen = BTreeSet::from([BlockId(0)]);
        let mut work = vec![BlockId(0)];
        if self.facts.blocks_of(func).next().is_none() {
            return false;
        }
        while let Some(block) = work.pop() {
            if self.passes(func, block) {
                any = true;
                continue;
            }
            if self.facts.returns(func, block) {
                return false;
            }
            for &next in self.facts.successors(func, block) {
                if seen.insert(next) {
                    work.push(next);
                }
            }
        }
        any
    }
}

/// True if the function's whole call may synchronize.
pub fn may_synchronize(facts: &Facts, func: FuncId) -> bool {
    facts.effects(func).sync != SyncEffect::None
}
