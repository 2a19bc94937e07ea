//! Waits and wake-ups that nobody can get in the way of, because the program uses its condition variable as a monitor does.
//!
//! | operation | is local if |
//! |---|---|
//! | an untimed wait on C with mutex M | it surely holds M, and so does every wake-up of C: between deciding to wait and waiting nobody can wake |
//! | a broadcast on C | it surely holds M, and so does every wait on C, all untimed: nobody can begin to wait or give up before |
//! | a signal on C | the same, and at most one thread waits, so that it does not matter whose wake-up finds it |
//!
//! Where one thread stands before such an operation, what others can do before it (take other locks, wake waiters without need)
//! comes to the same when done after it.
//!
//! Everything here is from the program's text. What is not certain (a mutex without a single name, cancellation, which ends waits)
//! is not local; then the order is tried.

use std::collections::{BTreeMap, BTreeSet};

use schedules::primitives::NodeOp;

use super::suspect::{Text, may_be_same};
use super::waits::{is_timed, named};
use crate::analysis::acquisitions::{Named, Passage};
use crate::analysis::locks::{LockPlace, Site, operation};
use crate::model::Module;

/// Sites of operations that are local.
#[derive(Debug, Default)]
pub(super) struct Monitors {
    /// Waits and broadcasts.
    pub(super) always: BTreeSet<Site>,
    /// Signals.
    pub(super) with_one_waiter: BTreeSet<Site>,
}

/// Every way to come by one wait or wake-up.
struct Point<'a> {
    op: NodeOp,
    cond: Named,
    /// The mutex that the call names, of a wait.
    mutex: Option<LockPlace>,
    timed: bool,
    ways: Vec<&'a Passage>,
}

impl Monitors {
    pub(super) fn of(text: &Text<'_>) -> Self {
        let mut monitors = Self::default();
        if cancels(text.module) {
            return monitors;
        }
        let points = points(text);
        for (site, point) in &points {
            let same = || (points.values()).filter(|other| may_be_same(&point.cond, &other.cond));
            let waits = || same().filter(|other| other.op == NodeOp::CondWait);
            let wakes = || same().filter(|other| other.op != NodeOp::CondWait);
            match point.op {
                NodeOp::CondWait => {
                    let Some(mutex) = point.mutex.filter(|_| !point.timed) else {
                        continue;
                    };
                    if point.holds(text, mutex) && wakes().all(|wake| wake.holds(text, mutex)) {
                        monitors.always.insert(*site);
                    }
                }
                op => {
                    let Some(mutex) = waits().find_map(|wait| wait.mutex) else {
                        continue;
                    };
                    let inside = |wait: &Point<'_>| !wait.timed && wait.holds(text, mutex);
                    if point.holds(text, mutex) && waits().all(inside) {
                        match op {
                            NodeOp::CondBroadcast => monitors.always.insert(*site),
                            _ => monitors.with_one_waiter.insert(*site),
                        };
                    }
                }
            }
        }
        monitors
    }

    /// Is the operation at this site local, with so many threads waiting on its condition variable?
    pub(super) fn is_local(&self, site: Site, waiting: impl FnOnce() -> usize) -> bool {
        self.always.contains(&site) || self.with_one_waiter.contains(&site) && waiting() <= 1
    }
}

impl Point<'_> {
    /// Is the lock held by this thread alone, on every way that leads here?
    fn holds(&self, text: &Text<'_>, lock: LockPlace) -> bool {
        let holds = |way: &&Passage| {
            let mut sure = way.held.iter().filter(|hold| hold.must && !hold.shared);
            sure.any(|hold| text.all.one(&hold.locks) == Some(lock))
        };
        !self.ways.is_empty() && self.ways.iter().all(holds)
    }
}

/// Does the module wait on condition variables?
pub(super) fn are_in(module: &Module) -> bool {
    let mut rows = module.functions.iter();
    rows.any(|(_, function)| {
        let mut calls = function.instrs.rows().iter();
        calls.any(|instr| matches!(operation(module, instr), Some((NodeOp::CondWait, _))))
    })
}

fn cancels(module: &Module) -> bool {
    let mut functions = module.functions.iter();
    functions.any(|(_, function)| function.name == "pthread_cancel")
}

/// All waits and wake-ups of the module; those to which no way is known have none.
fn points<'a>(text: &'a Text<'_>) -> BTreeMap<Site, Point<'a>> {
    let mut ways: BTreeMap<Site, Vec<&Passage>> = BTreeMap::new();
    for passage in &text.all.passages {
        ways.entry(passage.site).or_default().push(passage);
    }
    let mut points = BTreeMap::new();
    for (func, function) in text.module.functions.iter() {
        for (id, instr) in function.instrs.iter() {
            let Some((op, row)) = operation(text.module, instr) else {
                continue;
            };
            use NodeOp::{CondBroadcast, CondSignal, CondWait};
            if !matches!(op, CondWait | CondSignal | CondBroadcast) {
                continue;
            }
            let site = (func, id);
            let mutex = (op == CondWait).then(|| named(text, site, 1));
            points.insert(
                site,
                Point {
                    op,
                    cond: named(text, site, 0),
                    mutex: mutex.and_then(|mutex| text.all.one(&mutex)),
                    timed: is_timed(row),
                    ways: ways.remove(&site).unwrap_or_default(),
                },
            );
        }
    }
    points
}
