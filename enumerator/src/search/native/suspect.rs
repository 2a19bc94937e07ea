//! What the program's text alone lets happen: what is left to say where not every order could be followed.
//!
//! Everything here holds for every order and every input, and may name what no run does: a suspect is *possible*, never certain.
//! That nothing is suspected proves nothing either: the caller says that not every order was followed.

use std::collections::BTreeMap;

use schedules::primitives::NodeOp;

use super::{Place, nesting, waits};
use crate::analysis::acquisitions::{Acquisitions, Hold, Named, ThreadId, ThreadKind};
use crate::analysis::locks::Site;
use crate::analysis::names;
use crate::analysis::{Facts, ModSet};
use crate::model::Module;

/// Most suspects that are told.
const MOST: usize = 20;

/// Why threads may get stuck.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reason {
    /// Locks are taken in a cycle.
    LockCycle,
    /// A lock is taken by who surely has it.
    Relock,
    /// A thread joins another that wants a lock which the first may hold.
    JoinCycle,
    /// A condition may be signalled between the moment a thread decides to wait and its wait; where.
    LostWakeUp { signals: Vec<Place> },
    /// Nobody who may be alive then signals.
    NobodySignals,
    /// Whoever signals needs a lock that the waiting thread keeps.
    MixedCycle,
    /// Nobody posts.
    SemaphoreStarved,
    /// There are fewer threads than the barrier waits for.
    BarrierNeverFull,
    /// A thread may end with a lock that others want.
    OwnerEnded,
}

/// A thread that may be stuck.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Member {
    /// The function it began with.
    pub entry: String,
    pub created: Option<Place>,
    /// What it wants to do, on what.
    pub op: NodeOp,
    pub object: String,
    /// The blocking call and the calls that lead to it, innermost first.
    pub stack: Vec<Place>,
    /// What it may hold: name, and where it was taken.
    pub holds: Vec<(String, Place)>,
}

/// Threads that may be stuck together.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Suspect {
    pub reason: Reason,
    /// In a cycle each waits for the next.
    pub members: Vec<Member>,
}

/// Where a thread waits, as analyses say it.
pub(super) struct Standing<'a> {
    pub(super) site: Site,
    pub(super) op: NodeOp,
    pub(super) object: String,
    pub(super) held: &'a [Hold],
    pub(super) chains: &'a BTreeMap<ThreadId, Vec<Site>>,
    /// The class of the thread; any that gets there, if it does not matter.
    pub(super) thread: Option<ThreadId>,
}

/// The program and what is known about its locks.
pub(super) struct Text<'a> {
    pub(super) module: &'a Module,
    pub(super) facts: &'a Facts,
    pub(super) all: Acquisitions,
    /// What the branches in front of each untimed condition wait read.
    predicates: BTreeMap<Site, ModSet>,
}

/// Everything suspicious, each once, in a fixed order.
pub(super) fn suspects(text: &Text<'_>) -> Vec<Suspect> {
    let mut found = nesting::suspects(text);
    found.extend(waits::suspects(text, &text.predicates));
    found.sort();
    found.dedup();
    found.truncate(MOST);
    found
}

impl<'a> Text<'a> {
    pub(super) fn of(module: &'a Module, facts: &'a Facts) -> Self {
        let predicates = waits::predicates(module, facts);
        let writers = waits::writers(module, facts, &predicates);
        let (all, _) = Acquisitions::around(module, facts, &writers);
        Self {
            module,
            facts,
            all,
            predicates,
        }
    }
}

impl Text<'_> {
    /// The function that threads of a class begin with.
    pub(super) fn entry(&self, thread: ThreadId) -> String {
        let entry = self.all.threads()[thread].functions.last();
        entry.map_or(String::new(), |id| self.module.functions[*id].name.clone())
    }

    pub(super) fn place(&self, site: Site) -> Place {
        Place::of(self.module, site)
    }

    /// Locks or other objects in one word where there is one.
    pub(super) fn name(&self, named: &Named) -> String {
        let mut words: Vec<String> = named
            .places
            .iter()
            .map(|(what, at)| names::place(self.module, *what, *at))
            .collect();
        words.dedup();
        match words.len() {
            0 => "?".to_owned(),
            1..=3 => words.join(" or "),
            _ => format!("{} or {} others", words[0], words.len() - 1),
        }
    }

    pub(super) fn member(&self, at: &Standing<'_>) -> Member {
        let known = at
            .thread
            .and_then(|thread| at.chains.get_key_value(&thread));
        let way = known.or_else(|| at.chains.first_key_value());
        let calls = way.map_or(&[][..], |(_, chain)| chain);
        let thread = way.map(|(thread, _)| &self.all.threads()[*thread]);
        let sites = std::iter::once(&at.site).chain(calls.iter().rev());
        Member {
            entry: way.map_or(String::new(), |(thread, _)| self.entry(*thread)),
            created: thread.and_then(|thread| match thread.kind {
                ThreadKind::Created(site) => Some(self.place(site)),
                ThreadKind::First | ThreadKind::Handler => None,
            }),
            op: at.op,
            object: at.object.clone(),
            stack: sites.map(|site| self.place(*site)).collect(),
            holds: at
                .held
                .iter()
                .map(|hold| (self.name(&hold.locks), self.place(hold.site)))
                .collect(),
        }
    }
}

/// May both name the same object?
pub(super) fn may_be_same(a: &Named, b: &Named) -> bool {
    a.unknown || b.unknown || !a.places.is_disjoint(&b.places)
}
