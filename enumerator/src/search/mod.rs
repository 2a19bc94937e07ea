//! From worlds to an archive: run the threads of a world, fork where the schedule can change, write down what happened.
//!
//! Exploring one epoch is a task (`explore`): bytes in, an `outcome` out, nothing shared. `settle` orders tasks until the states in which
//! epochs begin are stable, `gather` puts outcomes together, `store` keeps them for the next run.
//!
//! One run of [`Explorer::explore`] follows a path until its next decision or leaf and returns the step of the decision tree that
//! stands for it. Which branches have to be instrumented is found on the way (`marked`); since every execution of an
//! instrumented branch is a node, exploration starts again whenever the set has grown.

mod assume;
mod bounds;
mod canon;
mod decide;
mod elastic;
mod emit;
mod epochs;
mod explore;
mod footprint;
mod gather;
mod leaf;
pub(crate) mod live;
mod marked;
pub mod native;
mod outcome;
mod refuse;
mod schedule;
mod settle;
mod store;
mod undefined;

use std::collections::BTreeMap;
use std::sync::atomic::Ordering;

use schedules::archive::{Next, StepId};
use schedules::builder::ArchiveBuilder;

use crate::model::{BlockId, FuncId, InstrId};
use crate::symbolic::engine::Engine;
use crate::symbolic::run::Stop;
use crate::threads::World;
use crate::threads::trail::SiteRef;
use crate::{Options, Strategy};
use live::Live;
use marked::{Branch, Marked};
use outcome::Tally;

/// Paths with more nodes than this are given up.
const MAX_NODES: usize = 20_000;

/// Decisions on one path; more are given up.
const MAX_DECISIONS: usize = 2_000;

/// With more leaves than this, branches whose arms all synchronize become elastic as well.
const MANY_LEAVES: u64 = 128;

/// With more leaves than this in one epoch, loops of few rounds may end epochs as well.
const TOO_MANY_LEAVES: u64 = 1_000;

/// Where a path is.
#[derive(Clone)]
struct Path {
    world: World,
    /// Why each thread last stopped, if it has not moved since.
    stops: Vec<Option<Stop>>,
    /// Does the thread still stand where the epoch began?
    fresh: Vec<bool>,
    /// How often each thread was at each place that could be a marker.
    visits: BTreeMap<(usize, FuncId, BlockId), u32>,
    decisions: usize,
    strategy: Strategy,
}

/// Explores one epoch.
struct Explorer<'a, 'm> {
    engine: Engine<'m>,
    builder: ArchiveBuilder,
    marked: &'a Marked,
    /// What will have to be marked as well.
    found: Marked,
    options: &'a Options,
    live: &'a Live,
    /// Does nobody want the outcome any more?
    abandoned: &'a dyn Fn() -> bool,
    /// Nothing more can be marked: what would need that is a gap.
    closing: bool,
    tally: Tally,
    /// Why branches that are decided are not elastic.
    notes: BTreeMap<Branch, String>,
    /// Steps and queries that others know of.
    seen: (u64, u64),
    most_slots: usize,
    /// The worlds that paths end in.
    epochs: epochs::Epochs,
    /// Numbers that may bound what a join forgets.
    limits: &'a bounds::Limits,
    /// Ways out of branches that were tried as quiet ends, in vain.
    loud: BTreeMap<(FuncId, InstrId, u32), u32>,
    /// Where each slot stood when the epoch began, frame by frame.
    begin_contexts: Vec<Vec<SiteRef>>,
    /// Something was found that makes what is explored now worthless.
    restart: bool,
    /// A limit ended some path.
    cut: bool,
    /// The epoch begins at the program's start: nothing is approximated yet.
    first_epoch_runs: bool,
    last_report: std::time::Instant,
    /// Orders are followed one by one: no region may stand for several of them.
    follows_orders: bool,
    /// The program asks for locks without waiting: releases are no private matter.
    looks_without_waiting: bool,
    /// The one order to write down.
    script: Option<native::Script>,
}

pub use gather::NOT_ELASTIC;
pub(crate) use settle::enumerate;
pub use store::remove_store;

impl Explorer<'_, '_> {
    /// Follows a path to its next decision or leaf.
    fn explore(&mut self, mut path: Path) -> StepId {
        self.report(&path);
        if self.script.is_some() {
            return self.follow_script(path);
        }
        path.strategy = self.options.strategy;
        // The first is what was asked for; the others are tried, in this order, where it ends in a deadlock.
        let others = Strategy::ALL.map(|(_, strategy)| strategy).into_iter();
        let mut others = others.filter(|other| *other != self.options.strategy);
        let start = path.clone();
        loop {
            if let Some(reason) = self.exhausted(&path) {
                return self.gap_leaf(&mut path, None, &reason);
            }
            match self.advance(&mut path) {
                Advance::Moved => {}
                Advance::Decide { slot, outcomes } => return self.decide(path, slot, outcomes),
                Advance::Ask { slot, condition } => return self.ask(path, slot, condition),
                Advance::Boundary => return self.boundary(path),
                Advance::Exit => return self.leaf(&mut path, Next::Exit),
                Advance::Deadlock(stuck) => match others.next() {
                    // The order since the last decision was our choice: another one may not end here.
                    Some(other) => {
                        self.tally.reordered += 1;
                        path = start.clone();
                        path.strategy = other;
                    }
                    None => return self.deadlock_leaf(&mut path, &stuck),
                },
                Advance::Gap { slot, reason } => {
                    let at = self.standing(&path, slot);
                    return self.gap_leaf(&mut path, at, &reason);
                }
            }
        }
    }

    fn exhausted(&mut self, path: &Path) -> Option<String> {
        if self.restart {
            return Some("to be explored again".to_owned());
        }
        if path.world.trail.length > MAX_NODES {
            return Some(format!(
                "a path has more than {MAX_NODES} synchronization operations: a loop that synchronizes has no end that was found"
            ));
        }
        if path.decisions > MAX_DECISIONS {
            return Some(format!("a path has more than {MAX_DECISIONS} decisions"));
        }
        let end = self.live.end();
        if let Some(end) = end
            && (!self.closing || self.live.grace_is_over())
        {
            self.cut = true;
            return Some(end.reason().to_owned());
        }
        if (self.abandoned)() {
            self.cut = true;
            return Some("nobody wants to know".to_owned());
        }
        None
    }

    fn report(&mut self, path: &Path) {
        if self.last_report.elapsed().as_millis() < 100 {
            return;
        }
        self.last_report = std::time::Instant::now();
        self.tell();
        if let Some(SiteRef::Instr(func, id)) = self.standing(path, 0) {
            self.live.stand(self.engine.place(func, id));
        }
    }

    /// Tells what was done since it was told last.
    fn tell(&mut self) {
        let steps = self.engine.counters.steps;
        let queries = self.engine.solver.statistics().queries;
        let counts = &self.live.counts;
        counts
            .steps
            .fetch_add(steps - self.seen.0, Ordering::Relaxed);
        counts
            .queries
            .fetch_add(queries - self.seen.1, Ordering::Relaxed);
        self.seen = (steps, queries);
    }

    /// Where a thread stands.
    fn standing(&self, path: &Path, slot: usize) -> Option<SiteRef> {
        let thread = &path.world.state.threads[slot];
        thread
            .frames
            .last()
            .map(|frame| SiteRef::Instr(frame.func, frame.next))
    }
}

/// What one move of a path came to.
enum Advance {
    Moved,
    /// Every thread stands at a marker or blocks: the epoch ends.
    Boundary,
    /// A thread stands before a branch that matters.
    Decide {
        slot: usize,
        outcomes: Vec<(u32, crate::symbolic::expr::Expr)>,
    },
    /// What a thread's next operation does depends on something that can be known when the epoch begins.
    Ask {
        slot: usize,
        condition: crate::symbolic::expr::Expr,
    },
    Exit,
    Deadlock(Vec<(usize, crate::threads::Blocked)>),
    Gap {
        slot: usize,
        reason: String,
    },
}
