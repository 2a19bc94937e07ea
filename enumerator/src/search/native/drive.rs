//! Moves of a path whose order is chosen from outside.
//!
//! A move is *local* if nothing that another thread can do before it makes a difference: neither whether it is possible nor what it does.
//! Such moves are made at once, so what remains are situations in which every thread stands before an operation where order counts.
//!
//! | operation | why local |
//! |---|---|
//! | running to the next operation, starting, ending | touches only the thread's own data (no data races) |
//! | create, join of an ended thread, detach, leaving a full barrier | nobody can take it back |
//! | init, destroy | nobody may use the object at that time |
//! | unlock, post | others can only wait for it; not local if the program tries locks or looks at counts |
//! | waits and wake-ups of a condition variable that is used as a monitor's | see [`super::monitors`]; the same exception |

use std::rc::Rc;

use schedules::primitives::{Arg, NodeOp, PRIMITIVES, lookup};

use super::super::schedule::Try;
use super::super::{Advance, Explorer, Path};
use super::monitors::Monitors;
use super::script::Step;
use crate::model::Module;
use crate::symbolic::expr::Expr;
use crate::symbolic::run::Stop;
use crate::threads::{Blocked, Kind, Status};

/// Local moves in a row; more never end.
const MANY_MOVES: usize = 20_000;

/// Decisions on one path.
const MANY_DECISIONS: usize = 200;

/// A path and how many unknowns each of its threads has made.
#[derive(Clone)]
pub(super) struct Situation {
    pub(super) path: Path,
    pub(super) names: Vec<u32>,
    pub(super) monitors: Rc<Monitors>,
}

impl Situation {
    pub(super) fn beginning(path: Path, monitors: Rc<Monitors>) -> Self {
        Self {
            path,
            names: Vec::new(),
            monitors,
        }
    }
}

/// What a situation came to when all local moves were made.
pub(super) enum Settled {
    /// Order counts from here.
    Open,
    /// A thread stands before a branch that it may take either way.
    Fork {
        slot: usize,
        outcomes: Vec<(u32, Expr)>,
    },
    /// A thread stands before an operation on an object that may, but need not be one that is known: whether it is.
    Alias { same: Expr },
    /// The process ends.
    Exit,
    /// Not followed further: why, and which thread.
    Gap { slot: usize, reason: String },
}

/// What came of a move where order counts.
pub(super) enum Moved {
    Done,
    Blocked(Blocked),
    Gap(String),
}

/// Does the program ask for locks without waiting, or look at counts? Then releases can be seen early.
pub(super) fn looks_without_waiting(module: &Module) -> bool {
    let asks = |op: NodeOp| {
        use NodeOp::*;
        matches!(
            op,
            MutexTryLock
                | MutexTimedLock
                | SpinTryLock
                | RwTryReadLock
                | RwTryWriteLock
                | RwTimedReadLock
                | RwTimedWriteLock
                | SemTryWait
                | SemTimedWait
                | SemGetValue
        )
    };
    let mut names = module.functions.iter().map(|(_, function)| &function.name);
    names.any(|name| lookup(name).is_some_and(|(_, row)| asks(row.op)))
}

impl Explorer<'_, '_> {
    /// Makes all local moves.
    pub(super) fn settle(&mut self, at: &mut Situation) -> Settled {
        let mut moves = 0;
        loop {
            let mut moved = false;
            for slot in 0..at.path.world.status.len() {
                loop {
                    if let Some(same) = self.undecided_object(&mut at.path, slot) {
                        return Settled::Alias { same };
                    }
                    if !self.is_local(at, slot) {
                        break;
                    }
                    match self.named_move(at, slot, false) {
                        Try::Moved => (moved, moves) = (true, moves + 1),
                        Try::Blocked(_) => break,
                        Try::Undecided(unknown) => {
                            let same = unknown.condition;
                            return Settled::Alias { same };
                        }
                        Try::AtMarker => unreachable!("no marker ends epochs here"),
                        Try::Stop(advance) => return settled(slot, advance),
                    }
                    if let Some(reason) = self.endless(&at.path, moves) {
                        return Settled::Gap { slot, reason };
                    }
                }
            }
            if !moved {
                return Settled::Open;
            }
        }
    }

    /// Is it open whether the object of the operation at which a thread stands is one that is known? Then it has to be decided: the
    /// operation means something else in each case.
    fn undecided_object(&mut self, path: &mut Path, slot: usize) -> Option<Expr> {
        let Some(Stop::Sync { primitive }) = path.stops[slot] else {
            return None;
        };
        let row = &PRIMITIVES[usize::from(primitive)];
        let (_, _, instr) = self.engine.current(&path.world.state, slot);
        let call = instr.call()?;
        self.engine.running = slot;
        for (index, arg) in row.args.iter().enumerate() {
            let is_object = matches!(
                arg,
                Arg::Mutex | Arg::Cond | Arg::Barrier | Arg::Rwlock | Arg::Sem | Arg::Spin
            );
            if !is_object {
                continue;
            }
            let (value, ty) = (&call.args[index], &call.arg_types[index]);
            let address = self.engine.scalar(&mut path.world.state, slot, value, ty);
            let known: Vec<Expr> = path.world.objects.iter().map(|o| o.address).collect();
            for other in known.into_iter().filter(|other| *other != address) {
                let same = self.engine.same_address(other, address);
                let pool = &self.engine.pool;
                if pool.is_true(same) || pool.is_false(same) {
                    continue;
                }
                let differs = self.engine.pool.not(same);
                let state = &path.world.state;
                if self.engine.may(state, same) && self.engine.may(state, differs) {
                    return Some(same);
                }
            }
        }
        None
    }

    /// Decides whether two addresses are the same.
    pub(super) fn decide_alias(&mut self, path: &mut Path, same: Expr, outcome: u32) {
        let holds = match outcome {
            0 => self.engine.pool.not(same),
            _ => same,
        };
        path.decisions += 1;
        path.world.state.path.push(holds);
    }

    /// Why a path is not followed further, if it is not.
    fn endless(&mut self, path: &Path, moves: usize) -> Option<String> {
        // Loops that should end epochs do not here: the search has limits of its own.
        self.restart = false;
        self.found.markers.clear();
        if moves > MANY_MOVES {
            return Some("a loop that synchronizes has no end that was found".to_owned());
        }
        (path.decisions > MANY_DECISIONS)
            .then(|| format!("a path has more than {MANY_DECISIONS} decisions"))
    }

    fn is_local(&mut self, at: &mut Situation, slot: usize) -> bool {
        let world = &at.path.world;
        match &world.status[slot] {
            Status::Ended | Status::OnCond { .. } => false,
            Status::AtBarrier { released, .. } => released.is_some(),
            Status::Ready if !world.threads[slot].started => true,
            Status::Ready => match &at.path.stops[slot] {
                Some(Stop::Sync { primitive }) => match PRIMITIVES[usize::from(*primitive)].op {
                    NodeOp::CondWait | NodeOp::CondSignal | NodeOp::CondBroadcast => {
                        self.is_in_monitor(at, slot)
                    }
                    op => self.is_local_operation(op),
                },
                _ => true,
            },
        }
    }

    /// Does the program's use of the condition variable make the wait or wake-up at which a thread stands local?
    fn is_in_monitor(&mut self, at: &mut Situation, slot: usize) -> bool {
        if self.looks_without_waiting {
            return false;
        }
        let (func, id, instr) = self.engine.current(&at.path.world.state, slot);
        let (world, monitors) = (&mut at.path.world, &at.monitors);
        let waiting = || {
            let cond = instr.call().map(|call| (&call.args[0], &call.arg_types[0]));
            let Some((value, ty)) = cond else {
                return usize::MAX;
            };
            self.engine.running = slot;
            let address = self.engine.scalar(&mut world.state, slot, value, ty);
            let waiters = |kind: &Kind| match kind {
                Kind::Cond { waiters } => waiters.len(),
                _ => usize::MAX,
            };
            let mut objects = world.objects.iter();
            let known = objects.find(|object| object.address == address);
            known.map_or(0, |object| waiters(&object.kind))
        };
        monitors.is_local((func, id), waiting)
    }

    fn is_local_operation(&self, op: NodeOp) -> bool {
        use NodeOp::*;
        match op {
            ThreadCreate | ThreadJoin | ThreadExit | ThreadDetach => true,
            MutexInit | CondInit | RwInit | SemInit | SpinInit | BarrierInit => true,
            MutexDestroy | CondDestroy | RwDestroy | SemDestroy | SpinDestroy | BarrierDestroy => {
                true
            }
            MutexUnlock | SpinUnlock | RwUnlock | SemPost => !self.looks_without_waiting,
            _ => false,
        }
    }

    /// A move under the names of the thread that makes it.
    fn named_move(&mut self, at: &mut Situation, slot: usize, expire: bool) -> Try {
        if self.script.is_some() {
            return self.try_move(&mut at.path, slot, expire);
        }
        at.names.resize(at.path.world.status.len().max(slot + 1), 0);
        self.engine.pool.name_for(slot, at.names[slot]);
        let result = self.try_move(&mut at.path, slot, expire);
        at.names[slot] = self.engine.pool.names_made();
        result
    }

    /// Makes one move where order counts.
    pub(super) fn chosen_move(&mut self, at: &mut Situation, step: Step) -> Moved {
        let Step::Move {
            slot,
            expire,
            waiter,
        } = step
        else {
            return Moved::Gap("a decision was expected".to_owned());
        };
        if let Some((cond, position)) = waiter {
            prefer_waiter(&mut at.path, cond, position);
        }
        match self.named_move(at, slot, expire) {
            Try::Moved => Moved::Done,
            Try::Blocked(why) => Moved::Blocked(why),
            Try::Undecided(unknown) => Moved::Gap(unknown.what),
            Try::Stop(Advance::Gap { reason, .. }) => Moved::Gap(reason),
            Try::AtMarker | Try::Stop(_) => {
                unreachable!("a synchronization operation neither decides nor ends the process")
            }
        }
    }
}

fn settled(slot: usize, advance: Advance) -> Settled {
    match advance {
        Advance::Decide { slot, outcomes } => Settled::Fork { slot, outcomes },
        Advance::Exit => Settled::Exit,
        Advance::Gap { slot, reason } => Settled::Gap { slot, reason },
        Advance::Ask { condition, .. } => Settled::Alias { same: condition },
        Advance::Moved | Advance::Boundary | Advance::Deadlock(_) => Settled::Gap {
            slot,
            reason: "a move of another kind".to_owned(),
        },
    }
}

/// Puts a waiter of a condition variable first in its queue: POSIX does not say who is woken.
fn prefer_waiter(path: &mut Path, cond: usize, position: usize) {
    if let Some(object) = path.world.objects.get_mut(cond)
        && let Kind::Cond { waiters } = &mut object.kind
        && position < waiters.len()
    {
        let waiter = waiters.remove(position);
        waiters.insert(0, waiter);
    }
}

/// The condition variable that has one waiter less, and how many it had.
pub(super) fn woken_one(before: &Path, after: &Path) -> Option<(usize, usize)> {
    let waiters = |path: &Path, index: usize| match path.world.objects.get(index).map(|o| &o.kind) {
        Some(Kind::Cond { waiters }) => waiters.len(),
        _ => 0,
    };
    (0..before.world.objects.len())
        .map(|index| (index, waiters(before, index)))
        .find(|(index, had)| *had == waiters(after, *index) + 1)
}
