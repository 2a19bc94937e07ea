//! Who may take which lock while holding which others, in which threads, and at the same time as whom.
//!
//! One [`Acquisition`] per lock-taking site and way of getting there: locks that reach a wrapper as its argument are told apart by the
//! calls of the wrapper, and so are the locks that are held. `walk` follows the calls, `held` is what a thread holds, `threads` knows
//! which threads there are and which may be alive together.
//!
//! **Guarantee.** If a thread of a run executes a lock-taking site, some row of that site has the thread's class in
//! [`Acquisition::chains`], its lock in [`Acquisition::locks`], and in [`Acquisition::held`] every lock that the thread holds. A lock
//! that a row calls `must` is held in every run that gets there in that way. Two threads that stand at two rows' sites at once make
//! [`Acquisitions::parallel`] true.
//!
//! Assumed: code we do not see starts no threads and leaves no lock taken. Deliberately absent: phases made by barriers, semaphores
//! used as locks, values that correlate branches.

mod callbacks;
mod chains;
mod course;
mod held;
mod joins;
mod names;
mod operations;
mod passages;
mod plan;
mod rows;
mod single;
#[cfg(test)]
mod tests;
mod threads;
mod walk;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use schedules::ids::Table;
use schedules::primitives::NodeOp;

use super::locks::{LockPlace, Locks, Site};
use super::{AbstractObject, Facts, Offset};
use crate::model::Module;
pub use passages::Passage;
pub use threads::{Thread, ThreadId, ThreadKind, Threads};
use walk::Walk;

/// Locks that an address may name.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Named {
    pub places: BTreeSet<LockPlace>,
    /// Also locks that nobody can name.
    pub unknown: bool,
}

/// A lock that may be held.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Hold {
    /// Where it was taken.
    pub site: Site,
    pub locks: Arc<Named>,
    /// Held on every way here.
    pub must: bool,
    /// Held for reading only.
    pub shared: bool,
}

/// One way to take a lock. A condition wait counts: it takes its mutex again, which is then not among those held.
#[derive(Clone, Debug)]
pub struct Acquisition {
    pub site: Site,
    pub op: NodeOp,
    pub locks: Arc<Named>,
    /// Waits until the lock is free; false for the functions that try once.
    pub waits: bool,
    /// Taken for reading only.
    pub shared: bool,
    pub held: Vec<Hold>,
    /// Threads that may get here, each with one chain of calls that leads from its beginning to the site, outermost first.
    pub chains: BTreeMap<ThreadId, Vec<Site>>,
}

/// All ways to take locks, by site.
#[derive(Clone, Debug)]
pub struct Acquisitions {
    pub rows: Vec<Acquisition>,
    /// Other calls that block, wake or end, and what else was asked for; by site.
    pub passages: Vec<Passage>,
    threads: Threads,
    single: BTreeSet<AbstractObject>,
}

impl Acquisitions {
    pub(crate) fn of(module: &Module, facts: &Facts) -> Self {
        Self::with_locks(module, facts).0
    }

    /// With what may be held at every synchronization call.
    pub(crate) fn with_locks(module: &Module, facts: &Facts) -> (Self, Locks) {
        Self::around(module, facts, &BTreeSet::new())
    }

    /// With a [`Passage`] for each of these sites, too: what is held there, by whom, beside whom.
    pub(crate) fn around(
        module: &Module,
        facts: &Facts,
        watched: &BTreeSet<Site>,
    ) -> (Self, Locks) {
        let threads = Threads::of(module, facts, watched);
        let single = single::single_objects(module, facts);
        let mut walk = Walk::new(module, facts, &threads, &single, watched);
        walk.run();
        let (rows, passages, locks) = walk.finish();
        let all = Self {
            rows,
            passages,
            threads,
            single,
        };
        (all, locks)
    }

    /// The classes of threads.
    pub fn threads(&self) -> &Table<ThreadId, Thread> {
        &self.threads.all
    }

    /// True if the place is one lock: its object exists at most once in a run.
    pub fn is_one(&self, place: &LockPlace) -> bool {
        matches!(place.1, Offset::Exact(_)) && self.single.contains(&place.0)
    }

    /// The one lock that is named, if there is only one.
    pub fn one(&self, named: &Named) -> Option<LockPlace> {
        let first = *named.places.first()?;
        (named.places.len() == 1 && !named.unknown && self.is_one(&first)).then_some(first)
    }

    /// True if two different threads, one of each class, may stand at the sites of two rows at the same time.
    pub fn parallel(&self, a: (&Acquisition, ThreadId), b: (&Acquisition, ThreadId)) -> bool {
        self.threads.parallel((a.1, a.0.site), (b.1, b.0.site))
    }

    /// The class of threads whose one thread a join surely waits for.
    pub fn joined(&self, join: Site) -> Option<ThreadId> {
        self.threads.joined.get(&join).copied()
    }

    /// True if two different threads may be at these places at the same time, as far as the chains to them say.
    pub fn meet(
        &self,
        a: (Site, &BTreeMap<ThreadId, Vec<Site>>),
        b: (Site, &BTreeMap<ThreadId, Vec<Site>>),
    ) -> bool {
        let beside = |ta: &ThreadId, tb: &ThreadId| self.threads.parallel((*ta, a.0), (*tb, b.0));
        a.1.keys().any(|ta| b.1.keys().any(|tb| beside(ta, tb)))
    }

    /// True if some two threads may stand at the sites of two rows at the same time.
    pub fn overlap(&self, a: &Acquisition, b: &Acquisition) -> bool {
        self.meet((a.site, &a.chains), (b.site, &b.chains))
    }

    /// Single locks held at both rows so that two threads cannot stand at them at once.
    pub fn gates(&self, a: &Acquisition, b: &Acquisition) -> BTreeSet<LockPlace> {
        let sure = |row: &Acquisition| -> BTreeMap<LockPlace, bool> {
            let held = row.held.iter().filter(|hold| hold.must);
            held.filter_map(|hold| Some((self.one(&hold.locks)?, hold.shared)))
                .collect()
        };
        let (a, b) = (sure(a), sure(b));
        let excludes = |(place, shared): &(&LockPlace, &bool)| {
            b.get(*place).is_some_and(|other| !(**shared && *other))
        };
        a.iter().filter(excludes).map(|(place, _)| *place).collect()
    }
}
