//! What a thread may and must hold at a point of a function.
//!
//! A release takes a lock out only if it surely names the same address: computed in the same way from values that did not change in
//! between, or one lock of which there is only one. A release that may name a lock makes it no longer sure.
//!
//! Recursive mutexes: a lock that is taken again while held counts one deeper, and a release takes out the deepest. From the third
//! time on nothing is taken out.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use super::Named;
use crate::analysis::effects::events::Key;
use crate::analysis::locks::Site;
use crate::model::InstrId;

/// Deeper than this a lock stays held.
const DEEPEST: u8 = 2;

/// How an address is computed in the function at hand, and the loads it goes through.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Address {
    pub(super) key: Key,
    pub(super) loads: Vec<InstrId>,
}

/// A lock that may be held.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Held {
    pub(super) site: Site,
    pub(super) locks: Rc<Named>,
    pub(super) address: Option<Address>,
    pub(super) shared: bool,
    pub(super) depth: u8,
}

impl Held {
    /// The same hold as seen from another function.
    pub(super) fn at(&self, address: Option<Address>) -> Held {
        Held {
            address,
            ..self.clone()
        }
    }

    /// True if both are one hold, whatever its address is called.
    pub(super) fn same(&self, other: &Held) -> bool {
        self.site == other.site
            && self.depth == other.depth
            && self.shared == other.shared
            && self.locks == other.locks
    }
}

/// Locks that may be held, with true for those that are held on every way.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct State {
    pub(super) held: BTreeMap<Held, bool>,
}

impl State {
    /// Joins another way to the same point; true if that changes anything.
    pub(super) fn join(&mut self, other: &State) -> bool {
        let before = self.clone();
        for (held, must) in &mut self.held {
            *must &= other.held.get(held).copied().unwrap_or(false);
        }
        for held in other.held.keys() {
            self.held.entry(held.clone()).or_insert(false);
        }
        *self != before
    }

    /// A lock is taken, surely or perhaps.
    pub(super) fn take(&mut self, mut held: Held, must: bool, is_one: &dyn Fn(&Named) -> bool) {
        let depth = self
            .held
            .keys()
            .filter(|other| surely_same(other, &held.locks, held.address.as_ref(), is_one))
            .map(|other| other.depth + 1)
            .max();
        held.depth = depth.unwrap_or(0).min(DEEPEST);
        self.held.insert(held, must);
    }

    /// A lock is released.
    pub(super) fn release(
        &mut self,
        locks: &Named,
        address: Option<&Address>,
        is_one: &dyn Fn(&Named) -> bool,
        stable: &dyn Fn(&[InstrId], &[InstrId]) -> bool,
    ) {
        let same: BTreeSet<Held> = self
            .held
            .keys()
            .filter(|held| {
                let through = |held: &Held| match (&held.address, address) {
                    (Some(taken), Some(released)) => {
                        taken.loads == released.loads || stable(&taken.loads, &released.loads)
                    }
                    _ => false,
                };
                (is_one(locks) && *held.locks == *locks)
                    || surely_same(held, locks, address, is_one) && through(held)
            })
            .cloned()
            .collect();
        let deepest = same.iter().map(|held| held.depth).max();
        let sure = same
            .iter()
            .any(|held| Some(held.depth) == deepest && self.held[held]);
        for held in &same {
            if Some(held.depth) == deepest && held.depth < DEEPEST {
                self.held.remove(held);
            } else if !sure || held.depth == DEEPEST {
                self.held.insert(held.clone(), false);
            }
        }
        for (held, must) in &mut self.held {
            let may = locks.unknown
                || held.locks.unknown
                || held.locks.places.iter().any(|place| {
                    locks
                        .places
                        .iter()
                        .any(|other| place.0 == other.0 && offsets_meet(place.1, other.1))
                });
            if may && !same.contains(held) {
                *must = false;
            }
        }
    }

    /// A value is computed anew: addresses that depend on it are no longer what they were.
    pub(super) fn recompute(&mut self, id: InstrId) {
        if self.held.keys().any(|held| mentions(held, id)) {
            let old = std::mem::take(&mut self.held);
            for (held, must) in old {
                let held = if mentions(&held, id) {
                    held.at(None)
                } else {
                    held
                };
                let known = self.held.entry(held).or_insert(must);
                *known |= must;
            }
        }
    }
}

fn offsets_meet(a: crate::analysis::Offset, b: crate::analysis::Offset) -> bool {
    use crate::analysis::Offset::Exact;
    match (a, b) {
        (Exact(a), Exact(b)) => a == b,
        _ => true,
    }
}

fn surely_same(
    held: &Held,
    locks: &Named,
    address: Option<&Address>,
    is_one: &dyn Fn(&Named) -> bool,
) -> bool {
    let keys = match (&held.address, address) {
        (Some(taken), Some(other)) => taken.key == other.key,
        _ => false,
    };
    keys || is_one(locks) && *held.locks == *locks
}

fn mentions(held: &Held, id: InstrId) -> bool {
    held.address
        .as_ref()
        .is_some_and(|address| address.loads.contains(&id) || address.key.instr() == Some(id))
}
